import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { openApp } from '../../support/app.ts'
import { endedRecord, endOf, project, runningRecord, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'

/** Shared by all tests; each uses data of its own. */
const { post } = await openApp({ after })

test('call/end: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/call/end', { end: endOf(startOf().id) })
  const { id } = startOf()
  const { summary: _, ...incomplete } = endOf(id)
  assert.deepEqual(whole(await post('/call/end', { end: incomplete })), {
    status: 422,
    body: {
      reason: 'The body does not fit the schema: end.summary: expected an object, received nothing.',
      code: 'invalid_request',
      detail: [
        { loc: ['body', 'end', 'summary'], msg: 'expected an object, received nothing', type: 'custom' },
      ],
    },
  })
  assert.deepEqual(whole(await post('/call/end', { end: endOf(id, { project_id: 'globex/qa' }) })), {
    status: 403,
    body: {
      reason: 'Your key has no access to the entity of end.project_id: "globex/qa".',
      code: 'entity_forbidden',
    },
  })
})

test('call/end: an ended call can be read at once', async () => {
  const { id } = startOf()
  await post('/call/start', { start: startOf({ id }) })
  assert.deepEqual(whole(await post('/call/end', { end: endOf(id) })), { status: 200, body: {} })
  const read = await post('/call/read', { project_id: project, id })
  assert.deepEqual(read.json.call, endedRecord(id))
})

test('call/end: an end may arrive before its start, and until then the call is not found', async () => {
  const { id } = startOf()
  assert.deepEqual(whole(await post('/call/end', { end: endOf(id) })), { status: 200, body: {} })
  assert.deepEqual(whole(await post('/call/read', { project_id: project, id })), {
    status: 404,
    body: { reason: `id: there is no call "${id}" in project "acme/qa".`, code: 'call_not_found' },
  })
  await post('/call/start', { start: startOf({ id }) })
  const read = await post('/call/read', { project_id: project, id })
  assert.deepEqual(read.json.call, endedRecord(id))
})

test('call/end: trace and start time come from the start, in either order of arrival', async () => {
  const end = { trace_id: '0'.repeat(32), started_at: '2020-01-01T00:00:00Z' }
  for (const order of ['start first', 'end first']) {
    const { id } = startOf()
    const steps = [
      () => post('/call/start', { start: startOf({ id }) }),
      () => post('/call/end', { end: endOf(id, end) }),
    ]
    for (const step of order === 'start first' ? steps : steps.reverse()) await step()
    const read = await post('/call/read', { project_id: project, id })
    assert.deepEqual(read.json.call, endedRecord(id), order)
  }
})

for (const output of [null, 'text', '', 0, 1.5, true, false, [], [1, [2]], {}, { a: { b: null } }]) {
  test(`call/end: the output ${JSON.stringify(output)} is read back`, async () => {
    const { id } = startOf()
    await post('/call/start', { start: startOf({ id }) })
    await post('/call/end', { end: endOf(id, { output }) })
    const read = await post('/call/read', { project_id: project, id })
    assert.deepEqual(read.json.call, endedRecord(id, { output }))
  })
}

test('call/end: an end without output has none', async () => {
  const { id } = startOf()
  await post('/call/start', { start: startOf({ id }) })
  await post('/call/end', { end: endOf(id, { output: undefined }) })
  const read = await post('/call/read', { project_id: project, id })
  assert.deepEqual(read.json.call, endedRecord(id, { output: null }))
})

test('call/end: every field is read back, under its own name or that of Weave', async () => {
  for (const step of [{ svc_run_step_end: 7 }, { wb_run_step_end: 7 }]) {
    const { id } = startOf()
    await post('/call/start', { start: startOf({ id }) })
    const end = endOf(id, { ...step, exception: 'Error: late', display_name: 'asked', summary: { a: 1 } })
    assert.deepEqual(whole(await post('/call/end', { end: { ...end, colour: 'red' } })), {
      status: 200,
      body: {},
    })
    const read = await post('/call/read', { project_id: project, id })
    const expected = endedRecord(id, {
      display_name: 'asked',
      exception: 'Error: late',
      svc_run_step_end: 7,
      summary: { a: 1, weave: { status: 'error', latency_ms: 1376, display_name: 'asked' } },
    })
    assert.deepEqual(read.json.call, expected)
  }
})

test('call/end: characters of an exception that no database can store become U+FFFD', async () => {
  const { id } = startOf()
  await post('/call/start', { start: startOf({ id }) })
  const exception = `Unexpected token '\ud83d', "👋 \0" is not JSON`
  assert.equal((await post('/call/end', { end: endOf(id, { exception }) })).status, 200)
  const read = await post('/call/read', { project_id: project, id })
  assert.equal(read.json.call.exception, `Unexpected token '\ufffd', "👋 \ufffd" is not JSON`)
})

test('call/end: the same holds for a display name, in a start and in an end', async () => {
  const { id } = startOf()
  const shown = async () => (await post('/call/read', { project_id: project, id })).json.call.display_name
  await post('/call/start', { start: startOf({ id, display_name: 'a\0b\ud83d' }) })
  assert.equal(await shown(), 'a\ufffdb\ufffd')
  await post('/call/end', { end: endOf(id, { display_name: '\udc4b👋' }) })
  assert.equal(await shown(), '\ufffd👋')
  const batch = [
    { mode: 'start', req: { start: startOf({ display_name: '\ud83d' }) } },
    { mode: 'end', req: { end: endOf(id, { display_name: '\0' }) } },
  ]
  assert.equal((await post('/call/upsert_batch', { batch })).status, 200)
})

test('call/end: a repeated end replaces its own part and keeps the start', async () => {
  const { id } = startOf()
  const fields = { thread_id: 'a', inputs: { n: 1 } }
  await post('/call/start', { start: startOf({ id, ...fields }) })
  await post('/call/end', { end: endOf(id, { exception: 'Error', svc_run_step_end: 1, output: 'old' }) })
  await post('/call/end', { end: endOf(id) })
  const read = await post('/call/read', { project_id: project, id })
  assert.deepEqual(read.json.call, endedRecord(id, fields))
})

test('call/end: the name in the end overrides the one in the start, in either order of arrival', async () => {
  for (const order of ['start first', 'end first']) {
    const { id } = startOf()
    const steps = [
      () => post('/call/start', { start: startOf({ id, display_name: 'early' }) }),
      () => post('/call/end', { end: endOf(id, { display_name: 'late' }) }),
    ]
    for (const step of order === 'start first' ? steps : steps.reverse()) await step()
    const read = await post('/call/read', { project_id: project, id })
    assert.equal(read.json.call.display_name, 'late', order)
  }
})

test('call/end: an end in another project ends no call here', async () => {
  const { id } = startOf()
  await post('/call/start', { start: startOf({ id }) })
  await post('/call/end', { end: endOf(id, { project_id: 'acme/other' }) })
  const read = await post('/call/read', { project_id: project, id })
  assert.deepEqual(read.json.call, runningRecord(id))
})

test('call/end: a call that ends before it started has a negative latency', async () => {
  const { id } = startOf()
  await post('/call/start', { start: startOf({ id, started_at: '2026-01-02T00:00:01.9999Z' }) })
  await post('/call/end', { end: endOf(id, { ended_at: '2026-01-02T00:00:00Z' }) })
  const read = await post('/call/read', { project_id: project, id })
  assert.equal(read.json.call.summary.weave.latency_ms, -1999)
})
