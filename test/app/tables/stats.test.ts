import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { createTable } from '../../support/tables.ts'

test('table/query_stats: counts the rows of a table', async (t) => {
  await assertCommonRefusals(t, '/table/query_stats', { project_id: project, digest: 'x' })
  const opened = await openApp(t)
  const { digest } = await createTable(opened, [{}, {}, { x: 1 }])
  const stats = { project_id: project, digest }
  assert.deepEqual(whole(await opened.post('/table/query_stats', stats)), { status: 200, body: { count: 3 } })
  assert.deepEqual(whole(await opened.post('/table/query_stats', { ...stats, digest: 'none' })), {
    status: 404,
    body: { reason: `digest: there is no table "none" in project "${project}".`, code: 'table_not_found' },
  })
  const theirs = { project_id: 'globex/qa', digest }
  assert.equal((await opened.post('/table/query_stats', theirs)).status, 403)
  assert.equal((await opened.post('/table/query_stats', theirs, keys.bob)).status, 404)
})

test('table/query_stats_batch: counts the rows of several tables, in the order of the request', async (t) => {
  await assertCommonRefusals(t, '/table/query_stats_batch', { project_id: project, digests: [] })
  const opened = await openApp(t)
  const { post } = opened
  const some = await createTable(opened, [{ x: 'é' }, { x: 'é' }])
  const none = await createTable(opened, [])
  const batch = { project_id: project, digests: [none.digest, 'other', some.digest, none.digest] }
  assert.deepEqual(whole(await post('/table/query_stats_batch', batch)), {
    status: 200,
    body: {
      tables: [
        { digest: none.digest, count: 0, storage_size_bytes: null },
        { digest: some.digest, count: 2, storage_size_bytes: null },
      ],
    },
  })
  const sized = await post('/table/query_stats_batch', { ...batch, include_storage_size: true })
  assert.deepEqual(
    sized.json.tables.map((table: { storage_size_bytes: number }) => table.storage_size_bytes),
    [0, 20],
  )
  assert.equal(
    (await post('/table/query_stats_batch', { ...batch, digests: Array(1001).fill('x') })).status,
    422,
  )
})
