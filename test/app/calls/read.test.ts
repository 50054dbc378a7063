import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp, type TestApp } from '../../support/app.ts'
import { completeOf, endedRecord, endOf, project, runningRecord, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'

/** Shared by all tests; each uses data of its own. */
const { post } = await openApp({ after })

async function write(post: TestApp['post'], ...calls: ReturnType<typeof completeOf>[]): Promise<void> {
  const answer = await post('/v2/acme/qa/calls/complete', { batch: calls })
  assert.equal(answer.status, 200, answer.text)
}

test('call/read: refuses invalid requests, checking in a fixed order', async (t) => {
  const { id } = startOf()
  await assertCommonRefusals(t, '/call/read', { project_id: project, id })
  assert.deepEqual(whole(await post('/call/read', { project_id: project })), {
    status: 422,
    body: {
      reason: 'The body does not fit the schema: id: expected string, received nothing.',
      code: 'invalid_request',
      detail: [{ loc: ['body', 'id'], msg: 'expected string, received nothing', type: 'invalid_type' }],
    },
  })
  assert.deepEqual(whole(await post('/call/read', { project_id: 'globex/qa', id })), {
    status: 403,
    body: {
      reason: 'Your key has no access to the entity of project_id: "globex/qa".',
      code: 'entity_forbidden',
    },
  })
  assert.deepEqual(whole(await post('/call/read', { project_id: project, id })), {
    status: 404,
    body: { reason: `id: there is no call "${id}" in project "acme/qa".`, code: 'call_not_found' },
  })
})

test('call/read: deleted, expired, foreign and incomplete calls are all reported as not found', async () => {
  const call = completeOf()
  const elsewhere = completeOf({ project_id: 'acme/other' })
  const foreign = startOf({ project_id: 'globex/qa' })
  const endOnly = startOf()
  const expired = startOf({ expire_at: '2026-01-03T00:00:00Z' })
  const renamedOnly = startOf()
  await write(post, call)
  await post('/v2/acme/other/calls/complete', { batch: [elsewhere] })
  await post('/call/start', { start: foreign }, keys.bob)
  await post('/call/end', { end: endOf(endOnly.id) })
  await post('/call/start', { start: expired })
  await post('/call/update', { project_id: project, call_id: renamedOnly.id, display_name: 'x' })
  await post('/calls/delete', { project_id: project, call_ids: [call.id] })

  const ids = [call, elsewhere, foreign, endOnly, expired, renamedOnly].map(({ id }) => id)
  for (const id of [...ids, 'x', '0'.repeat(128), "' OR 1=1 --"]) {
    assert.deepEqual(whole(await post('/call/read', { project_id: project, id })), {
      status: 404,
      body: { reason: `id: there is no call "${id}" in project "acme/qa".`, code: 'call_not_found' },
    })
  }
})

test('call/read: flags that are absent, false or null add nothing', async () => {
  const call = completeOf()
  await write(post, call)
  for (const flag of [undefined, false, null]) {
    const flags = { include_costs: flag, include_storage_size: flag, include_total_storage_size: flag }
    assert.deepEqual(whole(await post('/call/read', { project_id: project, id: call.id, ...flags })), {
      status: 200,
      body: { call: endedRecord(call.id) },
    })
  }
})

test('call/read: values derived from a call are under summary.weave', async () => {
  const timed = { latency_ms: 1376 }
  for (const [fields, weave] of [
    [{}, { status: 'success', ...timed, trace_name: 'answer' }],
    [{ exception: '' }, { status: 'success', ...timed, trace_name: 'answer' }],
    [{ exception: 'Error' }, { status: 'error', ...timed, trace_name: 'answer' }],
    [
      { summary: { status_counts: { success: 1, error: 2 } } },
      { status: 'descendant_error', ...timed, trace_name: 'answer' },
    ],
    [
      { exception: 'Error', summary: { status_counts: { error: 2 } } },
      { status: 'error', ...timed, trace_name: 'answer' },
    ],
    [{ summary: { status_counts: { error: 0 } } }, { status: 'success', ...timed, trace_name: 'answer' }],
    [{ summary: { status_counts: 3 } }, { status: 'success', ...timed, trace_name: 'answer' }],
    [{ display_name: 'ask' }, { status: 'success', ...timed, display_name: 'ask' }],
    [{ display_name: '' }, { status: 'success', ...timed, trace_name: 'answer' }],
    [
      { op_name: 'weave:///acme/qa/op/Evaluation.evaluate:4f5' },
      { status: 'success', ...timed, trace_name: 'Evaluation.evaluate' },
    ],
    [{ op_name: 'weave:///acme/qa/op/ask' }, { status: 'success', ...timed, trace_name: 'ask' }],
    [{ op_name: 'a/op/b:c' }, { status: 'success', ...timed, trace_name: 'a/op/b:c' }],
    [{ ended_at: '2026-01-02T03:04:05.124455Z' }, { status: 'success', latency_ms: 0, trace_name: 'answer' }],
    [
      { ended_at: '2026-01-03T03:04:05.124456Z' },
      { status: 'success', latency_ms: 86_400_001, trace_name: 'answer' },
    ],
  ] as [Record<string, unknown>, Record<string, unknown>][]) {
    const call = completeOf(fields)
    await write(post, call)
    const read = await post('/call/read', { project_id: project, id: call.id })
    const { summary = {}, ...others } = fields
    if (others.display_name === '') others.display_name = null
    assert.deepEqual(
      read.json.call,
      endedRecord(call.id, { ...others, summary: { ...(summary as object), weave } }),
    )
  }
})

test('call/read: a running call has no latency', async () => {
  const start = startOf({ display_name: 'ask' })
  await post('/call/start', { start })
  const read = await post('/call/read', { project_id: project, id: start.id })
  const weave = { status: 'running', display_name: 'ask' }
  assert.deepEqual(read.json.call, runningRecord(start.id, { display_name: 'ask', summary: { weave } }))
})

test('call/read: keeps what the client stored under summary.weave, but derived values override it', async () => {
  const stale = {
    mine: [1, { a: 2 }],
    status: 'running',
    latency_ms: 5,
    trace_name: 'old',
    display_name: 'old',
    costs: { old: {} },
  }
  const named = completeOf({ display_name: 'ask', summary: { a: 1, weave: stale, b: 2 } })
  const unnamed = completeOf({ summary: { weave: stale } })
  const odd = completeOf({ summary: { weave: 'not an object' } })
  await write(post, named, unnamed, odd)
  const derived = { mine: [1, { a: 2 }], status: 'success', latency_ms: 1376 }
  for (const [{ id }, summary, display_name] of [
    [named, { a: 1, weave: { ...derived, display_name: 'ask' }, b: 2 }, 'ask'],
    [unnamed, { weave: { ...derived, trace_name: 'answer' } }, null],
    [odd, endedRecord('').summary, null],
  ] as const) {
    const read = await post('/call/read', { project_id: project, id })
    assert.deepEqual(read.json.call, endedRecord(id, { summary, display_name }))
  }
})

test('call/read: returns sizes on request, and the size of the trace only for its root', async () => {
  const root = completeOf({ attributes: { text: 'ünïçö' }, inputs: {}, output: 'ab', summary: {} })
  const child = completeOf({
    trace_id: root.id,
    parent_id: root.id,
    attributes: {},
    inputs: { a: 1 },
    output: null,
    summary: { b: 1 },
  })
  const otherTrace = completeOf()
  await write(post, root, child, otherTrace)
  const rootBytes = Buffer.byteLength('{"text":"ünïçö"}') + 2 + 4 + 2
  const childBytes = 2 + 7 + 0 + 7
  const sizes = async (id: string, flags: Record<string, unknown>) => {
    const { json } = await post('/call/read', { project_id: project, id, ...flags })
    return [json.call.storage_size_bytes, json.call.total_storage_size_bytes]
  }
  const both = { include_storage_size: true, include_total_storage_size: true }
  assert.deepEqual(await sizes(root.id, both), [rootBytes, rootBytes + childBytes])
  assert.deepEqual(await sizes(child.id, both), [childBytes, null])
  assert.deepEqual(await sizes(root.id, { include_storage_size: true }), [rootBytes, null])
  assert.deepEqual(await sizes(root.id, { include_total_storage_size: true }), [null, rootBytes + childBytes])
  await post('/calls/delete', { project_id: project, call_ids: [child.id] })
  assert.deepEqual(await sizes(root.id, both), [rootBytes, rootBytes])
})

test('call/read: white space between JSON tokens does not count in the size', async () => {
  const call = completeOf()
  await post('/v2/acme/qa/calls/complete', JSON.stringify({ batch: [call] }, null, 8))
  const read = await post('/call/read', { project_id: project, id: call.id, include_storage_size: true })
  const texts = [call.attributes, call.inputs, call.output, call.summary].map((value) =>
    JSON.stringify(value),
  )
  assert.equal(read.json.call.storage_size_bytes, texts.join('').length)
})
