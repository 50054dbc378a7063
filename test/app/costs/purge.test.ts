import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp, type TestApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { pricesOf } from '../../support/prices.ts'

const accepted =
  '{"$eq": [{"$getField": "id"}, {"$literal": "…"}]}, an $or of such, or $in with such an id and texts'
const isId = (id: unknown, field = 'id') => ({ $eq: [{ $getField: field }, { $literal: id }] })
const purge = (post: TestApp['post'], expression: unknown, project_id = project) =>
  post('/cost/purge', { project_id, query: { $expr: expression } })
const left = async (post: TestApp['post'], project_id = project, key = keys.alice) =>
  (await post('/cost/query', { project_id }, key)).json.results.map(
    ({ llm_id }: { llm_id: string }) => llm_id,
  )

test('cost/purge: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/cost/purge', { project_id: project, query: { $expr: isId('x') } })
  const { post } = await openApp(t)
  await post('/cost/create', pricesOf({ a: {}, b: {} }))
  assert.deepEqual(whole(await post('/cost/purge', { project_id: project })), {
    status: 422,
    body: {
      reason: 'The body does not fit the schema: query: expected an object, received nothing.',
      code: 'invalid_request',
      detail: [{ loc: ['body', 'query'], msg: 'expected an object, received nothing', type: 'custom' }],
    },
  })
  assert.deepEqual(whole(await purge(post, isId('x'), 'globex/qa')), {
    status: 403,
    body: {
      reason: 'Your key has no access to the entity of project_id: "globex/qa".',
      code: 'entity_forbidden',
    },
  })
  for (const [expression, why] of [
    [isId('a', 'llm_id'), 'this removes by id only'],
    [{ $gt: [{ $getField: 'id' }, { $literal: '' }] }, 'this removes by id only'],
    [{ $not: [isId('a')] }, 'this removes by id only'],
    [{ $and: [isId('a'), isId('b')] }, 'this removes by id only'],
    [{ $or: [isId('a'), isId('b', 'llm_id')] }, 'this removes by id only'],
    [{ $in: [{ $getField: 'llm_id' }, [{ $literal: 'a' }]] }, 'this removes by id only'],
    [{ $eq: [{ $literal: 'a' }, { $literal: 'a' }] }, 'this removes by id only'],
    [isId(5), 'only ids as text can be named'],
    [isId(null), 'only ids as text can be named'],
    [{ $eq: [{ $getField: 'id' }, { $getField: 'id' }] }, 'only ids as text can be named'],
    [
      { $in: [{ $getField: 'id' }, [{ $literal: 'a' }, { $literal: true }]] },
      'only ids as text can be named',
    ],
  ] as const) {
    assert.deepEqual(whole(await purge(post, expression)), {
      status: 400,
      body: { reason: `query: ${why}; accepted: ${accepted}.`, code: 'invalid_value' },
    })
  }
  assert.deepEqual(await left(post), ['a', 'b'])
})

test('cost/purge: deletes prices by id', async (t) => {
  const { post } = await openApp(t)
  const created = await post('/cost/create', pricesOf({ a: {}, b: {}, c: {}, d: {}, e: {}, f: {} }))
  const id = Object.fromEntries(created.json.ids.map(([id, model]: [string, string]) => [model, id]))
  const done = { status: 200, body: {} }
  assert.deepEqual(whole(await purge(post, isId(id.b))), done)
  assert.deepEqual(await left(post), ['a', 'c', 'd', 'e', 'f'])
  assert.deepEqual(whole(await purge(post, { $or: [isId(id.a), isId(id.d)] })), done)
  assert.deepEqual(await left(post), ['c', 'e', 'f'])
  const among = { $in: [{ $getField: 'id' }, [{ $literal: id.c }, { $literal: id.e }]] }
  assert.deepEqual(whole(await purge(post, { $or: [among] })), done)
  assert.deepEqual(await left(post), ['f'])
  assert.deepEqual(whole(await purge(post, isId(id.b))), done)
  assert.deepEqual(whole(await purge(post, isId('unknown'))), done)
  assert.deepEqual(await left(post), ['f'])
})

test('cost/purge: a price of another project, or of another tenant, is not deleted', async (t) => {
  const { post } = await openApp(t)
  const ids: string[] = []
  for (const [project_id, key] of [
    ['acme/other', keys.alice],
    ['globex/qa', keys.bob],
  ] as const) {
    const created = await post('/cost/create', pricesOf({ m: {} }, project_id), key)
    ids.push(created.json.ids[0][0])
  }
  const among = { $in: [{ $getField: 'id' }, ids.map((id) => ({ $literal: id }))] }
  assert.deepEqual(whole(await purge(post, among)), { status: 200, body: {} })
  assert.deepEqual(await left(post, 'acme/other'), ['m'])
  assert.deepEqual(await left(post, 'globex/qa', keys.bob), ['m'])
})
