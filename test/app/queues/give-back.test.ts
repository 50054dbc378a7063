import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp, type TestApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { annotatorFields, fillQueue, setItemState } from '../../support/queues.ts'

type What = 'release' | 'reopen'

const give = (
  post: TestApp['post'],
  what: What,
  queueId: string,
  itemId: string | undefined,
  key?: string,
  project_id: string = project,
) => post(`/annotation_queues/${queueId}/items/${itemId}/${what}`, { project_id }, key)

const next = async (post: TestApp['post'], queueId: string, key?: string) =>
  (await post(`/annotation_queues/${queueId}/next`, { project_id: project }, key)).json

for (const what of ['release', 'reopen'] as const) {
  test(`${what}: refuses invalid requests, checking in a fixed order`, async (t) => {
    await assertCommonRefusals(t, `/annotation_queues/q/items/i/${what}`, { project_id: project })
    const { post } = await openApp(t)
    const { queueId } = await fillQueue(post, 1)
    assert.equal((await give(post, what, queueId, 'i', keys.alice, 'globex/qa')).status, 403)
    assert.deepEqual(whole(await give(post, what, 'q', 'i')), {
      status: 404,
      body: {
        reason: 'queue_id: there is no annotation queue "q" in project "acme/qa".',
        code: 'annotation_queue_not_found',
      },
    })
    assert.deepEqual(whole(await give(post, what, queueId, 'i')), {
      status: 404,
      body: {
        reason: `item_id: there is no item "i" in annotation queue "${queueId}".`,
        code: 'queue_item_not_found',
      },
    })
  })
}

test('release: a released item is free for the next caller, and only its holder can release it', async (t) => {
  const { post } = await openApp(t)
  const { queueId, itemIds } = await fillQueue(post, 1)
  assert.equal((await next(post, queueId)).item.id, itemIds[0])
  const others = await give(post, 'release', queueId, itemIds[0], keys.root)
  assert.deepEqual(annotatorFields(others), ['unstarted', null, 'unstarted', 'alice'])
  assert.equal((await next(post, queueId, keys.root)).item, null)
  for (let again = 0; again < 2; again++) {
    const given = await give(post, 'release', queueId, itemIds[0])
    assert.deepEqual([given.status, ...annotatorFields(given)], [200, 'unstarted', null, 'unstarted', null])
  }
  assert.equal((await next(post, queueId, keys.root)).item.id, itemIds[0])
})

test('reopen: a completed or skipped item is in progress again, and is counted as such', async (t) => {
  const { post } = await openApp(t)
  const { queueId, itemIds } = await fillQueue(post, 2)
  await setItemState(post, queueId, itemIds[0], 'completed')
  await setItemState(post, queueId, itemIds[1], 'skipped')
  assert.equal((await next(post, queueId)).item, null)
  for (let again = 0; again < 2; again++) {
    const given = await give(post, 'reopen', queueId, itemIds[0])
    assert.deepEqual(
      [given.status, ...annotatorFields(given)],
      [200, 'in_progress', 'alice', 'in_progress', 'alice'],
    )
  }
  assert.equal((await next(post, queueId)).item.id, itemIds[0])
  const { json } = await post('/annotation_queues/stats', { project_id: project, queue_ids: [queueId] })
  assert.deepEqual(json.stats[0].by_state, { unstarted: 0, in_progress: 1, completed: 0, skipped: 1 })
  assert.equal(json.stats[0].completed_items, 1)
  assert.deepEqual(annotatorFields(await setItemState(post, queueId, itemIds[0], 'skipped')), [
    'skipped',
    'alice',
    'skipped',
    null,
  ])
  assert.equal((await next(post, queueId)).item, null)
})

test('reopen: changes nothing that another annotator has finished or leased', async (t) => {
  const { post } = await openApp(t)
  const { queueId, itemIds } = await fillQueue(post, 1)
  await setItemState(post, queueId, itemIds[0], 'completed', keys.root)
  const untouched = await give(post, 'reopen', queueId, itemIds[0])
  assert.deepEqual(annotatorFields(untouched), ['completed', 'root', 'unstarted', null])
  await setItemState(post, queueId, itemIds[0], 'completed')
  const two = { project_id: project, annotators: 3 }
  await post(`/annotation_queues/${queueId}/next`, two, keys.root)
  await give(post, 'reopen', queueId, itemIds[0], keys.root)
  const reopened = await give(post, 'reopen', queueId, itemIds[0])
  assert.deepEqual(annotatorFields(reopened), ['in_progress', 'alice', 'in_progress', 'root'])
})
