import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { recordsOf } from '../../support/answers.ts'
import { openApp } from '../../support/app.ts'
import { completeOf, project } from '../../support/calls.ts'

const { post } = await openApp({ after })
const id = (index: number) => String(index).padStart(16, '0')
const trace = (index: number) => String(index).padStart(32, '0')

/** A root, a call below it and one below that; `failed` is the number of the call that failed. */
const traceOf = (first: number, failed?: number, more: object = {}) =>
  [0, 1, 2].map((depth) =>
    completeOf({
      id: id(first + depth),
      trace_id: trace(first),
      parent_id: depth === 0 ? null : id(first + depth - 1),
      exception: depth === failed ? 'Error: no' : null,
      summary: {},
      ...(depth === 0 && more),
    }),
  )
const batch = [...traceOf(10), ...traceOf(20, 2), ...traceOf(30, 0), ...traceOf(40, 1)]
const written = await post(`/v2/${project}/calls/complete`, { batch })
assert.equal(written.status, 200, written.text)

const statusIs = (value: string) => ({
  $expr: { $eq: [{ $getField: 'summary.weave.status' }, { $literal: value }] },
})
const statusOf = async (call: string, read: object = {}) => {
  const { json } = await post('/call/read', { project_id: project, id: call, ...read })
  return (json.call as { summary: { weave: { status: string } } }).summary.weave.status
}
const found = async (status: string) =>
  recordsOf(
    await post('/calls/stream_query', {
      project_id: project,
      query: statusIs(status),
      sort_by: [{ field: 'id', direction: 'asc' }],
    }),
  ).map((call) => call.id)

test('a root shows that a call below it has failed, without counts from its client', async () => {
  assert.equal(await statusOf(id(10)), 'success')
  assert.equal(await statusOf(id(20)), 'descendant_error')
  assert.equal(await statusOf(id(21)), 'success')
  assert.equal(await statusOf(id(30)), 'error')
  assert.equal(await statusOf(id(40)), 'descendant_error')
})

test('queries, lists, facets and charts agree about it', async () => {
  assert.deepEqual(await found('descendant_error'), [id(20), id(40)])
  assert.deepEqual(await found('error'), [id(22), id(30), id(41)])
  const roots = { project_id: project, filter: { trace_roots_only: true } }
  const { json: list } = await post('/views/calls', {
    ...roots,
    sort_by: [{ field: 'id', direction: 'asc' }],
  })
  assert.deepEqual(
    (list.calls as { status: string }[]).map(({ status }) => status),
    ['success', 'descendant_error', 'error', 'descendant_error'],
  )
  const { json: facets } = await post('/views/facets', { ...roots, fields: ['status'] })
  assert.deepEqual((facets.facets as { values: object[] }[])[0]?.values, [
    { value: 'descendant_error', count: 2 },
    { value: 'error', count: 1 },
    { value: 'success', count: 1 },
  ])
  const { json: buckets } = await post('/views/buckets', {
    ...roots,
    after: '2020-01-01T00:00:00Z',
    before: '2030-01-01T00:00:00Z',
    step_seconds: 366 * 86_400,
    by: 'status',
  })
  assert.deepEqual((buckets.groups as { value: string }[])[0]?.value, 'descendant_error')
})

test('deleting the failed call ends it', async () => {
  await post('/calls/delete', { project_id: project, call_ids: [id(22)] })
  assert.equal(await statusOf(id(20)), 'success')
  assert.deepEqual(await found('descendant_error'), [id(40)])
})
