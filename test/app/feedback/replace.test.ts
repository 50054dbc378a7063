import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { allFeedback, feedbackOf, giveFeedback } from '../../support/feedback.ts'

const url = '/feedback/replace'
const replacing = (fields: object = {}) => ({ ...feedbackOf(), feedback_id: 'old', ...fields })

test('feedback/replace: refuses invalid requests, checking in a fixed order, and keeps the old feedback', async (t) => {
  await assertCommonRefusals(t, url, replacing())
  const { post } = await openApp(t)
  await giveFeedback(post, { id: 'old' })
  await giveFeedback(post, { id: 'taken', payload: { n: 1 } })
  for (const [fields, status, code, start] of [
    [
      { feedback_id: null, project_id: 'globex/qa' },
      422,
      'invalid_request',
      'The body does not fit the schema: feedback_id: expected string, received null.',
    ],
    [{ wb_user_id: 'x' }, 422, 'invalid_request', 'The body does not fit the schema: wb_user_id: is set by'],
    [{ project_id: 'globex/qa', queue_id: 'x' }, 403, 'entity_forbidden', 'Your key has no access to'],
    [{ queue_id: 'x', id: 'taken' }, 400, 'invalid_value', 'queue_id: "x"; '],
    [
      { id: 'taken' },
      409,
      'feedback_conflict',
      'id: the feedback "taken" already exists in project "acme/qa"',
    ],
  ] as const) {
    const { status: got, json } = await post(url, replacing(fields))
    assert.deepEqual([got, json.code], [status, code])
    assert.ok(json.reason.startsWith(start), json.reason)
  }
  assert.deepEqual(
    (await allFeedback(post)).map(({ id }) => id),
    ['old', 'taken'],
  )
})

test('feedback/replace: the new feedback replaces the old one in a single step', async (t) => {
  const { post } = await openApp(t)
  await giveFeedback(post, { id: 'old' })
  await giveFeedback(post, { id: 'old', project_id: 'acme/other' })
  const { status, json } = await post(
    url,
    replacing({ weave_ref: 'x', svc_ref: undefined, payload: { n: 2 } }),
  )
  assert.deepEqual([status, json.svc_user_id, json.payload], [200, 'alice', { n: 2 }])
  assert.notEqual(json.id, 'old')
  const [stored, ...others] = await allFeedback(post)
  assert.deepEqual([stored?.id, stored?.svc_ref, others], [json.id, 'x', []])
  assert.equal((await allFeedback(post, 'acme/other')).length, 1)
})

test('feedback/replace: the new feedback may have any id, also the old one, and may be sent again', async (t) => {
  const { post } = await openApp(t)
  await giveFeedback(post, { id: 'old' })
  const same = await post(url, replacing({ id: 'old', payload: { n: 2 } }))
  assert.deepEqual([same.status, same.json.id, same.json.payload], [200, 'old', { n: 2 }])
  const renamed = await post(url, replacing({ id: 'new' }))
  assert.deepEqual(whole(await post(url, replacing({ id: 'new' }))), whole(renamed))
  const [stored, ...others] = await allFeedback(post)
  assert.deepEqual([stored?.id, others], ['new', []])
})

test('P6: feedback of another project is not replaced', async (t) => {
  const { post } = await openApp(t)
  await giveFeedback(post, { id: 'old', project_id: 'globex/qa' }, keys.bob)
  assert.equal((await post(url, replacing())).status, 200)
  assert.equal((await allFeedback(post, 'globex/qa', keys.bob)).length, 1)
})
