import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { keys, openApp } from '../../support/app.ts'
import { completeOf, endOf, project, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { storeCalls } from '../../support/stored-calls.ts'

const url = '/views/calls'
const shared = await openApp({ after })

test('views/calls: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, url, { project_id: project })
  const { post } = shared
  for (const [body, status, code] of [
    [{ limit: 1001 }, 422, 'invalid_request'],
    [{ count_up_to: -1 }, 422, 'invalid_request'],
    [{ examine: 0 }, 422, 'invalid_request'],
    [{ project_id: 'globex/qa' }, 403, 'entity_forbidden'],
    [{ after: 'somewhere' }, 400, 'invalid_value'],
    [{ after: '1.x', sort_by: [{ field: 'op_name', direction: 'asc' }] }, 400, 'invalid_value'],
    [{ sort_by: [{ field: 'nothing', direction: 'asc' }] }, 422, 'unknown_field'],
    [{ filter: { trace_ids: Array(1001).fill('a') } }, 400, 'invalid_value'],
  ] as const) {
    const answer = await post(url, { project_id: project, ...body })
    assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text)
  }
})

test('a row has what a list shows, and not the inputs and output of the call', async (t) => {
  const { post } = await openApp(t)
  const call = completeOf({
    op_name: 'weave:///acme/qa/op/answer:v1',
    started_at: '2026-01-02T03:04:05Z',
    ended_at: '2026-01-02T03:04:06.5Z',
    inputs: {
      model: 'small',
      messages: [{ role: 'user', content: 'capital\nof Chad' }],
      long: 'x'.repeat(1000),
    },
    output: { choices: [{ message: { role: 'assistant', content: "N'Djamena" } }] },
    summary: {
      usage: { small: { prompt_tokens: 10, completion_tokens: 5 } },
      heddle: { first_token_ms: 120.5 },
    },
  })
  await post('/v2/acme/qa/calls/complete', { batch: [call] })
  await post('/cost/create', {
    project_id: project,
    costs: { small: { prompt_token_cost: 0.5, completion_token_cost: 2 } },
  })
  const ref = `weave:///${project}/call/${call.id}`
  const say = (feedback_type: string, payload: object) =>
    post('/feedback/create', { project_id: project, weave_ref: ref, feedback_type, payload })
  await say('wandb.reaction.1', { emoji: '👍' })
  await say('wandb.reaction.1', { emoji: '👍' })
  await say('wandb.note.1', { note: 'good' })
  const answer = await post(url, { project_id: project })
  assert.equal(answer.status, 200, answer.text)
  const [{ storage_size_bytes, ...row }] = answer.json.calls
  assert.ok(storage_size_bytes > 1000)
  assert.deepEqual(row, {
    id: call.id,
    trace_id: call.trace_id,
    parent_id: null,
    thread_id: null,
    op_name: call.op_name,
    display_name: null,
    started_at: '2026-01-02T03:04:05Z',
    ended_at: '2026-01-02T03:04:06.500Z',
    status: 'success',
    exception: null,
    model: 'small',
    latency_ms: 1500,
    first_token_ms: 120.5,
    input_tokens: 10,
    output_tokens: 5,
    cost: 15,
    svc_user_id: 'alice',
    input_preview: 'capital of Chad',
    output_preview: "N'Djamena",
    feedback: [
      { feedback_type: 'wandb.note.1', emoji: null, count: 1 },
      { feedback_type: 'wandb.reaction.1', emoji: '👍', count: 2 },
    ],
  })
  assert.deepEqual(
    { ...answer.json, calls: undefined },
    {
      calls: undefined,
      next: null,
      count: { value: 1, is_exact: true },
      examined: null,
      is_deriving: false,
    },
  )
})

test('a row shows the state of a call that is running, failed, renamed, ended or deleted', async (t) => {
  const { post } = await openApp(t)
  const rows = async () => (await post(url, { project_id: project })).json.calls
  const start = startOf({ inputs: { model: 'small', prompt: 'Once' } })
  await post('/call/start', { start })
  const [running] = await rows()
  assert.deepEqual(
    [running.status, running.model, running.input_preview, running.output_preview, running.latency_ms],
    ['running', 'small', 'Once', null, null],
  )
  await post('/call/end', { end: endOf(start.id, { exception: `boom ${'x'.repeat(1000)}`, output: null }) })
  await post('/call/update', { project_id: project, call_id: start.id, display_name: 'second try' })
  const [failed] = await rows()
  assert.deepEqual(
    [failed.status, failed.exception.length, failed.display_name],
    ['error', 200, 'second try'],
  )
  await post('/call/end', {
    end: endOf(start.id, { output: 'upon', summary: { status_counts: { error: 1 } } }),
  })
  const [ended] = await rows()
  assert.deepEqual([ended.status, ended.exception, ended.output_preview], ['descendant_error', null, 'upon'])
  await post('/calls/delete', { project_id: project, call_ids: [start.id] })
  assert.deepEqual(await rows(), [])
})

test('the newest calls come first, pages follow each other, and filters are those of stream_query', async (t) => {
  const { post } = await openApp(t)
  const names = ['a', 'b', 'c', 'd', 'e']
  const parent = completeOf().id
  const stored = await storeCalls(
    post,
    Object.fromEntries(
      names.map((name, n) => [name, { ...(n % 2 === 0 && { parent_id: parent }), inputs: { n } }]),
    ),
  )
  const list = async (body: object = {}) => {
    const { json, text, status } = await post(url, { project_id: project, ...body })
    assert.equal(status, 200, text)
    const found = json.calls.map(({ id }: { id: string }) => names.find((name) => stored.id(name) === id))
    return { found: found.join(''), next: json.next, count: json.count }
  }
  assert.equal((await list()).found, 'edcba')
  const first = await list({ limit: 2, count_up_to: 3 })
  assert.deepEqual([first.found, first.count], ['ed', { value: 3, is_exact: false }])
  const second = await list({ limit: 2, after: first.next, count_up_to: 5 })
  assert.deepEqual([second.found, second.count], ['cb', { value: 5, is_exact: true }])
  assert.equal((await list({ limit: 2, after: second.next, count_up_to: 0 })).count, null)
  const oldest = { sort_by: [{ field: 'started_at', direction: 'asc' }] }
  const third = await list({ limit: 3, ...oldest })
  assert.equal(third.found, 'abc')
  assert.equal((await list({ after: third.next, ...oldest })).found, 'de')
  assert.equal((await list({ filter: { trace_roots_only: true } })).found, 'db')
  assert.equal((await list({ filter: { call_ids: [stored.id('b')] } })).found, 'b')
  const n = { $convert: { input: { $getField: 'inputs.n' }, to: 'double' } }
  assert.equal((await list({ query: { $expr: { $gt: [n, { $literal: 2 }] } } })).found, 'ed')
  const status = { $getField: 'summary.weave.status' }
  assert.equal((await list({ query: { $expr: { $eq: [status, { $literal: 'success' }] } } })).found, 'edcba')
  assert.equal((await list({ sort_by: [{ field: 'inputs.n', direction: 'asc' }], limit: 2 })).found, 'ab')
  assert.deepEqual(await list({ limit: 0 }), { found: '', next: null, count: { value: 5, is_exact: true } })
})

test('the calls of another tenant cannot be listed', async () => {
  const { post } = shared
  const answer = await post(url, { project_id: project }, keys.bob)
  assert.equal(answer.status, 403)
})

test('with examine, what no index knows is looked for among the newest calls, which is said', async (t) => {
  const { post } = await openApp(t)
  const at = (n: number) => `2026-01-02T03:04:${String(n).padStart(2, '0')}Z`
  const batch = Array.from({ length: 20 }, (_, n) =>
    completeOf({ started_at: at(n), ended_at: at(n), inputs: { n, word: `word ${n % 2}` } }),
  )
  await post('/v2/acme/qa/calls/complete', { batch })
  const field = (name: string) => ({ $getField: name })
  const isAbove = (n: number) => ({ query: { $expr: { $gt: [field('inputs.n'), { $literal: n }] } } })
  const descending = { sort_by: [{ field: 'inputs.n', direction: 'desc' }] }
  const asked = async (body: object) => {
    const { status, json, text } = await post(url, { project_id: project, ...body })
    assert.equal(status, 200, text)
    const { calls, next, count, examined } = json
    return {
      seconds: calls.map((call: { started_at: string }) => Number(call.started_at.slice(17, 19))),
      next,
      count,
      examined,
    }
  }
  const newest = { calls: 5, since: at(14) }
  assert.deepEqual(await asked({ ...isAbove(2), examine: 5 }), {
    ...{ seconds: [19, 18, 17, 16, 15], next: null },
    ...{ count: { value: 5, is_exact: false }, examined: newest },
  })
  assert.deepEqual((await asked({ ...isAbove(2), examine: 5, ...descending, offset: 4 })).seconds, [15])
  assert.deepEqual(await asked({ ...descending, examine: 5, limit: 2 }), {
    ...{ seconds: [19, 18], next: null, count: { value: 5, is_exact: false }, examined: newest },
  })
  // After a page, the newest are those behind it.
  const { next } = await asked({ ...isAbove(2), examine: 5, limit: 3 })
  assert.deepEqual((await asked({ ...isAbove(2), examine: 5, after: next })).seconds, [16, 15, 14, 13, 12])
  const all = { next: null, count: { value: 17, is_exact: true }, examined: null }
  for (const examine of [20, null]) {
    const { seconds, ...rest } = await asked({ ...isAbove(2), examine })
    assert.deepEqual([seconds.length, rest], [17, all])
  }
  // Columns of calls are looked up, however many calls these are.
  const started = { query: { $expr: { $gt: [field('summary.weave.latency_ms'), { $literal: -1 }] } } }
  assert.deepEqual((await asked({ ...started, examine: 5 })).count, { value: 20, is_exact: true })
})
