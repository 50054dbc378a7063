import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { completeOf, endedRecord, endOf, project, runningRecord, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'

/** Shared by all tests; each uses data of its own. */
const { post } = await openApp({ after })

const named = (display_name: string, status = 'success') => ({
  display_name,
  summary: { weave: { status, ...(status === 'success' && { latency_ms: 1376 }), display_name } },
})

test('call/update: refuses invalid requests, checking in a fixed order', async (t) => {
  const { id } = startOf()
  const body = { project_id: project, call_id: id, display_name: 'x' }
  await assertCommonRefusals(t, '/call/update', body)
  for (const [display_name, msg, type] of [
    [undefined, 'expected string, received nothing', 'invalid_type'],
    [null, 'expected string, received null', 'invalid_type'],
    ['x'.repeat(1025), `expected string to have <=1024 characters, received "${'x'.repeat(79)}…`, 'too_big'],
  ]) {
    assert.deepEqual(whole(await post('/call/update', { ...body, display_name })), {
      status: 422,
      body: {
        reason: `The body does not fit the schema: display_name: ${msg}.`,
        code: 'invalid_request',
        detail: [{ loc: ['body', 'display_name'], msg, type }],
      },
    })
  }
  assert.deepEqual(whole(await post('/call/update', { ...body, project_id: 'globex/qa' })), {
    status: 403,
    body: {
      reason: 'Your key has no access to the entity of project_id: "globex/qa".',
      code: 'entity_forbidden',
    },
  })
})

test('call/update: renames a call, and an empty name removes the name', async () => {
  const call = completeOf({ display_name: 'first' })
  await post('/v2/acme/qa/calls/complete', { batch: [call] })
  for (const [display_name, fields] of [
    ['second', named('second')],
    ['third 👋', named('third 👋')],
    ['', {}],
    ['fourth', named('fourth')],
  ] as const) {
    const body = { project_id: project, call_id: call.id, display_name }
    assert.deepEqual(whole(await post('/call/update', body)), { status: 200, body: {} })
    const read = await post('/call/read', { project_id: project, id: call.id })
    assert.deepEqual(read.json.call, endedRecord(call.id, fields))
  }
})

test('call/update: a rename may arrive before the call', async () => {
  const { id } = startOf()
  const body = { project_id: project, call_id: id, display_name: 'renamed' }
  assert.deepEqual(whole(await post('/call/update', body)), { status: 200, body: {} })
  assert.equal((await post('/call/read', { project_id: project, id })).status, 404)
  await post('/call/start', { start: startOf({ id, display_name: 'sent' }) })
  const running = await post('/call/read', { project_id: project, id })
  assert.deepEqual(running.json.call, runningRecord(id, named('renamed', 'running')))
  await post('/call/end', { end: endOf(id) })
  const ended = await post('/call/read', { project_id: project, id })
  assert.deepEqual(ended.json.call, endedRecord(id, named('renamed')))
})

test('call/update: a rename that arrives before the batch of its call is not undone by it', async () => {
  const { id } = startOf()
  await post('/call/update', { project_id: project, call_id: id, display_name: 'renamed' })
  const start = startOf({ id, display_name: 'sent' })
  const end = endOf(id, { display_name: 'sent' })
  await post('/call/upsert_batch', {
    batch: [
      { mode: 'start', req: { start } },
      { mode: 'end', req: { end } },
    ],
  })
  const read = await post('/call/read', { project_id: project, id })
  assert.deepEqual(read.json.call, endedRecord(id, named('renamed')))
})

test('call/update: a repeated start or end does not undo a rename', async () => {
  const { id } = startOf()
  await post('/call/start', { start: startOf({ id, display_name: 'sent' }) })
  await post('/call/end', { end: endOf(id, { display_name: 'sent' }) })
  await post('/call/update', { project_id: project, call_id: id, display_name: 'renamed' })
  await post('/call/start', { start: startOf({ id, display_name: 'sent' }) })
  await post('/call/end', { end: endOf(id, { display_name: 'sent' }) })
  const read = await post('/call/read', { project_id: project, id })
  assert.deepEqual(read.json.call, endedRecord(id, named('renamed')))
})

test('call/update: a removed name stays removed when the start is repeated', async () => {
  const { id } = startOf()
  await post('/call/start', { start: startOf({ id, display_name: 'sent' }) })
  await post('/call/update', { project_id: project, call_id: id, display_name: '' })
  await post('/call/start', { start: startOf({ id, display_name: 'sent' }) })
  const read = await post('/call/read', { project_id: project, id })
  assert.deepEqual(read.json.call, runningRecord(id))
})

test('call/update: renames only the named call', async () => {
  const [one, two] = [completeOf(), completeOf()]
  const foreign = completeOf({ id: one.id, project_id: 'globex/qa' })
  await post('/v2/acme/qa/calls/complete', { batch: [one, two] })
  await post('/v2/globex/qa/calls/complete', { batch: [foreign] }, keys.bob)
  await post('/call/update', { project_id: project, call_id: one.id, display_name: 'renamed' })
  const other = await post('/call/read', { project_id: project, id: two.id })
  assert.deepEqual(other.json.call, endedRecord(two.id))
  const far = await post('/call/read', { project_id: 'globex/qa', id: one.id }, keys.bob)
  assert.deepEqual(far.json.call, endedRecord(one.id, { project_id: 'globex/qa', svc_user_id: 'bob' }))
})

test('call/update: a deleted call stays deleted', async () => {
  const call = completeOf()
  await post('/v2/acme/qa/calls/complete', { batch: [call] })
  await post('/calls/delete', { project_id: project, call_ids: [call.id] })
  const body = { project_id: project, call_id: call.id, display_name: 'renamed' }
  assert.deepEqual(whole(await post('/call/update', body)), { status: 200, body: {} })
  assert.equal((await post('/call/read', { project_id: project, id: call.id })).status, 404)
})
