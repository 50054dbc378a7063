import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from '../../../src/storage/sql/sql.ts'
import { newProject, startPart, streamOfCalls, visibleCalls } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'
import { refusedWith } from '../../support/refusals.ts'

export function closing(open: Driver['open']): void {
  describe('closing', () => {
    test('waits for running work and accepts nothing new', async (t) => {
      const db = await open(t)
      const project = newProject()
      const writes = Array.from({ length: 200 }, (_, i) =>
        db.write('upsertCalls', [startPart(project, `call-${i}`)]),
      )
      const closing = db.close()
      await assert.rejects(db.write('upsertCalls', [startPart(project, 'late')]), refusedWith('stopping'))
      await Promise.all(writes)
      await closing
      await db.close()
      await assert.rejects(db.write('probe', { at: 1 }), refusedWith('stopping'))
      await assert.rejects(db.get(sql`SELECT 1 AS one`), refusedWith('stopping'))
      await assert.rejects(db.all(sql`SELECT 1 AS one`), refusedWith('stopping'))
      await assert.rejects(visibleCalls(db, project), refusedWith('stopping'))
      await assert.rejects(db.probe(), refusedWith('stopping'))
    })

    test('ends running streams with an error', async (t) => {
      const db = await open(t)
      const project = newProject()
      const ids = Array.from({ length: 50 }, (_, i) => `call-${i}`)
      await db.write(
        'upsertCalls',
        ids.map((id) => startPart(project, id)),
      )
      const stream = streamOfCalls(db, project, { rows: 1 })[Symbol.asyncIterator]()
      await stream.next()
      const rest = async () => {
        while (!(await stream.next()).done);
      }
      const [closed, read] = await Promise.allSettled([db.close(), rest()])
      assert.equal(closed.status, 'fulfilled')
      if (read.status === 'rejected') refusedWith('stopping')(read.reason)
    })
  })
}
