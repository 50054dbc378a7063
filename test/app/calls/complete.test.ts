import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { recordsOf, whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { completeOf, endedRecord, endOf, project, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'

/** Shared by all tests; each uses data of its own. */
const { post } = await openApp({ after })

const url = '/v2/acme/qa/calls/complete'

test('calls/complete: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, url, { batch: [completeOf()] })
  for (const field of ['id', 'trace_id']) {
    for (const value of [undefined, null]) {
      const { status, json } = await post(url, {
        batch: [completeOf({ trace_id: '0'.repeat(32), [field]: value })],
      })
      assert.equal(status, 422)
      const received = value === undefined ? 'nothing' : 'null'
      assert.deepEqual(json, {
        reason: `The body does not fit the schema: batch.0.${field}: expected string, received ${received}.`,
        code: 'invalid_request',
        detail: [
          {
            loc: ['body', 'batch', 0, field],
            msg: `expected string, received ${received}`,
            type: 'invalid_type',
          },
        ],
      })
    }
  }
  assert.deepEqual(whole(await post('/v2/globex/qa/calls/complete', { batch: [] })), {
    status: 403,
    body: { reason: 'Your key has no access to the entity of path: "globex/qa".', code: 'entity_forbidden' },
  })
  const call = completeOf()
  const batch = [call, completeOf({ project_id: 'acme/other' })]
  assert.deepEqual(whole(await post(url, { batch })), {
    status: 400,
    body: {
      reason: 'batch.1.project_id: "acme/other"; accepted: the project of the path, acme/qa.',
      code: 'invalid_value',
    },
  })
  assert.equal((await post('/call/read', { project_id: project, id: call.id })).status, 404)
})

test('calls/complete: a complete call can be read at once', async () => {
  const call = completeOf()
  assert.deepEqual(whole(await post(url, { batch: [call] })), { status: 200, body: {} })
  const read = await post('/call/read', { project_id: project, id: call.id })
  assert.deepEqual(read.json.call, endedRecord(call.id))
})

test('calls/complete: every field is read back, under its own name or that of Weave', async () => {
  const fields = {
    display_name: 'ask',
    parent_id: 'b7ad6b7169203331',
    thread_id: 'thread',
    turn_id: 'turn',
    exception: 'Error',
    attributes: { a: 1 },
    inputs: {},
    output: [1],
    expire_at: '2200-01-01T00:00:00Z',
  }
  for (const names of [
    { svc_run_id: 'run', svc_run_step: 1, svc_run_step_end: 2 },
    { wb_run_id: 'run', wb_run_step: 1, wb_run_step_end: 2 },
  ]) {
    const call = completeOf({ ...fields, ...names, summary: { usage: {} }, otel_dump: { n: 1 } })
    await post(url, { batch: [call] })
    const read = await post('/call/read', { project_id: project, id: call.id })
    const expected = endedRecord(call.id, {
      ...fields,
      attributes: { a: 1, otel_span: { n: 1 } },
      summary: { usage: {}, weave: { status: 'error', latency_ms: 1376, display_name: 'ask' } },
      svc_run_id: 'run',
      svc_run_step: 1,
      svc_run_step_end: 2,
    })
    assert.deepEqual(read.json.call, expected)
  }
})

test('calls/complete: an empty batch is accepted', async () => {
  assert.deepEqual(whole(await post(url, { batch: [] })), { status: 200, body: {} })
})

test('calls/complete: replaces earlier parts of the call, but keeps a rename', async () => {
  const { id } = startOf()
  await post('/call/start', { start: startOf({ id, inputs: { old: true }, thread_id: 'old' }) })
  await post('/call/end', { end: endOf(id, { exception: 'old' }) })
  await post('/call/update', { project_id: project, call_id: id, display_name: 'renamed' })
  for (let time = 0; time < 2; time++) {
    await post(url, { batch: [completeOf({ id, display_name: 'sent' })] })
    const read = await post('/call/read', { project_id: project, id })
    const weave = { status: 'success', latency_ms: 1376, display_name: 'renamed' }
    assert.deepEqual(read.json.call, endedRecord(id, { display_name: 'renamed', summary: { weave } }))
  }
})

test('calls/complete: a long batch is stored whole', async (t) => {
  const { post } = await openApp(t)
  const calls = Array.from({ length: 130 }, (_, n) => completeOf({ inputs: { n } }))
  assert.deepEqual(whole(await post(url, { batch: calls })), { status: 200, body: {} })
  const sort_by = [{ field: 'inputs.n', direction: 'asc' }]
  assert.deepEqual(
    recordsOf(await post('/calls/stream_query', { project_id: project, sort_by, include_usernames: true })),
    calls.map(({ id }, n) => endedRecord(id, { inputs: { n } })),
  )
})

test('calls/complete: percent-encoded names in the path are decoded', async () => {
  const call = completeOf({ project_id: 'acme/über' })
  const answer = await post(`/v2/acme/${encodeURIComponent('über')}/calls/complete`, { batch: [call] })
  assert.deepEqual(whole(answer), { status: 200, body: {} })
  const read = await post('/call/read', { project_id: 'acme/über', id: call.id }, keys.root)
  assert.deepEqual(read.json.call, endedRecord(call.id, { project_id: 'acme/über' }))
})
