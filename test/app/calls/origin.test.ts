import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { recordsOf } from '../../support/answers.ts'
import { openApp } from '../../support/app.ts'
import { completeOf, project } from '../../support/calls.ts'

const { post } = await openApp({ after })
const id = (index: number) => String(index).padStart(16, '0')
const call = (index: number, op_name: string, parent: number | null, more: object = {}) =>
  completeOf({
    id: id(index),
    trace_id: id(index).repeat(2),
    parent_id: parent === null ? null : id(parent),
    op_name,
    ...more,
  })
const op = (name: string) => `weave:///${project}/op/${name}:abc`
const batch = [
  call(1, 'answer', null),
  call(2, 'search', 1),
  call(3, 'heddle.judge', null),
  call(4, op('Evaluation.evaluate'), null),
  call(5, op('Evaluation.predict_and_score'), 4, { inputs: { example: { n: 1 } }, output: { scores: {} } }),
  call(6, op('answer'), 5),
]
const written = await post(`/v2/${project}/calls/complete`, { batch })
assert.equal(written.status, 200, written.text)

const found = async (origin: string) =>
  recordsOf(
    await post('/calls/stream_query', {
      project_id: project,
      query: { $expr: { $eq: [{ $getField: 'origin' }, { $literal: origin }] } },
      sort_by: [{ field: 'id', direction: 'asc' }],
    }),
  ).map((one) => one.id)

test('calls of judges and evaluations are told from those of the application', async () => {
  assert.deepEqual(await found('app'), [id(1), id(2)])
  assert.deepEqual(await found('judge'), [id(3)])
  assert.deepEqual(await found('evaluation'), [id(4), id(5), id(6)])
})

test('they are counted apart', async () => {
  const { json } = await post('/views/facets', { project_id: project, fields: ['origin'] })
  assert.deepEqual(json.facets[0].values, [
    { value: 'evaluation', count: 3 },
    { value: 'app', count: 2 },
    { value: 'judge', count: 1 },
  ])
})
