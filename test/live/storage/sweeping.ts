import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readCall } from '../../../src/storage/calls/calls.ts'
import type { Database } from '../../../src/storage/database.ts'
import { rawSql } from '../../../src/storage/sql/sql.ts'
import {
  endPart,
  newProject,
  secondMicros,
  startedAt,
  startPart,
  storedRows,
  visibleCalls,
  wholePart,
} from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'

const later = startedAt + 100 * secondMicros

async function visibleIds(db: Database, project: string, now = later): Promise<string[]> {
  return (await visibleCalls(db, project, { now })).map((call) => call.id)
}

export function sweeping(open: Driver['open']): void {
  const remove = (db: Database, project_id: string, ids: string[]) =>
    db.write('deleteCalls', { project_id, ids, now: later })

  describe('the sweep', () => {
    const sweep = (db: Database, now: number, { forgetBefore = 0, limit = 200, bytes = 1e9 } = {}) =>
      db.write('sweepCalls', { now, forgetBefore, limit, bytes })

    test('a call disappears the moment it expires, before any sweep', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('upsertCalls', [
        startPart(project, 'brief', { expire_at: later }),
        startPart(project, 'kept'),
      ])
      assert.deepEqual(await visibleIds(db, project, later - 1), ['brief', 'kept'])
      assert.deepEqual(await visibleIds(db, project, later), ['kept'])
      assert.ok(await readCall(db, project, 'brief', false, later - 1))
      assert.equal(await readCall(db, project, 'brief', false, later), undefined)
    })

    test('empties expired calls, then forgets them, and keeps the rest', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('upsertCalls', [
        wholePart(project, 'brief', { expire_at: later }, { exception: 'oh' }),
        wholePart(project, 'kept'),
        wholePart(project, 'long', { expire_at: later + 1 }),
      ])
      assert.equal(await sweep(db, later - 1), 0)
      assert.ok((await sweep(db, later)) > 0)
      const [brief, kept] = await storedRows(db, project)
      for (const column of ['attributes', 'inputs', 'output', 'summary', 'exception'])
        assert.equal(brief?.[column], null, column)
      assert.equal(Number(brief?.start_bytes) + Number(brief?.end_bytes), 0)
      assert.equal(brief?.deleted_at, later)
      assert.equal(kept?.inputs, '{}')
      assert.equal(await sweep(db, later), 0, 'there is nothing left to do')
      assert.equal(await sweep(db, later, { forgetBefore: later }), 0, 'it is still remembered')
      assert.equal(await sweep(db, later, { forgetBefore: later + 1 }), 1)
      assert.deepEqual(
        (await storedRows(db, project)).map((row) => row.id),
        ['kept', 'long'],
      )
    })

    test('a late part of an emptied call stays hidden and is emptied again', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('upsertCalls', [startPart(project, 'gone')])
      await remove(db, project, ['gone'])
      assert.equal(await sweep(db, later), 1)
      await db.write('upsertCalls', [endPart(project, 'gone', { output: '"late"' })])
      assert.deepEqual(await visibleIds(db, project), [])
      assert.equal(
        await sweep(db, later + 1, { forgetBefore: later + 1 }),
        1,
        'not forgotten yet, because a part came late',
      )
      const [row] = await storedRows(db, project)
      assert.equal(row?.output, null)
      assert.equal(row?.swept_at, later + 1)
      assert.equal(await sweep(db, later + 2, { forgetBefore: later + 2 }), 1)
      assert.deepEqual(await storedRows(db, project), [])
    })

    test('processes a few calls at a time', async (t) => {
      const db = await open(t)
      const project = newProject()
      const ids = Array.from({ length: 25 }, (_, i) => `call-${i}`)
      await db.write(
        'upsertCalls',
        ids.map((id) => wholePart(project, id, { expire_at: later })),
      )
      const emptied = async () =>
        (await storedRows(db, project)).filter((row) => row.swept_at !== null).length
      await sweep(db, later, { limit: 10 })
      assert.equal(await emptied(), 10)
      while ((await sweep(db, later, { limit: 10 })) > 0);
      assert.equal(await emptied(), 25)
    })

    test('processes fewer large calls at a time, but at least one', async (t) => {
      const db = await open(t)
      const project = newProject()
      const sizes = [300, 300, 300, 5_000, 300]
      await db.write(
        'upsertCalls',
        sizes.map((start_bytes, i) => startPart(project, `call-${i}`, { start_bytes, expire_at: later })),
      )
      const emptied: number[] = []
      while ((await sweep(db, later, { bytes: 500 })) > 0)
        emptied.push((await storedRows(db, project)).filter((row) => row.swept_at !== null).length)
      // A step ends with the row that reaches the bound.
      assert.deepEqual(emptied, [2, 4, 5])
    })

    test('releases space without blocking writes', async (t) => {
      const db = await open(t)
      const project = newProject()
      const inputs = `{"text":"${'x'.repeat(20_000)}"}`
      const ids = Array.from({ length: 100 }, (_, i) => `call-${i}`)
      await db.write(
        'upsertCalls',
        ids.map((id) => startPart(project, id, { inputs })),
      )
      await remove(db, project, ids)
      await sweep(db, later)
      let steps = 1
      while (await db.reclaim()) steps++
      // 2 MB need more than one step; PostgreSQL reclaims space by itself.
      if (db.dialect.engine === 'sqlite') {
        assert.ok(steps > 1, `${steps} steps`)
        assert.deepEqual(await db.get(rawSql('PRAGMA freelist_count')), { freelist_count: 0 })
      }
      await db.write('upsertCalls', [startPart(project, 'next')])
      assert.deepEqual(await visibleIds(db, project), ['next'])
    })
  })
}
