import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp, type TestApp } from '../../support/app.ts'
import { completeOf, endedRecord, project } from '../../support/calls.ts'

const derived = { status: 'success', latency_ms: 1376, trace_name: 'answer' }

/** Returns the costs of a call with this usage. */
async function costsOf(
  post: TestApp['post'],
  usage: unknown,
  fields: Record<string, unknown> = {},
): Promise<Record<string, Record<string, unknown>>> {
  const call = completeOf({ summary: { usage }, ...fields })
  await post('/v2/acme/qa/calls/complete', { batch: [call] })
  const read = await post('/call/read', { project_id: project, id: call.id, include_costs: true })
  assert.equal(read.status, 200, read.text)
  return read.json.call.summary.weave.costs
}

function price(post: TestApp['post'], model: string, fields: Record<string, unknown> = {}) {
  const given = { prompt_token_cost: 0.5, completion_token_cost: 2, ...fields }
  return post('/cost/create', { project_id: project, costs: { [model]: given } })
}

test('call/read: the name of a model keeps its last character, whichever name was read before', async (t) => {
  const { post } = await openApp(t)
  await price(post, 'of two"')
  for (const model of ['of two\\', 'of two"']) {
    const usage = { 'first of two': { prompt_tokens: 1 }, [model]: { prompt_tokens: 2 } }
    const call = completeOf({ summary: { usage } })
    await post('/v2/acme/qa/calls/complete', { batch: [call] })
    const read = await post('/call/read', { project_id: project, id: call.id, include_costs: true })
    // Compared as text, because the parser of JSON is under test.
    const costs = /"costs":\{("(?:[^"\\]|\\.)*")/.exec(read.text)?.[1]
    assert.equal(costs, model === 'of two"' ? JSON.stringify(model) : undefined, read.text)
  }
})

test('call/read: costs follow from the usage and the prices of the project', async (t) => {
  const { post } = await openApp(t)
  const created = await post('/cost/create', {
    project_id: project,
    costs: {
      'tiny-llm': {
        prompt_token_cost: 0.5,
        completion_token_cost: 2,
        cache_read_input_token_cost: 0.125,
        cache_creation_input_token_cost: 1,
        effective_date: '2026-01-01T00:00:00Z',
        provider_id: 'us',
      },
    },
  })
  assert.equal(created.status, 200)
  const usage = {
    'tiny-llm': {
      prompt_tokens: 100,
      input_tokens: 10,
      completion_tokens: 7,
      output_tokens: 1,
      requests: 2,
      total_tokens: 118,
      cache_read_input_tokens: 40,
      cache_creation_input_tokens: 20,
      prompt_tokens_details: null,
    },
    unpriced: { prompt_tokens: 5 },
  }
  const call = completeOf({ summary: { usage } })
  await post('/v2/acme/qa/calls/complete', { batch: [call] })
  const read = await post('/call/read', { project_id: project, id: call.id, include_costs: true })
  const [stored] = (await post('/cost/query', { project_id: project })).json.results
  const costs = {
    'tiny-llm': {
      prompt_tokens: 110,
      completion_tokens: 8,
      requests: 2,
      total_tokens: 118,
      cache_read_input_tokens: 40,
      cache_creation_input_tokens: 20,
      prompt_token_cost: 0.5,
      completion_token_cost: 2,
      cache_read_input_token_cost: 0.125,
      cache_creation_input_token_cost: 1,
      prompt_tokens_total_cost: 25,
      completion_tokens_total_cost: 16,
      cache_read_input_tokens_total_cost: 5,
      cache_creation_input_tokens_total_cost: 20,
      prompt_token_cost_unit: 'USD',
      completion_token_cost_unit: 'USD',
      effective_date: '2026-01-01T00:00:00Z',
      provider_id: 'us',
      pricing_level: 'project',
      pricing_level_id: 'acme/qa',
      created_at: stored.created_at,
      created_by: 'alice',
    },
  }
  assert.deepEqual(read.json.call, endedRecord(call.id, { summary: { usage, weave: { ...derived, costs } } }))
  const without = await post('/call/read', { project_id: project, id: call.id })
  assert.deepEqual(without.json.call, endedRecord(call.id, { summary: { usage, weave: derived } }))
})

test('call/read: without a price, or without usage, there are no costs', async (t) => {
  const { post } = await openApp(t)
  await price(post, 'priced')
  await post('/cost/create', {
    project_id: 'acme/other',
    costs: { elsewhere: { prompt_token_cost: 1, completion_token_cost: 1 } },
  })
  for (const usage of [undefined, null, {}, 'x', [], { other: {} }, { elsewhere: {} }, { priced: null }]) {
    assert.equal(await costsOf(post, usage), undefined, JSON.stringify(usage))
  }
  const stale = { summary: { weave: { costs: { old: 1 } } } }
  assert.equal(await costsOf(post, undefined, stale), undefined)
})

test('call/read: uses the price in force when the call started, or else the next one', async (t) => {
  const { post } = await openApp(t)
  for (const [day, cost] of [
    ['2026-01-03', 3],
    ['2026-01-01', 1],
    ['2026-01-05', 5],
    ['2026-01-02', 2],
  ] as const) {
    await price(post, 'm', { prompt_token_cost: cost, effective_date: `${day}T00:00:00Z` })
  }
  for (const [started_at, expected] of [
    ['2025-01-01T00:00:00Z', 1],
    ['2025-12-31T23:59:59.999999Z', 1],
    ['2026-01-01T00:00:00Z', 1],
    ['2026-01-01T23:59:59.999999Z', 1],
    ['2026-01-02T00:00:00Z', 2],
    ['2026-01-04T12:00:00Z', 3],
    ['2026-01-05T00:00:00Z', 5],
    ['2030-01-01T00:00:00Z', 5],
  ] as const) {
    const { m } = await costsOf(post, { m: { prompt_tokens: 1 } }, { started_at, ended_at: started_at })
    assert.equal(m?.prompt_tokens_total_cost, expected, started_at)
  }
})

test('call/read: a model may have any name', async (t) => {
  const { post } = await openApp(t)
  const names = ['a.b', 'a/b:c', 'constructor', 'toString', '"quoted"', 'ü']
  for (const name of names) await price(post, name)
  const usage = Object.fromEntries(names.map((name) => [name, { prompt_tokens: 4 }]))
  const costs = await costsOf(post, usage)
  assert.deepEqual(Object.keys(costs), names)
  for (const name of names) assert.equal(costs[name]?.prompt_tokens_total_cost, 2)
})

test('call/read: usage that is not a number counts as zero', async (t) => {
  const { post } = await openApp(t)
  await price(post, 'm')
  const { m } = await costsOf(post, { m: { prompt_tokens: '3', completion_tokens: null, requests: [1] } })
  assert.equal(m?.prompt_tokens, 0)
  assert.equal(m?.completion_tokens, 0)
  assert.equal(m?.requests, 0)
  assert.equal(m?.prompt_tokens_total_cost, 0)
})

test('call/read: usage beyond the range of a number counts as zero', async (t) => {
  const { post } = await openApp(t)
  await price(post, 'm')
  const call = completeOf({ summary: { usage: { m: { prompt_tokens: 3, completion_tokens: 0 } } } })
  const sent = JSON.stringify({ batch: [call] }).replace('"completion_tokens":0', '"completion_tokens":1e400')
  assert.equal((await post('/v2/acme/qa/calls/complete', sent)).status, 200)
  const read = await post('/call/read', { project_id: project, id: call.id, include_costs: true })
  assert.match(read.text, /"usage":\{"m":\{"prompt_tokens":3,"completion_tokens":1e400\}\}/)
  const { m } = read.json.call.summary.weave.costs
  assert.deepEqual([m.completion_tokens, m.completion_tokens_total_cost], [0, 0])
  assert.deepEqual([m.prompt_tokens, m.prompt_tokens_total_cost], [3, 1.5])
})

test('a call with thousands of models is priced while other requests are served', async (t) => {
  const { post, get } = await openApp(t)
  const models = Array.from({ length: 3000 }, (_, n) => `m${n}`)
  for (let at = 0; at < models.length; at += 1000) {
    const costs = Object.fromEntries(
      models
        .slice(at, at + 1000)
        .map((model, n) => [model, { prompt_token_cost: at + n, completion_token_cost: 0 }]),
    )
    assert.equal((await post('/cost/create', { project_id: project, costs })).status, 200)
  }
  const usage = Object.fromEntries([...models, 'unknown'].map((model) => [model, { prompt_tokens: 2 }]))
  const call = completeOf({ summary: { usage } })
  await post('/v2/acme/qa/calls/complete', { batch: [call] })
  const reading = post('/calls/stream_query', { project_id: project, include_costs: true })
  assert.equal((await get('/health')).status, 200)
  const { costs } = JSON.parse((await reading).text).summary.weave
  assert.equal(Object.keys(costs).length, 3000)
  assert.deepEqual(
    ['m0', 'm199', 'm200', 'm2999'].map((model) => costs[model].prompt_tokens_total_cost),
    [0, 398, 400, 5998],
  )
})
