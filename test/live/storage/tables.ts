import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Database } from '../../../src/storage/database.ts'
import {
  missingRows,
  type RowsView,
  readRowSizes,
  readRows,
  readTable,
  readTables,
  sizeOfTable,
  streamRowDigests,
  streamRows,
} from '../../../src/storage/objects/tables.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { newProject, startedAt } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'
import { collect, viewIn } from '../../support/views.ts'

const never = new AbortController().signal

async function keep(db: Database, project: string, digest: string, vals: string[]): Promise<void> {
  const rows = [...new Set(vals)].map((val) => ({ digest: `of ${val}`, val }))
  const order = vals.map((val) => `of ${val}`)
  await db.write('keepRows', { project_id: project, rows })
  for (const from of [0, 3]) {
    await db.write('keepEntries', {
      project_id: project,
      table_digest: digest,
      from,
      row_digests: from === 0 ? order.slice(0, 3) : order.slice(3),
    })
  }
  await db.write('keepTable', { project_id: project, digest, row_count: vals.length, now: startedAt })
}

const rowsOf = (db: Database, project: string, digest: string, fields: Partial<RowsView> = {}) =>
  collect(streamRows(boundTo(db, never), { ...viewIn(project), digest, rows: undefined, ...fields }))

export function tables(open: Driver['open']): void {
  describe('tables', () => {
    const vals = ['{"x":2}', '{"x":10}', '{"x":2}', '{}', '{"x":"é"}', '{"x":2}']

    test('keep order and duplicates', async (t) => {
      const db = await open(t)
      const project = newProject()
      await keep(db, project, 't', vals)
      await keep(db, project, 't', vals)
      const rows = await rowsOf(db, project, 't')
      assert.deepEqual(
        rows.map((row) => ({ ...row })),
        vals.map((val, original_index) => ({ original_index, digest: `of ${val}`, val })),
      )
      assert.deepEqual(
        await collect(streamRowDigests(boundTo(db, never), project, 't')),
        vals.map((val) => `of ${val}`),
      )
    })

    test('are read in pages, by row digests, and sorted by paths', async (t) => {
      const db = await open(t)
      const project = newProject()
      await keep(db, project, 't', vals)
      const places = async (fields: Partial<RowsView>) =>
        (await rowsOf(db, project, 't', fields)).map((row) => row.original_index)
      assert.deepEqual(await places({ limit: 2, offset: 3 }), [3, 4])
      assert.deepEqual(await places({ offset: 4 }), [4, 5])
      assert.deepEqual(await places({ rows: ['of {"x":2}'] }), [0, 2, 5])
      for (const [direction, expected] of [
        ['asc', [0, 2, 5, 1, 4, 3]],
        ['desc', [1, 0, 2, 5, 4, 3]],
      ] as const) {
        assert.deepEqual(await places({ sort: [{ field: 'x', direction }] }), expected)
      }
    })

    test('are not visible before they are complete, nor in another project', async (t) => {
      const db = await open(t)
      const [project, other] = [newProject(), newProject()]
      await db.write('keepRows', { project_id: project, rows: [{ digest: 'r', val: '{}' }] })
      await db.write('keepEntries', { project_id: project, table_digest: 't', from: 0, row_digests: ['r'] })
      assert.deepEqual(await rowsOf(db, project, 't'), [])
      assert.equal(await readTable(db, project, 't'), undefined)
      await db.write('keepTable', { project_id: project, digest: 't', row_count: 1, now: startedAt })
      assert.equal((await rowsOf(db, project, 't')).length, 1)
      assert.deepEqual(await rowsOf(db, other, 't'), [])
      assert.deepEqual(await readRows(db, other, ['r']), [])
      assert.deepEqual(await missingRows(db, other, ['r', 's']), ['r', 's'])
      assert.deepEqual(await missingRows(db, project, ['r', 's']), ['s'])
    })

    test('with the same rows can be written concurrently', async (t) => {
      const db = await open(t)
      const project = newProject()
      const many = Array.from({ length: 200 }, (_, n) => `{"n":${n}}`)
      await Promise.all(
        [many, many.toReversed(), many].map((each, n) => keep(db, project, n === 1 ? 'back' : 'forth', each)),
      )
      assert.deepEqual(
        (await readTables(db, project, ['forth', 'back', 'none']))
          .map((row) => ({ ...row }))
          .toSorted((a, b) => (a.digest < b.digest ? -1 : 1)),
        [
          { digest: 'back', count: 200 },
          { digest: 'forth', count: 200 },
        ],
      )
      const rows = await rowsOf(db, project, 'back')
      assert.deepEqual(
        rows.map((row) => row.val),
        many.toReversed(),
      )
    })

    test('have their sizes in bytes', async (t) => {
      const db = await open(t)
      const project = newProject()
      await keep(db, project, 't', vals)
      assert.equal(
        await sizeOfTable(boundTo(db, never), project, 't'),
        vals.reduce((bytes, val) => bytes + Buffer.byteLength(val), 0),
      )
      const sizes = await readRowSizes(db, project, ['of {"x":"é"}', 'of {}'])
      assert.deepEqual(sizes.map((row) => row.size).toSorted(), [10, 2])
    })
  })
}
