import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../support/app.ts'

test('a query with a field that nobody knows is refused by its name: the answer would be a wrong one', async (t) => {
  const { post } = await openApp(t)
  const project_id = 'acme/qa'
  for (const [url, body] of [
    ['/calls/stream_query', { project_id }],
    ['/calls/query_stats', { project_id }],
    ['/calls/export', { project_id }],
    ['/feedback/query', { project_id }],
    ['/objs/query', { project_id }],
    ['/table/query', { project_id, digest: 'x' }],
    ['/annotation_queues/query', { project_id }],
    ['/cost/query', { project_id }],
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
