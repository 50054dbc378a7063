import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idsOf, whole } from '../../support/answers.ts'
import { openApp, type TestApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { createQueue, fillQueue } from '../../support/queues.ts'

const field = { $getField: 'annotation_queue_items.queue_id' }
const isIn = (queueId: string) => ({ $eq: [field, { $literal: queueId }] })

const found = async (post: TestApp['post'], expression: unknown) => {
  const answer = await post('/calls/stream_query', { project_id: project, query: { $expr: expression } })
  assert.equal(answer.status, 200, answer.text)
  return new Set(idsOf(answer))
}

test('calls are found by their queue', async (t) => {
  const { send, post } = await openApp(t)
  const one = await fillQueue(post, 2)
  const other = await fillQueue(post, 2)
  const [shared = '', alone = ''] = one.callIds
  await post(`/annotation_queues/${other.queueId}/items`, { project_id: project, call_ids: [shared] })
  assert.deepEqual(await found(post, isIn(one.queueId)), new Set(one.callIds))
  assert.deepEqual(
    await found(post, { $eq: [{ $literal: other.queueId }, field] }),
    new Set([...other.callIds, shared]),
  )
  assert.deepEqual(
    await found(post, { $and: [isIn(one.queueId), { $not: [isIn(other.queueId)] }] }),
    new Set([alone]),
  )
  assert.deepEqual(
    await found(post, { $or: [isIn(one.queueId), isIn(other.queueId)] }),
    new Set([...one.callIds, ...other.callIds]),
  )
  for (const nothing of ['nothing', await createQueue(post)]) {
    assert.deepEqual(await found(post, isIn(nothing)), new Set())
  }
  const { json } = await post('/calls/query_stats', {
    project_id: project,
    query: { $expr: isIn(other.queueId) },
  })
  assert.equal(json.count, 3)
  await send('DELETE', `/annotation_queues/${other.queueId}?project_id=${project}`)
  assert.deepEqual(await found(post, isIn(other.queueId)), new Set())
})

test('a queue of another project has no calls in this one', async (t) => {
  const { post } = await openApp(t)
  const elsewhere = await fillQueue(post, 1, { project_id: 'acme/other' })
  await fillQueue(post, 1)
  assert.deepEqual(await found(post, isIn(elsewhere.queueId)), new Set())
})

for (const expression of [
  { $gt: [field, { $literal: 'x' }] },
  { $eq: [field, { $literal: 5 }] },
  { $eq: [field, { $literal: null }] },
  { $in: [field, [{ $literal: 'x' }]] },
  { $contains: { input: field, substr: { $literal: 'x' } } },
  { $eq: [{ $eq: [field, { $literal: 'x' }] }, { $literal: true }] },
]) {
  test(`the queue of a call can only be compared with $eq, not: ${JSON.stringify(expression)}`, async (t) => {
    const { post } = await openApp(t)
    const answer = await post('/calls/stream_query', { project_id: project, query: { $expr: expression } })
    assert.deepEqual(whole(answer), {
      status: 422,
      body: {
        reason:
          'query: annotation_queue_items.queue_id is no value to compare or convert otherwise; accepted: {"$eq": [{"$getField": "annotation_queue_items.queue_id"}, {"$literal": "<queue id>"}]}.',
        code: 'invalid_expression',
      },
    })
  })
}
