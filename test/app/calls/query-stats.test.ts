import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { completeOf, endOf, project, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { storeCalls } from '../../support/stored-calls.ts'

test('calls/query_stats: refusals in order', async (t) => {
  await assertCommonRefusals(t, '/calls/query_stats', { project_id: project })
  const { post } = await openApp(t)
  for (const [body, status, answer] of [
    [
      { limit: 0 },
      422,
      {
        reason: 'The body does not fit the schema: limit: expected number to be >=1, received 0.',
        code: 'invalid_request',
        detail: [{ loc: ['body', 'limit'], msg: 'expected number to be >=1, received 0', type: 'too_small' }],
      },
    ],
    [
      { project_id: 'globex/qa' },
      403,
      {
        reason: 'Your key has no access to the entity of project_id: "globex/qa".',
        code: 'entity_forbidden',
      },
    ],
    [
      {
        expand_columns: ['inputs.a'],
        query: { $expr: { $gt: [{ $getField: 'inputs.a.n' }, { $literal: 1 }] } },
      },
      400,
      {
        reason:
          'query: "inputs.a.n" is below "inputs.a" of expand_columns; accepted: fields of the calls themselves; values behind a reference are only returned, not filtered or sorted by.',
        code: 'invalid_value',
      },
    ],
    [
      { filter: { trace_ids: Array(1001).fill('a') } },
      400,
      { reason: 'filter.trace_ids: 1001 entries; accepted: at most 1000.', code: 'invalid_value' },
    ],
    [
      { query: { $expr: { $eq: [{ $getField: 'id' }] } } },
      422,
      {
        reason: 'query.$expr.$eq: has 1 operands; accepted: a list of exactly 2.',
        code: 'invalid_expression',
      },
    ],
  ] as [object, number, object][]) {
    assert.deepEqual(whole(await post('/calls/query_stats', { project_id: project, ...body })), {
      status,
      body: answer,
    })
  }
})

test('calls/query_stats: counts what can be seen', async (t) => {
  const { post } = await openApp(t)
  const stats = (body: object = {}) => post('/calls/query_stats', { project_id: project, ...body })
  const none = { count: 0, has_more: false, total_storage_size_bytes: null }
  assert.deepEqual(whole(await stats()), { status: 200, body: none })
  const calls = await storeCalls(post, {
    a: { thread_id: 'x' },
    b: {},
    c: { running: true },
    deleted: {},
    expired: { expire_at: '2026-01-03' },
  })
  await post('/calls/delete', { project_id: project, call_ids: [calls.id('deleted')] })
  await post('/call/end', { end: endOf(startOf().id) })
  await post('/call/start', { start: startOf({ project_id: 'acme/other' }) })
  await post('/call/start', { start: startOf({ project_id: 'globex/qa' }) }, keys.bob)
  assert.deepEqual(whole(await stats()), { status: 200, body: { ...none, count: 3 } })
  const query = { $expr: { $eq: [{ $getField: 'summary.weave.status' }, { $literal: 'running' }] } }
  assert.deepEqual((await stats({ query })).json, { ...none, count: 1 })
  assert.deepEqual((await stats({ filter: { thread_ids: ['x'] } })).json, { ...none, count: 1 })
  assert.deepEqual((await stats({ filter: { thread_ids: ['x'] }, query })).json, none)
  const here = { $expr: { $eq: [{ $getField: 'inputs.question' }, { $literal: 'capital of Chad' }] } }
  const expand_columns = ['inputs.question', 'output.model']
  assert.deepEqual((await stats({ query: here, expand_columns })).json, { ...none, count: 3 })
})

test('calls/query_stats: there is more when the count reaches the limit', async (t) => {
  const { post } = await openApp(t)
  await storeCalls(post, { a: {}, b: {}, c: {} })
  for (const [limit, count, has_more] of [
    [null, 3, false],
    [1, 1, true],
    [2, 2, true],
    [3, 3, true],
    [4, 3, false],
  ] as const) {
    const { json } = await post('/calls/query_stats', { project_id: project, limit })
    assert.deepEqual(json, { count, has_more, total_storage_size_bytes: null })
  }
})

test('calls/query_stats: the size is the sum over the calls that were counted', async (t) => {
  const { post } = await openApp(t)
  const sized = (n: number) =>
    completeOf({ attributes: {}, inputs: {}, output: 'x'.repeat(n), summary: {}, thread_id: String(n) })
  const batch = [sized(10), sized(100), sized(1000)]
  await post('/v2/acme/qa/calls/complete', { batch })
  const size = async (body: object) =>
    (
      await post('/calls/query_stats', {
        project_id: project,
        include_total_storage_size: true,
        ...body,
      })
    ).json.total_storage_size_bytes
  assert.equal(await size({}), 1110 + 3 * 8)
  assert.equal(await size({ filter: { thread_ids: ['10', '1000'] } }), 1010 + 2 * 8)
  assert.equal(await size({ filter: { thread_ids: [] } }), 0)
  assert.equal(await size({ include_total_storage_size: false }), null)
  assert.equal(await size({ include_total_storage_size: null }), null)
})
