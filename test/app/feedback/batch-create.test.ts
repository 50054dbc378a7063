import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { allFeedback, createSpec, feedbackOf, giveFeedback } from '../../support/feedback.ts'

const url = '/feedback/batch/create'

test('feedback/batch/create: refusals in order, and nothing is stored', async (t) => {
  await assertCommonRefusals(t, url, { batch: [feedbackOf()] })
  const { post } = await openApp(t)
  await giveFeedback(post, { id: 'taken', payload: { first: true } })
  const good = feedbackOf({ id: 'good' })
  for (const [bad, status, code, reason] of [
    [
      feedbackOf({ payload: 5 }),
      422,
      'invalid_request',
      'The body does not fit the schema: batch.1.payload: expected an object, received 5.',
    ],
    [
      feedbackOf({ svc_user_id: 'x' }),
      422,
      'invalid_request',
      'The body does not fit the schema: batch.1.svc_user_id: is set by the server from the credentials; leave it out or send null, received "x".',
    ],
    [
      feedbackOf({ project_id: 'globex/qa' }),
      403,
      'entity_forbidden',
      'Your key has no access to the entity of batch.1.project_id: "globex/qa".',
    ],
    [
      feedbackOf({ feedback_type: 'wandb.note.1', payload: { note: '' } }),
      400,
      'invalid_payload',
      'batch.1.payload.note: ""; feedback of type "wandb.note.1" accepts a string of 1 to 1024 characters.',
    ],
    [
      feedbackOf({
        feedback_type: 'wandb.annotation.x',
        annotation_ref: 'weave:///acme/qa/object/x:y',
        payload: { value: 1 },
      }),
      404,
      'object_not_found',
      'batch.1.annotation_ref: there is no object "x" with version "y" in project "acme/qa".',
    ],
    [
      feedbackOf({ id: 'taken' }),
      409,
      'feedback_conflict',
      'batch.1.id: the feedback "taken" already exists in project "acme/qa", with different content.',
    ],
    [
      feedbackOf({ id: 'good', payload: { up: false } }),
      409,
      'feedback_conflict',
      'batch.1.id: the feedback "good" already exists in project "acme/qa", with different content.',
    ],
  ] as const) {
    const { status: got, json } = await post(url, { batch: [good, bad, feedbackOf()] })
    assert.deepEqual([got, json.code, json.reason], [status, code, reason])
  }
  assert.deepEqual(
    (await allFeedback(post)).map(({ id }) => id),
    ['taken'],
  )
})

test('feedback/batch/create: answers in the order of the batch', async (t) => {
  const { post } = await openApp(t)
  assert.deepEqual(whole(await post(url, { batch: [] })), { status: 200, body: { res: [] } })
  const batch = [
    feedbackOf({ id: 'z' }),
    feedbackOf({ feedback_type: 'wandb.reaction.1', payload: { emoji: '👍' } }),
    feedbackOf({ id: 'a', project_id: 'acme/other', payload: { n: 1 } }),
    feedbackOf({ id: 'z' }),
  ]
  const { status, json } = await post(url, { batch })
  assert.equal(status, 200)
  assert.deepEqual(
    json.res.map(({ id, payload, svc_user_id }: Record<string, unknown>) => [id, payload, svc_user_id]),
    [
      ['z', { up: true }, 'alice'],
      [
        json.res[1].id,
        { emoji: '👍', alias: ':thumbs_up:', detoned: '👍', detoned_alias: ':thumbs_up:' },
        'alice',
      ],
      ['a', { n: 1 }, 'alice'],
      ['z', { up: true }, 'alice'],
    ],
  )
  assert.deepEqual(json.res[3], json.res[0])
  assert.equal((await allFeedback(post)).length, 2)
  assert.equal((await allFeedback(post, 'acme/other')).length, 1)
  const again = await post(url, { batch: [batch[3], batch[2]] })
  assert.deepEqual(again.json.res, [json.res[0], json.res[2]])
})

test('feedback/batch/create: one of many annotations does not fit', async (t) => {
  const { post } = await openApp(t)
  const annotation_ref = await createSpec(post, 'quality', { maximum: 5 })
  const annotations = (values: number[]) =>
    values.map((value) =>
      feedbackOf({ feedback_type: 'wandb.annotation.quality', annotation_ref, payload: { value } }),
    )
  const { status, json } = await post(url, { batch: annotations([1, 2, 3, 6, 7]) })
  assert.deepEqual([status, json.code], [400, 'annotation_mismatch'])
  assert.ok(json.reason.startsWith('batch.3.payload.value: 6; '), json.reason)
  assert.equal((await post(url, { batch: annotations([1, 2, 3, 4, 5]) })).status, 200)
  assert.deepEqual(
    (await allFeedback(post)).map(({ payload }) => (payload as { value: number }).value).sort(),
    [1, 2, 3, 4, 5],
  )
})

test('feedback/batch/create: a thousand, and again', async (t) => {
  const { post } = await openApp(t)
  const batch = Array.from({ length: 1000 }, (_, n) => feedbackOf({ id: `f${n}`, payload: { n } }))
  const first = await post(url, { batch })
  assert.equal(first.status, 200)
  const again = await post(url, { batch: batch.toReversed() })
  assert.deepEqual(again.json.res.toReversed(), first.json.res)
  const { json } = await post('/feedback/query', { project_id: 'acme/qa', fields: ['count(*)'] })
  assert.deepEqual(json, { result: [{ 'count(*)': 1000 }], total_count: 1000 })
})

test('feedback/batch/create: of two batches that overlap at once one is stored', async (t) => {
  const { post } = await openApp(t)
  const batchOf = (key: string, ids: string[]) =>
    post(url, { batch: ids.map((id) => feedbackOf({ id })) }, key)
  const answers = await Promise.all([
    batchOf(keys.alice, ['a', 'b', 'c', 'x']),
    batchOf(keys.root, ['y', 'c', 'b', 'a']),
  ])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409])
  const winner = answers[0]?.status === 200 ? ['alice', 'abcx'] : ['root', 'abcy']
  const stored = await allFeedback(post)
  assert.deepEqual([...new Set(stored.map(({ svc_user_id }) => svc_user_id))], [winner[0]])
  assert.equal(
    stored
      .map(({ id }) => id)
      .sort()
      .join(''),
    winner[1],
  )
})

test('feedback/batch/create: a batch has a bound', async (t) => {
  const { post } = await openApp(t)
  const batch = Array(10_001).fill(feedbackOf())
  assert.deepEqual(whole(await post(url, { batch })), {
    status: 413,
    body: {
      reason: 'batch: 10001 entries; at most 10000 are accepted in one request.',
      code: 'too_many_ids',
    },
  })
  assert.deepEqual(await allFeedback(post), [])
  const taken = await post(url, { batch: batch.slice(1) })
  assert.equal(taken.json.res.length, 10_000)
})
