import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Refusal } from '../../../src/domain/refusals.ts'
import { readCall } from '../../../src/storage/calls/calls.ts'
import { readPrices } from '../../../src/storage/prices.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { newProject, startedAt, startPart, storedRows, visibleCalls } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'
import { refusedWith } from '../../support/refusals.ts'
import { viewIn } from '../../support/views.ts'
import { priceOf } from './prices.ts'

export function writing(open: Driver['open']): void {
  describe('writes', () => {
    // More than one transaction of any engine, and fewer than may wait; the next test exceeds that.
    test('600 concurrent ones are each readable once they are acknowledged', async (t) => {
      const db = await open(t)
      const project = newProject()
      const ids = Array.from({ length: 600 }, (_, i) => `call-${String(i).padStart(5, '0')}`)
      const missing: string[] = []
      await Promise.all(
        ids.map(async (id) => {
          await db.write('upsertCalls', [startPart(project, id)])
          const row = await readCall(db, project, id, false, startedAt)
          if (row?.id !== id) missing.push(id)
        }),
      )
      assert.deepEqual(missing, [])
      assert.equal((await visibleCalls(db, project)).length, 600)
    })

    test('beyond the queue are refused, and only accepted ones are stored', async (t) => {
      const db = await open(t)
      const project = newProject()
      const ids = Array.from({ length: 12_000 }, (_, i) => `call-${String(i).padStart(5, '0')}`)
      const results = await Promise.allSettled(
        ids.map((id) => db.write('upsertCalls', [startPart(project, id)])),
      )
      const taken = ids.filter((_, i) => results[i]?.status === 'fulfilled')
      const refused = results.filter((result) => result.status === 'rejected')
      assert.ok(refused.length > 0 && taken.length > 0)
      for (const { reason } of refused) refusedWith('queue_full')(reason)
      const stored = await storedRows(db, project)
      assert.deepEqual(
        stored.map((row) => row.id),
        taken,
      )
    })

    test('one that fails leaves nothing, and its neighbours are stored completely', async (t) => {
      const db = await open(t)
      const project = newProject()
      const taken = priceOf(project, { id: 'taken' })
      await db.write('addPrices', [taken])
      // In one turn of the event loop, so that they share a transaction where the driver groups commits.
      const results = await Promise.allSettled([
        db.write('upsertCalls', [startPart(project, 'before')]),
        db.write('addPrices', [priceOf(project, { id: 'fresh' }), taken]),
        db.write('upsertCalls', [startPart(project, 'between')]),
        db.write('addKey', { id: 'k', hash: 'h', user: 'nobody', now: startedAt }),
        db.write('addPrices', [taken]),
        db.write('upsertCalls', [startPart(project, 'behind')]),
      ])
      assert.deepEqual(
        results.map((result) => result.status),
        ['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
      )
      assert.deepEqual(
        (await storedRows(db, project)).map((row) => row.id),
        ['before', 'behind', 'between'],
      )
      assert.deepEqual(
        (await readPrices(db, viewIn(project))).map((price) => price.id),
        ['taken'],
      )
    })

    test('one that fails alone does not affect the next one', async (t) => {
      const db = await open(t)
      const project = newProject()
      const price = priceOf(project)
      await db.write('addPrices', [price])
      await assert.rejects(db.write('addPrices', [priceOf(project), price]))
      await db.write('upsertCalls', [startPart(project, 'next')])
      assert.equal((await storedRows(db, project)).length, 1)
    })

    test('an unknown command is an error of the program and harms no other write', async (t) => {
      const db = await open(t)
      const project = newProject()
      const wrong = db.write('nothing' as 'probe', { at: 1 })
      const right = db.write('upsertCalls', [startPart(project, 'call')])
      await assert.rejects(wrong, (error) => !(error instanceof Refusal) && /nothing/.test(String(error)))
      await right
      assert.equal((await storedRows(db, project)).length, 1)
    })
  })

  describe('the probe', () => {
    test('writes and reads', async (t) => {
      const db = await open(t)
      await db.probe()
      await db.probe()
      const rows = await db.all<{ id: number; at: number }>(sql`SELECT id, at FROM heddle_probe`)
      assert.equal(rows.length, 1)
      assert.ok(Math.abs((rows[0]?.at ?? 0) / 1000 - Date.now()) < 600_000)
    })
  })
}
