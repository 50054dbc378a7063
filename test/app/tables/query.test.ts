import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { createTable, rowsOf } from '../../support/tables.ts'

/** Shared by all tests; each uses data of its own. */
const opened = await openApp({ after })
const { post } = opened

test('table/query: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/table/query', { project_id: project, digest: 'x' })
  const sorted = (field: string) => ({
    project_id: project,
    digest: 'x',
    sort_by: [{ field, direction: 'asc' }],
  })
  for (const field of ['.a', 'a.', 'a..b', '.', '1.2.3.4.5', Array(33).fill('a').join('.')]) {
    const { status, json } = await post('/table/query', sorted(field))
    assert.deepEqual([status, json.code], [400, 'invalid_value'], field)
    const given = JSON.stringify(field).slice(0, 40)
    assert.ok(json.reason.startsWith(`sort_by.0.field: ${given}`), json.reason)
    assert.match(json.reason, / has .*; accepted: (a path such as a\.b|at most \d+)\.$/)
  }
  assert.equal((await post('/table/query', sorted(''))).status, 422)
  const theirs = { project_id: 'globex/qa', digest: 'x' }
  assert.equal((await post('/table/query', theirs)).status, 403)
})

test('table/query: returns rows with digest and index, and none for an unknown table', async () => {
  const { digest, row_digests } = await createTable(opened, [{ x: 2 }, { x: 1 }, { x: 2 }])
  const query = { project_id: project, digest }
  const answer = await opened.post('/table/query', query)
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  assert.deepEqual(whole(answer), {
    status: 200,
    body: {
      rows: [
        { digest: row_digests[0], val: { x: 2 }, original_index: 0 },
        { digest: row_digests[1], val: { x: 1 }, original_index: 1 },
        { digest: row_digests[2], val: { x: 2 }, original_index: 2 },
      ],
    },
  })
  assert.deepEqual(whole(await opened.post('/table/query', { ...query, digest: 'none' })).body, { rows: [] })
  const theirs = { project_id: 'globex/qa', digest }
  assert.deepEqual(whole(await opened.post('/table/query', theirs, keys.bob)).body, { rows: [] })
})

test('table/query: filters rows by digest, and returns pages', async () => {
  const rows = [{ x: 2 }, { x: 1 }, { x: 2 }, { x: 3 }]
  const { digest, row_digests } = await createTable(opened, rows)
  const filter = { row_digests: [row_digests[0], row_digests[3], 'none'] }
  assert.deepEqual(await rowsOf(opened, digest, { filter }), [{ x: 2 }, { x: 2 }, { x: 3 }])
  assert.deepEqual(await rowsOf(opened, digest, { filter: { row_digests: [] } }), [])
  assert.deepEqual(await rowsOf(opened, digest, { filter: {} }), rows)
  assert.deepEqual(await rowsOf(opened, digest, { limit: 2, offset: 1 }), rows.slice(1, 3))
  assert.deepEqual(await rowsOf(opened, digest, { offset: 3 }), rows.slice(3))
  assert.deepEqual(await rowsOf(opened, digest, { limit: 0 }), [])
  assert.deepEqual(await rowsOf(opened, digest, { limit: null, offset: null }), rows)
})

test('table/query: sorts by paths, numbers before text and missing values last', async () => {
  const values = [10, 'b', 9, undefined, 'a', null, 1.5]
  const { digest } = await createTable(
    opened,
    values.map((v, n) => ({ n, 'a.b': { v } })),
  )
  const sorted = async (direction: string) =>
    (await rowsOf(opened, digest, { sort_by: [{ field: 'a\\.b.v', direction }] })).map(
      (row) => (row as { n: number }).n,
    )
  assert.deepEqual(await sorted('asc'), [6, 2, 0, 4, 1, 3, 5])
  assert.deepEqual(await sorted('desc'), [0, 2, 6, 1, 4, 3, 5])
  const several = [
    { field: 'a\\.b.nothing', direction: 'asc' },
    { field: 'n', direction: 'desc' },
  ]
  assert.deepEqual(
    (await rowsOf(opened, digest, { sort_by: several })).map((row) => (row as { n: number }).n),
    [6, 5, 4, 3, 2, 1, 0],
  )
})

test('table/query: returns all rows when the request sets no limit', async () => {
  const rows = Array.from({ length: 3000 }, (_, n) => ({ n, text: 'x'.repeat(n % 100) }))
  const { digest } = await createTable(opened, rows)
  assert.deepEqual(await rowsOf(opened, digest), rows)
})
