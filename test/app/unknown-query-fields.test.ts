import assert from 'node:assert/strict'
import { test } from 'node:test'
import { basic, keys, openApp } from '../support/app.ts'
import { completeOf, project } from '../support/calls.ts'
import { create } from '../support/objects.ts'

const project_id = project

test('a query with an unknown field is refused and the field named, because its answer would be wrong', async (t) => {
  const { post } = await openApp(t)
  for (const [url, body] of [
    ['/calls/stream_query', { project_id }],
    ['/calls/query_stats', { project_id }],
    ['/calls/export', { project_id }],
    ['/call/read', { project_id, id: 'x' }],
    ['/feedback/query', { project_id }],
    ['/objs/query', { project_id }],
    ['/obj/read', { project_id, object_id: 'x', digest: 'latest' }],
    ['/obj/delete', { project_id, object_id: 'x' }],
    ['/table/query', { project_id, digest: 'x' }],
    ['/annotation_queues/query', { project_id }],
    ['/annotation_queues/x/items/query', { project_id }],
    ['/cost/query', { project_id }],
    ['/monitors/query', { project_id }],
    ['/views/calls', { project_id }],
    ['/views/evaluations', { project_id }],
    ['/v2/acme/qa/eval_results/query', { evaluation_call_ids: ['x'] }],
  ] as const) {
    const { status, json } = await post(url, { ...body, filtr: { op_names: ['x'] } })
    assert.deepEqual([status, json.code], [422, 'invalid_request'], url)
    assert.deepEqual(json.detail, [
      { loc: ['body', 'filtr'], msg: 'unknown field', type: 'unrecognized_keys' },
    ])
    assert.notEqual((await post(url, body)).status, 422, url)
  }
})

test('an unknown field inside a filter or a sort is refused as well', async (t) => {
  const { post } = await openApp(t)
  const query = { $expr: { $eq: [{ $getField: 'row_digest' }, { $literal: 'x' }] } }
  const order = { field: 'created_at', direction: 'asc' }
  for (const [url, body, ...loc] of [
    ['/calls/stream_query', { filter: { call_id: ['x'] } }, 'filter', 'call_id'],
    ['/calls/query_stats', { filter: { op_name: 'x' } }, 'filter', 'op_name'],
    ['/calls/export', { filter: { op_name: 'x' } }, 'filter', 'op_name'],
    ['/calls/stream_query', { sort_by: [{ ...order, nulls: 'last' }] }, 'sort_by', 0, 'nulls'],
    ['/feedback/query', { sort_by: [order, { ...order, desc: true }] }, 'sort_by', 1, 'desc'],
    ['/objs/query', { filter: { object_id: 'x' } }, 'filter', 'object_id'],
    ['/table/query', { digest: 'x', filter: { row_digest: 'x' } }, 'filter', 'row_digest'],
    ['/annotation_queues/x/items/query', { filter: { state: 'completed' } }, 'filter', 'state'],
    ['/views/calls', { filter: { op_name: 'x' } }, 'filter', 'op_name'],
  ] as const) {
    const { status, json } = await post(url, { project_id, ...body })
    assert.equal(status, 422, url)
    assert.deepEqual(json.detail, [
      { loc: ['body', ...loc], msg: 'unknown field', type: 'unrecognized_keys' },
    ])
  }
  for (const [body, ...loc] of [
    [{ filters: [{ query, evaluation_id: 'x' }] }, 'filters', 0, 'evaluation_id'],
    [{ sort_by: [{ field: 'scores.x', order: 'desc' }] }, 'sort_by', 0, 'order'],
  ] as const) {
    const asked = { evaluation_call_ids: ['x'], ...body }
    const { status, json } = await post(`/v2/${project}/eval_results/query`, asked)
    assert.equal(status, 422)
    assert.deepEqual(json.detail, [
      { loc: ['body', ...loc], msg: 'unknown field', type: 'unrecognized_keys' },
    ])
  }
})

test('the names of Weave are accepted in a filter', async (t) => {
  const { post } = await openApp(t)
  const lines = async (body: object) => {
    const { text } = await post('/calls/stream_query', body)
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).id)
  }
  const call = completeOf({ svc_run_id: 'run' })
  assert.equal((await post('/v2/acme/qa/calls/complete', { batch: [call] })).status, 200)
  for (const filter of [
    { wb_user_ids: ['alice'], wb_run_ids: ['run'] },
    { wb_user_ids: ['alice'], svc_user_ids: ['alice'] },
    { wb_user_ids: null, wb_run_ids: null },
  ])
    assert.deepEqual(await lines({ project_id, filter }), [call.id])
  assert.deepEqual(await lines({ project_id, filter: { wb_run_ids: ['other'] } }), [])
  const both = { wb_user_ids: ['bob'], svc_user_ids: ['alice'] }
  const { status, json } = await post('/calls/stream_query', { project_id, filter: both })
  assert.equal(status, 422)
  assert.deepEqual(
    json.detail.map(({ loc }: { loc: unknown }) => loc),
    [['body', 'filter', 'wb_user_ids']],
  )
})

test('a delete that names its versions by an unknown field deletes nothing', async (t) => {
  const opened = await openApp(t)
  const digest = await create(opened, 'kept', { version: 1 })
  await create(opened, 'kept', { version: 2 })
  const { post, app } = opened
  const gone = await post('/obj/delete', { project_id, object_id: 'kept', digest })
  assert.deepEqual([gone.status, gone.json.detail[0].loc], [422, ['body', 'digest']])
  const answer = await app.inject({
    method: 'DELETE',
    url: `/v2/${project}/datasets/kept?digest=${digest}`,
    headers: { authorization: basic(keys.alice) },
  })
  assert.deepEqual([answer.statusCode, answer.json().detail[0].loc.at(-1)], [422, 'digest'])
  const { json } = await post('/objs/query', { project_id, filter: { object_ids: ['kept'] } })
  assert.equal(json.objs.length, 2)
})
