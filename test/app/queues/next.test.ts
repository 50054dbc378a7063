import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp, type TestApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { annotatorFields, createQueue, fillQueue, setItemState } from '../../support/queues.ts'

const minute = 60_000_000

const next = (post: TestApp['post'], queueId: string, key?: string, fields: object = {}) =>
  post(`/annotation_queues/${queueId}/next`, { project_id: project, ...fields }, key)

/** The position of the returned item, and how many items others have leased. */
async function taken(post: TestApp['post'], queueId: string, key?: string, fields: object = {}) {
  const answer = await next(post, queueId, key, fields)
  assert.equal(answer.status, 200, answer.text)
  return [answer.json.item?.position_in_queue ?? null, answer.json.leased_items]
}

test('next: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/annotation_queues/q/next', { project_id: project })
  const { post } = await openApp(t)
  for (const [field, value, accepted] of [
    ['lease_seconds', 0, 'number to be >=1'],
    ['lease_seconds', 86_401, 'number to be <=86400'],
    ['lease_seconds', 1.5, 'int'],
    ['annotators', 0, 'number to be >=1'],
    ['annotators', 101, 'number to be <=100'],
  ] as const) {
    const { status, json } = await next(post, 'q', keys.alice, { [field]: value })
    assert.equal(status, 422)
    const start = `The body does not fit the schema: ${field}: expected ${accepted}, received `
    assert.ok(json.reason.startsWith(start), json.reason)
  }
  assert.equal((await next(post, 'q', keys.alice, { project_id: 'globex/qa' })).status, 403)
  assert.deepEqual(whole(await next(post, 'q')), {
    status: 404,
    body: {
      reason: 'queue_id: there is no annotation queue "q" in project "acme/qa".',
      code: 'annotation_queue_not_found',
    },
  })
})

test('next: returns the first open item, and everyone sees its lease', async (t) => {
  const { post } = await openApp(t)
  const { queueId, itemIds } = await fillQueue(post, 2)
  const before = Date.now()
  const answer = await next(post, queueId)
  assert.deepEqual([answer.status, answer.json.leased_items], [200, 0])
  const { item } = answer.json
  assert.deepEqual(
    [item.id, item.annotation_state, item.own_annotation_state, item.annotator_user_id],
    [itemIds[0], 'unstarted', 'unstarted', null],
  )
  assert.equal(item.lease.user, 'alice')
  const expires = Date.parse(item.lease.expires_at)
  assert.ok(expires >= before + 900_000 && expires <= Date.now() + 900_000)
  const { json } = await post(
    `/annotation_queues/${queueId}/items/query`,
    { project_id: project, include_position: true },
    keys.root,
  )
  assert.deepEqual(json.items[0], item)
  assert.equal(json.items[1].lease, null)
})

test('next: lease_seconds sets the length of the lease', async (t) => {
  const { post } = await openApp(t)
  const { queueId } = await fillQueue(post, 1)
  const before = Date.now()
  const { json } = await next(post, queueId, keys.alice, { lease_seconds: 86_400 })
  const expires = Date.parse(json.item.lease.expires_at)
  assert.ok(expires >= before + 86_400_000 && expires <= Date.now() + 86_400_000)
})

test('next: two reviewers work through a queue without getting the same item', async (t) => {
  const { post } = await openApp(t)
  const { queueId, itemIds } = await fillQueue(post, 3)
  assert.deepEqual(await taken(post, queueId), [1, 0])
  assert.deepEqual(await taken(post, queueId, keys.root), [2, 1])
  // Asking again returns the same item, so a lost answer costs nothing.
  assert.deepEqual(await taken(post, queueId), [1, 1])
  await setItemState(post, queueId, itemIds[0], 'completed')
  assert.deepEqual(await taken(post, queueId), [3, 1])
  await setItemState(post, queueId, itemIds[2], 'skipped')
  // The item leased by root is not finished, and the count of leased items shows it.
  assert.deepEqual(await taken(post, queueId), [null, 1])
  await setItemState(post, queueId, itemIds[1], 'completed', keys.root)
  assert.deepEqual(whole(await next(post, queueId)), { status: 200, body: { item: null, leased_items: 0 } })
  assert.deepEqual(await taken(post, queueId, keys.root), [null, 0])
})

test('next: an empty queue has no item', async (t) => {
  const { post } = await openApp(t)
  assert.deepEqual(await taken(post, await createQueue(post)), [null, 0])
})

test('next: an item whose lease has expired goes to another reviewer', async (t) => {
  const { post, database } = await openApp(t)
  const { queueId } = await fillQueue(post, 1)
  const key = { project_id: project, queue_id: queueId, annotators: 1 }
  const long = (Date.now() - 3_600_000) * 1000
  await database.write('takeNextItem', { ...key, annotator: 'root', now: long, lease: 59 * minute })
  const { json } = await post(`/annotation_queues/${queueId}/items/query`, { project_id: project })
  assert.equal(json.items[0].lease, null)
  assert.deepEqual(await taken(post, queueId), [1, 0])
  assert.deepEqual(await taken(post, queueId, keys.root), [null, 1])
})

test('next: an item that the reviewer has begun comes first, even after its lease has expired', async (t) => {
  const { post, database } = await openApp(t)
  const { queueId, itemIds } = await fillQueue(post, 3)
  const key = { project_id: project, queue_id: queueId, item_id: itemIds[2] as string }
  const long = (Date.now() - 3_600_000) * 1000
  await database.write('setProgress', {
    ...key,
    annotator: 'alice',
    state: 'in_progress',
    now: long,
    lease: 1,
  })
  assert.deepEqual(await taken(post, queueId, keys.root), [1, 0])
  assert.deepEqual(await taken(post, queueId), [3, 1])
})

test('next: in_progress takes a lease and renews it', async (t) => {
  const { post } = await openApp(t)
  const { queueId, itemIds } = await fillQueue(post, 2)
  const begun = await setItemState(post, queueId, itemIds[0], 'in_progress')
  assert.deepEqual(annotatorFields(begun), ['in_progress', 'alice', 'in_progress', 'alice'])
  assert.deepEqual(await taken(post, queueId, keys.root), [2, 1])
  const short = await next(post, queueId, keys.alice, { lease_seconds: 1 })
  const renewed = await setItemState(post, queueId, itemIds[0], 'in_progress')
  const until = [renewed, short].map(({ json }) => Date.parse(json.item.lease.expires_at))
  assert.ok(Number(until[0]) > Number(until[1]))
  const long = await next(post, queueId, keys.alice, { lease_seconds: 86_400 })
  const kept = await setItemState(post, queueId, itemIds[0], 'in_progress')
  assert.deepEqual(kept.json.item.lease, long.json.item.lease)
})

test('next: a lease keeps no other reviewer from changing their own state, and stays with its holder', async (t) => {
  const { post } = await openApp(t)
  const { queueId, itemIds } = await fillQueue(post, 1)
  await next(post, queueId, keys.root)
  const said = async (state: string) => annotatorFields(await setItemState(post, queueId, itemIds[0], state))
  assert.deepEqual(await said('in_progress'), ['in_progress', 'alice', 'in_progress', 'root'])
  assert.deepEqual(await said('completed'), ['completed', 'alice', 'completed', 'root'])
  const last = annotatorFields(await setItemState(post, queueId, itemIds[0], 'completed', keys.root))
  assert.deepEqual(last, ['completed', 'root', 'completed', null])
})

test('next: with several annotators an item stays open until enough of them have finished it', async (t) => {
  const { post } = await openApp(t)
  const { queueId, itemIds } = await fillQueue(post, 2)
  const two = { annotators: 2 }
  await setItemState(post, queueId, itemIds[0], 'completed')
  // The item with fewer reviews comes first. A reviewer never gets an item again that they have finished.
  assert.deepEqual(await taken(post, queueId, keys.root, two), [2, 0])
  assert.deepEqual(await taken(post, queueId, keys.alice, two), [null, 1])
  await setItemState(post, queueId, itemIds[1], 'completed', keys.root)
  assert.deepEqual(await taken(post, queueId, keys.root), [null, 0])
  assert.deepEqual(await taken(post, queueId, keys.root, two), [1, 0])
  await setItemState(post, queueId, itemIds[0], 'skipped', keys.root)
  assert.deepEqual(await taken(post, queueId, keys.root, two), [null, 0])
  assert.deepEqual(await taken(post, queueId, keys.alice, two), [2, 0])
})

test('next: a reviewer can fetch ahead by excluding items', async (t) => {
  const { post } = await openApp(t)
  const { queueId, itemIds } = await fillQueue(post, 4)
  assert.deepEqual(await taken(post, queueId), [1, 0])
  assert.deepEqual(await taken(post, queueId, keys.alice, { except_item_ids: [itemIds[0]] }), [2, 0])
  // Both items are leased: another reviewer gets neither, and asking again renews the lease.
  assert.deepEqual(await taken(post, queueId, keys.root), [3, 2])
  assert.deepEqual(await taken(post, queueId, keys.alice, { except_item_ids: [itemIds[0]] }), [2, 1])
  assert.deepEqual(await taken(post, queueId, keys.alice, { except_item_ids: itemIds.slice(0, 2) }), [4, 1])
  assert.deepEqual(await taken(post, queueId, keys.alice, { except_item_ids: itemIds }), [null, 1])
  assert.deepEqual(await taken(post, queueId, keys.alice, { except_item_ids: null }), [1, 1])
})
