import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { keys, openApp } from '../../support/app.ts'
import { completeOf, project, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { pricesOf } from '../../support/prices.ts'

const { post } = await openApp({ after })

const tokens = (input: number, output: number) => ({
  prompt_tokens: input,
  completion_tokens: output,
  requests: 1,
})
const chat = { attributes: { gen_ai: { operation: { name: 'chat' } } } }

/** A trace from pairs of the name of a call and its fields, whose parent is given by name. */
async function stored(
  name: string,
  calls: Record<string, { parent?: string; usage?: object; more?: object }>,
) {
  const project_id = `acme/${name}`
  const ids = new Map(Object.keys(calls).map((call) => [call, randomUUID()]))
  const trace_id = randomUUID()
  const batch = Object.entries(calls).map(([call, { parent, usage = {}, more }]) =>
    completeOf({
      ...{ project_id, trace_id, id: ids.get(call) as string, parent_id: parent && ids.get(parent) },
      ...{ op_name: call, summary: { usage }, ...more },
    }),
  )
  const { status, text } = await post(`/v2/${project_id}/calls/complete`, { batch })
  assert.equal(status, 200, text)
  const idOf = (call: string) => ids.get(call) as string
  return { project_id, trace_id, idOf }
}

async function answerOf(url: string, body: object, key: string = keys.alice) {
  const { status, json, text } = await post(url, body, key)
  assert.equal(status, 200, text)
  return json
}

/** The tokens of each model, in and out. */
function shortly(usage: Record<string, Record<string, number>> | undefined) {
  return Object.fromEntries(
    Object.entries(usage ?? {}).map(([model, used]) => [model, [used.prompt_tokens, used.completion_tokens]]),
  )
}

test('calls/usage and trace/usage: refuse invalid requests', async (t) => {
  await assertCommonRefusals(t, '/calls/usage', { project_id: project, call_ids: [] })
  await assertCommonRefusals(t, '/trace/usage', { project_id: project })
  for (const [url, body, status, code] of [
    ['/calls/usage', { call_ids: [], project_id: 'globex/qa' }, 403, 'entity_forbidden'],
    ['/calls/usage', {}, 422, 'invalid_request'],
    ['/calls/usage', { call_ids: [5] }, 422, 'invalid_request'],
    ['/calls/usage', { call_ids: [], limit: 0 }, 422, 'invalid_request'],
    ['/calls/usage', { call_ids: Array(1001).fill('x') }, 400, 'invalid_value'],
    ['/trace/usage', { project_id: 'globex/qa' }, 403, 'entity_forbidden'],
    ['/trace/usage', { limit: 50_001 }, 422, 'invalid_request'],
    ['/trace/usage', { filter: { trace_ids: 'x' } }, 422, 'invalid_request'],
    ['/trace/usage', { query: { $expr: { $eq: [] } } }, 422, 'invalid_expression'],
    [
      '/trace/usage',
      { query: { $expr: { $eq: [{ $getField: 'x' }, { $literal: 1 }] } } },
      422,
      'unknown_field',
    ],
  ] as const) {
    const answer = await post(url, { project_id: project, ...body })
    assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text)
  }
})

test('a call has its own usage and that of the calls below it', async () => {
  const { project_id, trace_id, idOf } = await stored('sums', {
    root: {},
    agent: { parent: 'root' },
    one: { parent: 'agent', usage: { small: { ...tokens(10, 5), cache_read_input_tokens: 4 } } },
    two: {
      parent: 'agent',
      usage: { small: tokens(1, 2), large: { input_tokens: 7, output_tokens: 3, total_tokens: 11 } },
    },
    other: { parent: 'root', usage: { large: tokens(1, 1) } },
  })
  const { call_usage, unfinished_call_ids } = await answerOf('/calls/usage', {
    project_id,
    call_ids: [idOf('root'), idOf('agent'), 'unknown'],
  })
  assert.deepEqual(Object.keys(call_usage), [idOf('root'), idOf('agent'), 'unknown'])
  const none = {
    ...{ cache_creation_input_tokens: 0, prompt_tokens_total_cost: null, completion_tokens_total_cost: null },
    ...{ cache_read_input_tokens_total_cost: null, cache_creation_input_tokens_total_cost: null },
    stated_total_cost: null,
  }
  assert.deepEqual(call_usage[idOf('agent')], {
    small: {
      requests: 2,
      prompt_tokens: 11,
      completion_tokens: 7,
      total_tokens: 18,
      cache_read_input_tokens: 4,
      ...none,
    },
    large: {
      requests: 0,
      prompt_tokens: 7,
      completion_tokens: 3,
      total_tokens: 11,
      cache_read_input_tokens: 0,
      ...none,
    },
  })
  assert.deepEqual(shortly(call_usage[idOf('root')]), { small: [11, 7], large: [8, 4] })
  assert.deepEqual([call_usage.unknown, unfinished_call_ids], [{}, []])
  const all = await answerOf('/trace/usage', { project_id, filter: { trace_ids: [trace_id] } })
  assert.deepEqual(all.call_usage[idOf('root')], call_usage[idOf('root')])
  assert.equal(Object.keys(all.call_usage).length, 5)
  const some = await answerOf('/trace/usage', { project_id, filter: { op_names: ['agent', 'two'] } })
  assert.deepEqual(shortly(some.call_usage[idOf('agent')]), { small: [1, 2], large: [7, 3] })
})

test('what an agent or a wrapper repeats counts once; what a model calls as a tool is added', async () => {
  for (const [name, calls, expected] of [
    [
      'agent',
      {
        root: { usage: { small: tokens(5, 5) } },
        leaf: { parent: 'root', usage: { 'small-1': tokens(5, 5) } },
      },
      { 'small-1': [5, 5] },
    ],
    [
      'untraced',
      { root: { usage: { small: tokens(9, 5) } }, leaf: { parent: 'root', usage: { small: tokens(5, 5) } } },
      { small: [9, 5] },
    ],
    [
      'tool',
      {
        root: { usage: { small: tokens(5, 5) }, more: chat },
        leaf: { parent: 'root', usage: { small: tokens(1, 1) } },
      },
      { small: [6, 6] },
    ],
    [
      'wrapper',
      {
        root: { usage: { small: tokens(5, 5) }, more: chat },
        leaf: { parent: 'root', usage: { small: tokens(5, 5) }, more: chat },
      },
      { small: [5, 5] },
    ],
  ] as const) {
    const { project_id, idOf } = await stored(name, calls)
    const { call_usage } = await answerOf('/calls/usage', { project_id, call_ids: [idOf('root')] })
    assert.deepEqual(shortly(call_usage[idOf('root')]), expected, name)
  }
})

test('costs are those of the prices, and null without one', async () => {
  const { project_id, idOf } = await stored('costs', {
    root: {},
    one: { parent: 'root', usage: { small: { ...tokens(10, 5), cache_read_input_tokens: 4 } } },
    two: { parent: 'root', usage: { small: tokens(1, 0), unknown: tokens(1, 1) } },
  })
  const small = { prompt_token_cost: 1, completion_token_cost: 2, cache_read_input_token_cost: 0.5 }
  assert.equal((await post('/cost/create', pricesOf({ small }, project_id))).status, 200)
  const body = { project_id, call_ids: [idOf('root')], include_costs: true }
  const used = (await answerOf('/calls/usage', body)).call_usage[idOf('root')]
  assert.deepEqual(
    [used.small.prompt_tokens_total_cost, used.small.completion_tokens_total_cost],
    [6 + 1, 10],
  )
  assert.equal(used.small.cache_read_input_tokens_total_cost, 2)
  assert.equal(used.unknown.prompt_tokens_total_cost, null)
})

test('running calls are named, and more calls than the limit are refused', async () => {
  const { project_id, trace_id, idOf } = await stored('limits', { root: {}, leaf: { parent: 'root' } })
  const start = startOf({ project_id, trace_id, parent_id: idOf('root') })
  assert.equal((await post('/call/start', { start })).status, 200)
  for (const [url, selected, field] of [
    ['/calls/usage', { call_ids: [idOf('root')] }, 'call_ids'],
    ['/trace/usage', { filter: { trace_ids: [trace_id] } }, 'filter'],
  ] as const) {
    const body = { project_id, ...selected }
    assert.deepEqual((await answerOf(url, { ...body, limit: 3 })).unfinished_call_ids, [start.id])
    const refused = await post(url, { ...body, limit: 2 })
    assert.deepEqual(
      [refused.status, refused.json.reason],
      [400, `${field}: more than 2 calls; accepted: at most 2, see limit.`],
    )
  }
})

test('circles, odd numbers and names neither hang nor fail', async () => {
  const { project_id, idOf } = await stored('odd', {
    a: { parent: 'b', usage: { small: tokens(1, 1) } },
    b: { parent: 'a' },
    self: {
      parent: 'self',
      usage: JSON.parse('{"__proto__": {"prompt_tokens": 2}, "constructor": {"prompt_tokens": 3}}'),
    },
    odd: {
      usage: {
        small: { prompt_tokens: -5, completion_tokens: 1e300, requests: 'many' },
        text: 'x',
        list: [1],
      },
    },
    none: { usage: [] },
  })
  const call_ids = ['a', 'b', 'self', 'odd', 'none'].map(idOf)
  const { call_usage } = await answerOf('/calls/usage', { project_id, call_ids })
  assert.deepEqual(shortly(call_usage[idOf('a')]), { small: [1, 1] })
  assert.deepEqual(shortly(call_usage[idOf('b')]), { small: [1, 1] })
  // The same in whatever order they are read: ids are random.
  const circle = {
    x: { parent: 'z', usage: { small: tokens(1, 0) }, more: chat },
    y: { parent: 'x', usage: { small: tokens(2, 0) }, more: chat },
    z: { parent: 'y' },
    below: { parent: 'z', usage: { small: tokens(4, 0) } },
  }
  for (const order of ['xyz', 'zyx', 'yzx']) {
    const names = ['below', ...order] as (keyof typeof circle)[]
    const other = await stored(order, Object.fromEntries(names.map((call) => [call, circle[call]])))
    const ids = [...order].map(other.idOf)
    const all = await answerOf('/calls/usage', { project_id: other.project_id, call_ids: ids })
    for (const id of ids) assert.deepEqual(shortly(all.call_usage[id]), { small: [7, 0] }, order)
  }
  const names = Object.entries(call_usage[idOf('self')]) as [string, Record<string, number>][]
  assert.deepEqual(
    names.map(([model, used]) => [model, used.prompt_tokens]),
    [
      ['__proto__', 2],
      ['constructor', 3],
    ],
  )
  assert.deepEqual(shortly(call_usage[idOf('odd')]).small, [0, 1e12])
  assert.deepEqual(call_usage[idOf('none')], {})
  // Neither is a cost below zero.
  const price = { prompt_token_cost: 2, completion_token_cost: 0 }
  assert.equal((await post('/cost/create', pricesOf({ small: price }, project_id))).status, 200)
  const costs = await answerOf('/calls/usage', { project_id, call_ids: [idOf('odd')], include_costs: true })
  assert.equal(costs.call_usage[idOf('odd')].small.prompt_tokens_total_cost, 0)
  const { text } = await post('/calls/stream_query', {
    ...{ project_id, include_costs: true, filter: { call_ids: [idOf('odd')] } },
  })
  assert.equal(JSON.parse(text).summary.weave.costs.small.prompt_tokens_total_cost, 0)
})

test('a trace whose sums would fill the memory is refused', async () => {
  const chain = Object.fromEntries(
    Array.from({ length: 400 }, (_, n) => [
      `c${n}`,
      { ...(n > 0 && { parent: `c${n - 1}` }), usage: { [`model ${n}`]: tokens(1, n + 1) }, more: chat },
    ]),
  )
  const { project_id, idOf } = await stored('chain', chain)
  const refused = await post('/calls/usage', { project_id, call_ids: [idOf('c0')] })
  assert.deepEqual([refused.status, refused.json.code], [400, 'invalid_value'], refused.text)
})

test('nothing of other tenants is added up, also under ids of theirs', async () => {
  const theirs = completeOf({ project_id: 'globex/qa', summary: { usage: { small: tokens(9, 9) } } })
  assert.equal((await post('/v2/globex/qa/calls/complete', { batch: [theirs] }, keys.bob)).status, 200)
  const { project_id, idOf, trace_id } = await stored('tenant', {
    own: { usage: { small: tokens(1, 1) }, more: { trace_id: theirs.trace_id } },
  })
  const { call_usage } = await answerOf('/calls/usage', { project_id, call_ids: [theirs.id, idOf('own')] })
  assert.deepEqual([call_usage[theirs.id], shortly(call_usage[idOf('own')])], [{}, { small: [1, 1] }])
  const filter = { trace_ids: [theirs.trace_id, trace_id] }
  const all = await answerOf('/trace/usage', { project_id, filter })
  assert.deepEqual(Object.keys(all.call_usage), [idOf('own')])
  assert.equal((await post('/trace/usage', { project_id: 'globex/qa', filter })).status, 403)
})
