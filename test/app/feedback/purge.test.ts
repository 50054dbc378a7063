import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp, type TestApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { allFeedback, giveFeedback } from '../../support/feedback.ts'

const isId = (value: unknown, field = 'id') => ({ $eq: [{ $getField: field }, { $literal: value }] })
const purge = (post: TestApp['post'], expression: unknown, project_id = project) =>
  post('/feedback/purge', { project_id, query: { $expr: expression } })
const left = async (post: TestApp['post'], project_id = project, key = keys.alice) =>
  (await allFeedback(post, project_id, key)).map(({ id }) => id)

const accepted =
  '{"$eq": [{"$getField": "id"}, {"$literal": "…"}]}, an $or of such, or $in with such an id and texts'

test('feedback/purge: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/feedback/purge', { project_id: project, query: { $expr: isId('x') } })
  const { post } = await openApp(t)
  await giveFeedback(post, { id: 'a' })
  assert.deepEqual(whole(await purge(post, isId('x', 'creator'), 'globex/qa')), {
    status: 403,
    body: {
      reason: 'Your key has no access to the entity of project_id: "globex/qa".',
      code: 'entity_forbidden',
    },
  })
  for (const [expression, why] of [
    [isId('alice', 'svc_user_id'), 'this removes by id only'],
    [{ $gt: [{ $getField: 'id' }, { $literal: '' }] }, 'this removes by id only'],
    [{ $not: [isId('x')] }, 'this removes by id only'],
    [{ $and: [isId('a'), isId('a')] }, 'this removes by id only'],
    [{ $or: [isId('a'), isId('x', 'creator')] }, 'this removes by id only'],
    [isId(5), 'only ids as text can be named'],
  ] as const) {
    assert.deepEqual(whole(await purge(post, expression)), {
      status: 400,
      body: { reason: `query: ${why}; accepted: ${accepted}.`, code: 'invalid_value' },
    })
  }
  assert.deepEqual(await left(post), ['a'])
})

test('feedback/purge: deletes feedback by id, and ignores unknown ids', async (t) => {
  const { post } = await openApp(t)
  for (const id of 'abcdef') await giveFeedback(post, { id })
  const done = { status: 200, body: {} }
  assert.deepEqual(whole(await purge(post, isId('b'))), done)
  assert.deepEqual(whole(await purge(post, { $or: [isId('a'), isId('d'), isId('x')] })), done)
  assert.deepEqual(await left(post), ['c', 'e', 'f'])
  const among = { $in: [{ $getField: 'id' }, [{ $literal: 'c' }, { $literal: 'f' }]] }
  assert.deepEqual(whole(await purge(post, among)), done)
  assert.deepEqual(whole(await purge(post, isId('b'))), done)
  assert.deepEqual(await left(post), ['e'])
  // The id can be used again.
  await giveFeedback(post, { id: 'b', payload: { other: true } })
  assert.deepEqual(await left(post), ['e', 'b'])
})

test('P6: feedback of another project, or of another tenant, is not deleted', async (t) => {
  const { post } = await openApp(t)
  await giveFeedback(post, { id: 'a', project_id: 'acme/other' })
  await giveFeedback(post, { id: 'a', project_id: 'globex/qa' }, keys.bob)
  assert.deepEqual(whole(await purge(post, isId('a'))), { status: 200, body: {} })
  assert.deepEqual(await left(post, 'acme/other'), ['a'])
  assert.deepEqual(await left(post, 'globex/qa', keys.bob), ['a'])
})
