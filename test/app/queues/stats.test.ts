import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { createQueue, fillQueue, setItemState } from '../../support/queues.ts'

const path = '/annotation_queues/stats'

const none = (queue_id: string) => ({
  queue_id,
  total_items: 0,
  completed_items: 0,
  disagreed_items: 0,
  by_state: { unstarted: 0, in_progress: 0, completed: 0, skipped: 0 },
  by_user: [],
})

test('annotation_queues/stats: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, path, { project_id: project, queue_ids: [] })
  const { post } = await openApp(t)
  for (const queue_ids of [undefined, null, 'x', [5]]) {
    assert.equal((await post(path, { project_id: project, queue_ids })).status, 422)
  }
  assert.equal((await post(path, { project_id: 'globex/qa', queue_ids: [] })).status, 403)
  const many = Array.from({ length: 1001 }, (_, n) => String(n))
  assert.deepEqual(whole(await post(path, { project_id: project, queue_ids: many })), {
    status: 413,
    body: {
      reason: 'queue_ids: 1001 entries; at most 1000 are accepted in one request.',
      code: 'too_many_ids',
    },
  })
  const { json } = await post(path, { project_id: project, queue_ids: many.slice(1) })
  assert.equal(json.stats.length, 1000)
})

test('annotation_queues/stats: counts items by state and by annotator', async (t) => {
  const { post } = await openApp(t)
  const { queueId, itemIds } = await fillQueue(post, 5)
  const [a, b, c, d] = itemIds
  await setItemState(post, queueId, a, 'completed')
  await setItemState(post, queueId, b, 'skipped')
  await setItemState(post, queueId, c, 'in_progress')
  await setItemState(post, queueId, b, 'in_progress', keys.root)
  await setItemState(post, queueId, d, 'completed', keys.root)
  const empty = await createQueue(post)
  const elsewhere = await fillQueue(post, 1, { project_id: 'acme/other' })
  const theirs = await fillQueue(post, 1, { project_id: 'globex/qa', key: keys.bob })
  const queue_ids = [empty, queueId, 'nothing', elsewhere.queueId, theirs.queueId, queueId]
  assert.deepEqual(whole(await post(path, { project_id: project, queue_ids })), {
    status: 200,
    body: {
      stats: [
        none(empty),
        {
          queue_id: queueId,
          total_items: 5,
          // alice skipped `b`, but root has it in progress again.
          completed_items: 3,
          disagreed_items: 0,
          by_state: { unstarted: 1, in_progress: 2, completed: 2, skipped: 0 },
          by_user: [
            { user: 'alice', in_progress: 1, completed: 1, skipped: 1 },
            { user: 'root', in_progress: 1, completed: 1, skipped: 0 },
          ],
        },
        none('nothing'),
        none(elsewhere.queueId),
        none(theirs.queueId),
      ],
    },
  })
})

test('annotation_queues/stats: returns nothing when no queues are named', async (t) => {
  const { post } = await openApp(t)
  assert.deepEqual(whole(await post(path, { project_id: project, queue_ids: [] })), {
    status: 200,
    body: { stats: [] },
  })
})
