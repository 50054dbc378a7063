import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp, type TestApp } from '../../support/app.ts'
import { completeOf, endOf, project, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { createQueue, fillQueue, setItemState, unknownCall } from '../../support/queues.ts'

/** Shared by all tests; each uses data of its own. */
const { post } = await openApp({ after })

const add = (post: TestApp['post'], queueId: string, call_ids: string[], fields: object = {}) =>
  post(`/annotation_queues/${queueId}/items`, { project_id: project, call_ids, ...fields })

const itemsOf = async (post: TestApp['post'], queueId: string, body: object = {}, key?: string) => {
  const answer = await post(
    `/annotation_queues/${queueId}/items/query`,
    { project_id: project, ...body },
    key,
  )
  assert.equal(answer.status, 200, answer.text)
  return answer.json.items as Record<string, unknown>[]
}

async function storeCalls(post: TestApp['post'], count: number): Promise<string[]> {
  const batch = Array.from({ length: count }, () => completeOf())
  const answer = await post('/v2/acme/qa/calls/complete', { batch })
  assert.equal(answer.status, 200, answer.text)
  return batch.map(({ id }) => id)
}

test('queue items: refuses invalid requests, checking in a fixed order', async (t) => {
  const path = '/annotation_queues/q/items'
  await assertCommonRefusals(t, path, { project_id: project, call_ids: [] })
  for (const body of [
    { call_ids: undefined },
    { call_ids: [5] },
    { call_ids: 'x' },
    { display_fields: [1] },
  ]) {
    const { status, json } = await post(path, { project_id: project, call_ids: [], ...body })
    assert.deepEqual([status, json.code], [422, 'invalid_request'], JSON.stringify(body))
  }
  assert.equal((await post(path, { project_id: 'globex/qa', call_ids: [] })).status, 403)
  const many = Array.from({ length: 1001 }, (_, n) => String(n))
  assert.deepEqual(whole(await post(path, { project_id: project, call_ids: many })), {
    status: 413,
    body: {
      reason: 'call_ids: 1001 entries; at most 1000 are accepted in one request.',
      code: 'too_many_ids',
    },
  })
  assert.deepEqual(whole(await post(path, { project_id: project, call_ids: many.slice(1) })), {
    status: 404,
    body: {
      reason: 'queue_id: there is no annotation queue "q" in project "acme/qa".',
      code: 'annotation_queue_not_found',
    },
  })
})

test('queue items: counts every id once, and adding a call again adds nothing', async () => {
  const queueId = await createQueue(post)
  const [a = '', b = '', c = ''] = await storeCalls(post, 3)
  const nobody = unknownCall()
  assert.deepEqual(whole(await add(post, queueId, [b, nobody, a, b, nobody])), {
    status: 200,
    body: { added_count: 2, duplicates: 1, unknown: 2, unknown_call_ids: [nobody] },
  })
  assert.deepEqual(whole(await add(post, queueId, [a, c, b])), {
    status: 200,
    body: { added_count: 1, duplicates: 2, unknown: 0, unknown_call_ids: [] },
  })
  assert.deepEqual(whole(await add(post, queueId, [c, b, a, a])), {
    status: 200,
    body: { added_count: 0, duplicates: 4, unknown: 0, unknown_call_ids: [] },
  })
  assert.deepEqual(whole(await add(post, queueId, [])), {
    status: 200,
    body: { added_count: 0, duplicates: 0, unknown: 0, unknown_call_ids: [] },
  })
  const items = await itemsOf(post, queueId, { include_position: true })
  assert.deepEqual(
    items.map((item) => [item.call_id, item.position_in_queue]),
    [b, a, c].map((id, n) => [id, n + 1]),
  )
})

test('queue items: adding a call again keeps the states of the annotators', async () => {
  const { queueId, callIds, itemIds } = await fillQueue(post, 2)
  await setItemState(post, queueId, itemIds[0], 'completed')
  await add(post, queueId, callIds, { display_fields: ['output'] })
  const items = await itemsOf(post, queueId)
  assert.deepEqual(
    items.map((item) => [item.id, item.annotation_state, item.display_fields]),
    [
      [itemIds[0], 'completed', ['inputs.question']],
      [itemIds[1], 'unstarted', ['inputs.question']],
    ],
  )
})

test('queue items: deleted, expired and foreign calls, and ends without a start, are unknown', async () => {
  const queueId = await createQueue(post)
  const [deleted = ''] = await storeCalls(post, 1)
  await post('/calls/delete', { project_id: project, call_ids: [deleted] })
  const expired = completeOf({ expire_at: '2026-01-03T00:00:00Z' })
  await post('/v2/acme/qa/calls/complete', { batch: [expired] })
  const ended = startOf()
  await post('/call/end', { end: endOf(ended.id) })
  const elsewhere = completeOf({ project_id: 'acme/other' })
  await post('/v2/acme/other/calls/complete', { batch: [elsewhere] })
  const foreign = completeOf({ project_id: 'globex/qa' })
  await post('/v2/globex/qa/calls/complete', { batch: [foreign] }, keys.bob)
  const ids = [deleted, expired.id, ended.id, elsewhere.id, foreign.id, 'no id at all']
  assert.deepEqual(whole(await add(post, queueId, ids)), {
    status: 200,
    body: { added_count: 0, duplicates: 0, unknown: 6, unknown_call_ids: ids },
  })
})

test('queue items: an item shows the call as it was when it was added', async () => {
  const queueId = await createQueue(post)
  const call = startOf({ trace_id: '0'.repeat(32), op_name: 'first' })
  await post('/call/start', { start: call })
  await add(post, queueId, [call.id], { display_fields: ['inputs.question', 'output'] })
  await post('/call/end', { end: endOf(call.id) })
  await post('/call/start', { start: { ...call, op_name: 'second' } })
  const [item] = await itemsOf(post, queueId, { include_position: true })
  assert.ok(item)
  assert.match(String(item.id), /^[0-9a-f]{8}-[0-9a-f]{4}-7/)
  assert.deepEqual(item, {
    id: item.id,
    queue_id: queueId,
    project_id: project,
    call_id: call.id,
    other_call_id: null,
    display: null,
    call_op_name: 'first',
    call_started_at: '2026-01-02T03:04:05.123456Z',
    call_ended_at: null,
    call_trace_id: '0'.repeat(32),
    created_at: item.created_at,
    created_by: 'alice',
    updated_at: item.created_at,
    deleted_at: null,
    added_by: 'alice',
    rule_id: null,
    annotation_state: 'unstarted',
    annotation_state_changed_at: null,
    annotator_user_id: null,
    own_annotation_state: 'unstarted',
    display_fields: ['inputs.question', 'output'],
    position_in_queue: 1,
    lease: null,
    review: { finished: 0, needed: 1, outcome: 'open', adjudicated_by: null },
  })
  await post('/calls/delete', { project_id: project, call_ids: [call.id] })
  assert.deepEqual(await itemsOf(post, queueId, { include_position: true }), [item])
  const answer = await add(post, queueId, [call.id])
  assert.deepEqual([answer.json.duplicates, answer.json.unknown], [1, 0])
})

test('queue items: a call may be in several queues', async () => {
  const { callIds } = await fillQueue(post, 1)
  const other = await createQueue(post)
  assert.equal((await add(post, other, callIds)).json.added_count, 1)
})

test('queue items: adds a thousand calls at once', async () => {
  const { queueId, callIds } = await fillQueue(post, 1000)
  const items = await itemsOf(post, queueId, { include_position: true })
  assert.deepEqual(
    items.map((item) => item.call_id),
    callIds,
  )
  assert.deepEqual(
    items.map((item) => item.position_in_queue),
    callIds.map((_, n) => n + 1),
  )
  const again = await add(post, queueId, callIds)
  assert.deepEqual([again.json.added_count, again.json.duplicates], [0, 1000])
})

test('queue items/query: refuses invalid requests, checking in a fixed order', async (t) => {
  const path = '/annotation_queues/q/items/query'
  await assertCommonRefusals(t, path, { project_id: project })
  const query = (body: object) => post(path, { project_id: project, ...body })
  for (const body of [
    { limit: -1 },
    { offset: 1.5 },
    { filter: { annotation_states: ['done'] } },
    { filter: { id: 5 } },
    { filter: [] },
    { include_position: 'yes' },
    { sort_by: [{ field: 'created_at' }] },
  ]) {
    const { status, json } = await query(body)
    assert.deepEqual([status, json.code], [422, 'invalid_request'], JSON.stringify(body))
  }
  assert.equal((await query({ project_id: 'globex/qa' })).status, 403)
  assert.deepEqual(whole(await query({ sort_by: [{ field: 'colour', direction: 'asc' }] })), {
    status: 422,
    body: {
      reason:
        'sort_by.0.field: there is no field "colour"; accepted: call_started_at, call_op_name, created_at, updated_at, position_in_queue.',
      code: 'unknown_field',
    },
  })
  assert.deepEqual(whole(await query({})), {
    status: 404,
    body: {
      reason: 'queue_id: there is no annotation queue "q" in project "acme/qa".',
      code: 'annotation_queue_not_found',
    },
  })
})

test('queue items/query: an empty queue has no items', async () => {
  const queueId = await createQueue(post)
  const answer = await post(`/annotation_queues/${queueId}/items/query`, { project_id: project })
  assert.equal(answer.text, '{"items":[]}')
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
})

const sort = (field: string, direction = 'asc') => ({ sort_by: [{ field, direction }] })
const where = (filter: object) => ({ filter })

/** Five items: alice finished `a` and `b` and began `c`; root was last to change `b`, and skipped `d`. */
async function fiveItems(post: TestApp['post']) {
  const ops = ['ask', 'ask', 'judge', 'judge', 'answer']
  const batch = ops.map((op_name, n) =>
    completeOf({ op_name, started_at: `2026-01-0${((n * 2) % 5) + 1}T00:00:00Z` }),
  )
  await post('/v2/acme/qa/calls/complete', { batch })
  const queueId = await createQueue(post)
  const callIds = batch.map(({ id }) => id)
  await add(post, queueId, callIds.slice(0, 3))
  await post(
    `/annotation_queues/${queueId}/items`,
    { project_id: project, call_ids: callIds.slice(3) },
    keys.root,
  )
  const items = await itemsOf(post, queueId)
  const id = (name: string) => items['abcde'.indexOf(name)]?.id as string
  await setItemState(post, queueId, id('a'), 'completed')
  await setItemState(post, queueId, id('b'), 'skipped')
  await setItemState(post, queueId, id('b'), 'in_progress', keys.root)
  await setItemState(post, queueId, id('c'), 'in_progress')
  await setItemState(post, queueId, id('d'), 'skipped', keys.root)
  const names = (found: Record<string, unknown>[]) =>
    found.map((item) => 'abcde'[callIds.indexOf(String(item.call_id))]).join('')
  return { queueId, id, callIds, names }
}

for (const [body, expected] of [
  [{}, 'abcde'],
  [{ filter: null, sort_by: null, limit: null, offset: null, include_position: null }, 'abcde'],
  [where({}), 'abcde'],
  [where({ call_op_name: 'judge' }), 'cd'],
  [where({ call_op_name: 'nothing' }), ''],
  [where({ added_by: 'root' }), 'de'],
  [where({ added_by: 'root', call_op_name: 'judge' }), 'd'],
  [where({ annotation_states: ['unstarted'] }), 'e'],
  [where({ annotation_states: ['in_progress'] }), 'bc'],
  [where({ annotation_states: ['completed', 'skipped'] }), 'ad'],
  [where({ annotation_states: [] }), 'abcde'],
  [where({ own_annotation_states: ['unstarted'] }), 'de'],
  [where({ own_annotation_states: ['skipped'] }), 'b'],
  [where({ own_annotation_states: ['unstarted', 'in_progress'] }), 'cde'],
  [where({ own_annotation_states: ['skipped'], annotation_states: ['skipped'] }), ''],
  [sort('call_started_at'), 'adbec'],
  [sort('call_started_at', 'desc'), 'cebda'],
  [sort('call_op_name'), 'eabcd'],
  [sort('call_op_name', 'desc'), 'cdabe'],
  [sort('position_in_queue', 'desc'), 'edcba'],
  [{ limit: 2 }, 'ab'],
  [{ limit: 0 }, ''],
  [{ limit: 2, offset: 1 }, 'bc'],
  [{ offset: 4 }, 'e'],
  [{ offset: 5 }, ''],
  [{ ...where({ call_op_name: 'judge' }), ...sort('position_in_queue', 'desc'), limit: 1 }, 'd'],
] as [object, string][]) {
  test(`queue items/query: ${JSON.stringify(body)}`, async () => {
    const { queueId, names } = await fiveItems(post)
    assert.equal(names(await itemsOf(post, queueId, body)), expected)
  })
}

test('queue items/query: filters by id, by call and by trace', async () => {
  const { queueId, id, callIds, names } = await fiveItems(post)
  const found = async (filter: object) => names(await itemsOf(post, queueId, { filter }))
  assert.equal(await found({ id: id('d') }), 'd')
  assert.equal(await found({ call_id: callIds[1] }), 'b')
  assert.equal(await found({ call_trace_id: callIds[4] }), 'e')
  assert.equal(await found({ call_id: callIds[1], id: id('d') }), '')
})

test('queue items/query: positions are those in the whole queue, regardless of the filter', async () => {
  const { queueId } = await fiveItems(post)
  const positions = async (include_position: boolean | null) =>
    (await itemsOf(post, queueId, { filter: { call_op_name: 'judge' }, include_position })).map(
      (item) => item.position_in_queue,
    )
  assert.deepEqual(await positions(true), [3, 4])
  assert.deepEqual(await positions(false), [null, null])
  assert.deepEqual(await positions(null), [null, null])
})

test('queue items/query: everyone sees the latest state and their own state', async () => {
  const { queueId } = await fiveItems(post)
  const seen = async (key: string) =>
    (await itemsOf(post, queueId, {}, key)).map((item) => [
      item.annotation_state,
      item.annotator_user_id,
      item.own_annotation_state,
      (item.lease as { user: string } | null)?.user,
    ])
  assert.deepEqual(await seen(keys.alice), [
    ['completed', 'alice', 'completed', undefined],
    ['in_progress', 'root', 'skipped', 'root'],
    ['in_progress', 'alice', 'in_progress', 'alice'],
    ['skipped', 'root', 'unstarted', undefined],
    ['unstarted', null, 'unstarted', undefined],
  ])
  assert.deepEqual(await seen(keys.root), [
    ['completed', 'alice', 'unstarted', undefined],
    ['in_progress', 'root', 'in_progress', 'root'],
    ['in_progress', 'alice', 'unstarted', 'alice'],
    ['skipped', 'root', 'skipped', undefined],
    ['unstarted', null, 'unstarted', undefined],
  ])
})
