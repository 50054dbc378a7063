import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readCall } from '../../../src/storage/calls/calls.ts'
import type { Database } from '../../../src/storage/database.ts'
import {
  endPart,
  newProject,
  secondMicros,
  startedAt,
  startPart,
  visibleCalls,
} from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'

const later = startedAt + 100 * secondMicros

async function visibleIds(db: Database, project: string, now = later): Promise<string[]> {
  return (await visibleCalls(db, project, { now })).map((call) => call.id)
}

/** Writes calls by their parents, by default in one trace. */
async function writeTree(
  db: Database,
  project: string,
  parents: Record<string, string | null>,
  traces: Record<string, string> = {},
): Promise<void> {
  const calls = Object.entries(parents).map(([id, parent_id]) =>
    startPart(project, id, { parent_id, trace_id: traces[id] ?? 'trace' }),
  )
  await db.write('upsertCalls', calls)
}

export function deleting(open: Driver['open']): void {
  const remove = (db: Database, project_id: string, ids: string[]) =>
    db.write('deleteCalls', { project_id, ids, now: later })

  describe('deleting', () => {
    test('deletes descendants in the same trace, and counts those that were not named', async (t) => {
      const db = await open(t)
      const project = newProject()
      await writeTree(
        db,
        project,
        { root: null, child: 'root', grandchild: 'child', stranger: 'child', beside: null },
        { stranger: 'other trace' },
      )
      assert.deepEqual(await remove(db, project, ['root', 'child']), { descendants: 1, left: [] })
      assert.deepEqual(await visibleIds(db, project), ['beside', 'stranger'])
    })

    test('keeps the ancestors', async (t) => {
      const db = await open(t)
      const project = newProject()
      await writeTree(db, project, { root: null, child: 'root', grandchild: 'child' })
      assert.deepEqual(await remove(db, project, ['child']), { descendants: 1, left: [] })
      assert.deepEqual(await visibleIds(db, project), ['root'])
    })

    test('stays in its project', async (t) => {
      const db = await open(t)
      const [one, other] = [newProject(), newProject()]
      await writeTree(db, one, { root: null, child: 'root' })
      await writeTree(db, other, { root: null, child: 'root' })
      await remove(db, one, ['root'])
      assert.deepEqual(await visibleIds(db, one), [])
      assert.deepEqual(await visibleIds(db, other), ['child', 'root'])
    })

    test('terminates when calls are their own ancestors', async (t) => {
      const db = await open(t)
      const project = newProject()
      await writeTree(db, project, { a: 'c', b: 'a', c: 'b', self: 'self', free: null })
      assert.deepEqual(await remove(db, project, ['a', 'self']), { descendants: 2, left: [] })
      assert.deepEqual(await visibleIds(db, project), ['free'])
    })

    test('of missing or deleted calls does nothing', async (t) => {
      const db = await open(t)
      const project = newProject()
      await writeTree(db, project, { root: null, child: 'root' })
      assert.deepEqual(await remove(db, project, ['nobody']), { descendants: 0, left: [] })
      assert.deepEqual(await visibleIds(db, project), ['child', 'root'])
      assert.deepEqual(await remove(db, project, ['root']), { descendants: 1, left: [] })
      assert.deepEqual(await remove(db, project, ['root']), { descendants: 0, left: [] })
      assert.deepEqual(await remove(db, project, []), { descendants: 0, left: [] })
    })

    test('deletes many calls at once, and deep traces', async (t) => {
      const db = await open(t)
      const project = newProject()
      const chain = Array.from({ length: 300 }, (_, i): [string, string | null] => [
        `deep-${i}`,
        i === 0 ? null : `deep-${i - 1}`,
      ])
      const wide = Array.from({ length: 250 }, (_, i): [string, string | null] => [`wide-${i}`, null])
      await writeTree(db, project, Object.fromEntries([...chain, ...wide, ['last', null]]))
      const named = [...wide.map(([id]) => id), 'deep-0']
      assert.deepEqual(await remove(db, project, named), { descendants: 299, left: [] })
      assert.deepEqual(await visibleIds(db, project), ['last'])
    })

    test('late parts of a deleted call do not bring it back', async (t) => {
      const db = await open(t)
      const project = newProject()
      await writeTree(db, project, { root: null })
      await remove(db, project, ['root'])
      await db.write('upsertCalls', [endPart(project, 'root')])
      await db.write('upsertCalls', [startPart(project, 'root')])
      assert.deepEqual(await visibleIds(db, project), [])
      assert.equal(await readCall(db, project, 'root', false, later), undefined)
    })
  })
}
