import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { basic, keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { aboutCall, allFeedback, createSpec, feedbackOf } from '../../support/feedback.ts'
import { createQueue } from '../../support/queues.ts'

const taken = {
  status: 409,
  body: {
    reason: 'id: the feedback "mine" already exists in project "acme/qa", with different content.',
    code: 'feedback_conflict',
  },
}

test('feedback/create: the same content under the same id is the same record', async (t) => {
  const { post } = await openApp(t)
  const body = feedbackOf({ id: 'mine', creator: 'Alice', payload: { n: 1.5, list: [{ a: 1, b: 2 }] } })
  const first = await post('/feedback/create', body)
  assert.equal(first.status, 200)
  const again = await post('/feedback/create', body)
  assert.deepEqual([again.status, again.text], [200, first.text])
  // The same value in another notation is the same value, and is kept as first written.
  const text = JSON.stringify({ ...body, payload: '@' })
  for (const payload of [
    '{"list":[{"b":2,"a":1}],"n":1.5}',
    '{ "n" : 1.50, "l\\u0069st" : [ { "a" : 1, "b" : 2 } ] }',
  ]) {
    const otherwise = await post('/feedback/create', text.replace('"@"', payload))
    assert.deepEqual([otherwise.status, otherwise.text], [200, first.text])
  }
  assert.equal((await allFeedback(post)).length, 1)
})

test('feedback/create: the same reaction again is the same record', async (t) => {
  const { post } = await openApp(t)
  const body = feedbackOf({ id: 'mine', feedback_type: 'wandb.reaction.1', payload: { emoji: '👍' } })
  const first = await post('/feedback/create', body)
  const again = await post('/feedback/create', { ...body, payload: first.json.payload })
  assert.deepEqual([again.status, again.text], [200, first.text])
})

test('feedback/create: different content under an existing id is refused', async (t) => {
  const { post } = await openApp(t)
  const queue_id = await createQueue(post)
  const body = feedbackOf({ id: 'mine', payload: { n: 1.0 } })
  await post('/feedback/create', body)
  for (const other of [
    { payload: { n: 2 } },
    { payload: { n: 1, m: 1 } },
    { payload: {} },
    { creator: 'Alice' },
    { svc_ref: `${aboutCall}0` },
    { feedback_type: 'thumb' },
    { queue_id },
    { feedback_type: 'wandb.runnable.x', runnable_ref: 'a:///b/c/object/x:y', payload: { output: 1 } },
  ]) {
    assert.deepEqual(whole(await post('/feedback/create', { ...body, ...other })), taken)
  }
  // 1.0 and 1 are different numbers.
  const text = JSON.stringify({ ...body, payload: '@' }).replace('"@"', '{"n":1.0}')
  assert.deepEqual(whole(await post('/feedback/create', text)), taken)
  assert.deepEqual(whole(await post('/feedback/create', { ...body, payload: { n: 2 } }, keys.root)), taken)
  const [stored, ...others] = await allFeedback(post)
  assert.deepEqual([stored?.payload, stored?.svc_user_id, others], [{ n: 1 }, 'alice', []])
})

test('feedback/create: the same content of another user is refused, and that user is named', async (t) => {
  const { post } = await openApp(t)
  const body = feedbackOf({ id: 'mine', payload: { n: 1.0 } })
  await post('/feedback/create', body)
  assert.deepEqual(whole(await post('/feedback/create', body, keys.root)), {
    status: 409,
    body: {
      reason: 'id: the same feedback "mine" already exists in project "acme/qa", from the user "alice".',
      code: 'feedback_of_other_user',
    },
  })
  // Without access to the entity the answer is the same whether the feedback exists or not.
  const foreign = await post('/feedback/create', body, keys.bob)
  const absent = await post('/feedback/create', { ...body, id: 'other' }, keys.bob)
  assert.deepEqual([foreign.status, foreign.text], [403, absent.text])
  assert.deepEqual(
    (await allFeedback(post)).map(({ svc_user_id }) => svc_user_id),
    ['alice'],
  )
})

test('feedback/create: repeating feedback works after its queue or its annotation spec was deleted', async (t) => {
  const { app, post } = await openApp(t)
  const queue_id = await createQueue(post)
  const annotation_ref = await createSpec(post, 'tone', { type: 'string' })
  const body = feedbackOf({
    id: 'mine',
    queue_id,
    feedback_type: 'wandb.annotation.tone',
    annotation_ref,
    payload: { value: 'kind' },
  })
  const first = await post('/feedback/create', body)
  assert.equal(first.status, 200)
  const url = `/annotation_queues/${queue_id}?project_id=${encodeURIComponent(project)}`
  const headers = { authorization: basic(keys.alice) }
  assert.equal((await app.inject({ method: 'DELETE', url, headers })).statusCode, 200)
  const again = () => post('/feedback/create', body)
  assert.deepEqual(whole(await again()), whole(first))
  assert.equal((await post('/obj/delete', { project_id: project, object_id: 'tone' })).status, 200)
  assert.deepEqual(whole(await again()), whole(first))
  const batch = await post('/feedback/batch/create', { batch: [body] })
  assert.deepEqual(batch.json, { res: [first.json] })
  // Different content conflicts, and new feedback needs the queue and the spec that it names.
  const other = await post('/feedback/create', { ...body, payload: { value: 'rude' } })
  assert.deepEqual(whole(other), taken)
  for (const [url, fields] of [
    ['/feedback/create', { id: 'new' }],
    ['/feedback/create', { queue_id: 'other' }],
    ['/feedback/replace', { feedback_id: 'mine', payload: { value: 5 } }],
  ] as const)
    assert.notEqual((await post(url, { ...body, ...fields })).status, 200)
  assert.equal((await allFeedback(post)).length, 1)
})

test('feedback/create: numbers that a double cannot distinguish are different content', async (t) => {
  const { post } = await openApp(t)
  const given = (id: string, number: string) =>
    JSON.stringify(feedbackOf({ id, payload: '@' })).replace('"@"', `{"n":${number}}`)
  for (const [n, [first, other, same]] of [
    ['1e400', '1e500', '10.0E+399'],
    ['-1e400', '1e400', '-0.1e401'],
    ['0.1', '0.10000000000000000001', '0.100'],
    ['9007199254740993.0', '9007199254740992.0', '9007199254740993.00'],
    ['1e-400', '0.0', '0.01e-398'],
    ['1e99999999999999999999', '1e99999999999999999998', '1e99999999999999999999'],
  ].entries()) {
    const id = `n${n}`
    const answer = await post('/feedback/create', given(id, first as string))
    assert.equal(answer.status, 200)
    assert.equal((await post('/feedback/create', given(id, other as string))).status, 409, other)
    const again = await post('/feedback/create', given(id, same as string))
    assert.deepEqual([again.status, again.text], [200, answer.text], same)
  }
})

test('feedback/create: of two requests for the same id at once one gets it', async (t) => {
  const { post } = await openApp(t)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      post('/feedback/create', feedbackOf({ id: 'mine', payload: { n } })),
    ),
  )
  const [winner, ...others] = answers.filter(({ status }) => status === 200)
  assert.deepEqual(others, [])
  for (const answer of answers) if (answer !== winner) assert.deepEqual(whole(answer), taken)
  assert.deepEqual(
    (await allFeedback(post)).map(({ payload }) => payload),
    [winner?.json.payload],
  )
})

test('feedback/create: equal requests at once all return the one record', async (t) => {
  const { post } = await openApp(t)
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => post('/feedback/create', feedbackOf({ id: 'mine' }))),
  )
  assert.deepEqual(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size, 1)
  assert.equal(answers[0]?.status, 200)
  assert.equal((await allFeedback(post)).length, 1)
})
