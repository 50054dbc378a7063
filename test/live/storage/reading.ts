import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type CallStats, countCalls, readCall } from '../../../src/storage/calls/calls.ts'
import type { Database } from '../../../src/storage/database.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import {
  newProject,
  startedAt,
  startPart,
  storedRows,
  streamOfCalls,
  visibleCalls,
  wholePart,
} from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'

const never = new AbortController().signal

/** Writes calls; returns their ids in the order of their starts. */
async function writeMany(db: Database, project: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, i) => `call-${String(i).padStart(5, '0')}`)
  await db.write(
    'upsertCalls',
    ids.map((id, i) => startPart(project, id, { started_at: startedAt + i })),
  )
  return ids
}

export function reading(open: Driver['open']): void {
  describe('reading', () => {
    test('one call, with the size of its trace if it is the root', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('upsertCalls', [
        wholePart(project, 'root', { start_bytes: 10 }, { end_bytes: 5 }),
        wholePart(
          project,
          'child',
          { trace_id: 'root', parent_id: 'root', start_bytes: 100 },
          { end_bytes: 1 },
        ),
        wholePart(project, 'gone', { trace_id: 'root', parent_id: 'root', start_bytes: 1_000 }),
        wholePart(project, 'other', { start_bytes: 10_000 }),
      ])
      await db.write('deleteCalls', { project_id: project, ids: ['gone'], now: startedAt })
      const sizes = async (id: string, total: boolean) => {
        const row = await readCall(db, project, id, total, startedAt)
        return [row?.storage_size, row?.total_storage_size]
      }
      assert.deepEqual(await sizes('root', true), [15, 116])
      assert.deepEqual(await sizes('root', false), [15, null])
      assert.deepEqual(await sizes('child', true), [101, null])
      const [first] = await visibleCalls(db, project, { totalStorageSize: true, limit: 1, offset: 3 - 1 })
      assert.deepEqual([first?.id, first?.total_storage_size], ['root', 116])
    })

    test('nothing for a call of another project or a missing call', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('upsertCalls', [startPart(project, 'mine')])
      assert.equal(await readCall(db, newProject(), 'mine', false, startedAt), undefined)
      assert.equal(await readCall(db, project, 'nobody', false, startedAt), undefined)
      assert.equal(await db.get(sql`SELECT id FROM calls WHERE id = ${'nobody'}`), undefined)
    })

    test('columns that are not requested are null', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('upsertCalls', [
        wholePart(project, 'one', { inputs: '{"a":1}' }, { summary: '{"b":2}' }),
      ])
      const [row] = await visibleCalls(db, project)
      assert.deepEqual(
        [row?.inputs, row?.output, row?.attributes, row?.summary],
        ['{"a":1}', '{}', null, null],
      )
    })

    test('pages of any size are complete and do not overlap', async (t) => {
      const db = await open(t)
      const project = newProject()
      const ids = await writeMany(db, project, 45)
      for (const limit of [1, 7, 45, 100]) {
        const found: string[] = []
        for (let offset = 0; ; offset += limit) {
          const page = await visibleCalls(db, project, { limit, offset })
          assert.ok(page.length <= limit)
          if (page.length === 0) break
          found.push(...page.map((row) => row.id))
        }
        assert.deepEqual(found, ids, `limit ${limit}`)
      }
      const rest = await visibleCalls(db, project, { limit: null, offset: 40 })
      assert.deepEqual(
        rest.map((row) => row.id),
        ids.slice(40),
      )
      assert.deepEqual(await visibleCalls(db, project, { limit: 5, offset: 45 }), [])
    })

    test('counts are those of the page', async (t) => {
      const db = await open(t)
      const project = newProject()
      await writeMany(db, project, 20)
      const count = async (limit: number | null) => {
        const query = { projectId: project, conditions: [], order: [], limit, offset: 0 }
        const answers: CallStats[] = []
        for await (const rows of db.stream<CallStats>(countCalls(db, query, startedAt), { signal: never }))
          answers.push(...rows.map((row) => ({ ...row })))
        return answers
      }
      assert.deepEqual(await count(null), [{ count: 20, bytes: 80 }])
      assert.deepEqual(await count(6), [{ count: 6, bytes: 24 }])
    })

    test('numbers and texts are read exactly', async (t) => {
      const db = await open(t)
      const project = newProject()
      const inputs = '{"big":9007199254740993,"one":1.0,"s":"\\u0000 \\ud800 ½ 🐟 \'\\""}'
      await db.write('upsertCalls', [
        startPart(project, 'far', {
          inputs,
          started_at: 9_007_199_254_740_991,
          run_step: 9_007_199_254_740_991,
        }),
      ])
      const [row] = await storedRows(db, project)
      assert.equal(row?.inputs, inputs)
      assert.equal(row?.started_at, 9_007_199_254_740_991)
      assert.equal(row?.run_step, 9_007_199_254_740_991)
    })
  })

  describe('streams', () => {
    test('return every row once, in chunks of the requested size', async (t) => {
      const db = await open(t)
      const project = newProject()
      const ids = await writeMany(db, project, 450)
      for (const rows of [1, 100, 1000]) {
        const found: string[] = []
        for await (const chunk of streamOfCalls(db, project, { rows })) {
          assert.ok(chunk.length > 0 && chunk.length <= rows)
          found.push(...chunk.map((row) => row.id))
        }
        assert.deepEqual(found, ids)
      }
    })

    test('show the record as it was at their start', async (t) => {
      const db = await open(t)
      const project = newProject()
      const ids = await writeMany(db, project, 30)
      const found: string[] = []
      for await (const chunk of streamOfCalls(db, project, { rows: 10 })) {
        found.push(...chunk.map((row) => row.id))
        await db.write('upsertCalls', [
          startPart(project, `late-${found.length}`, { started_at: startedAt + 100 }),
        ])
        await db.write('deleteCalls', { project_id: project, ids: [ids.at(-1) as string], now: startedAt })
      }
      assert.deepEqual(found, ids)
      assert.equal((await visibleCalls(db, project)).length, 30 - 1 + 3)
    })

    test('release everything when their reader stops early', async (t) => {
      const db = await open(t)
      const project = newProject()
      await writeMany(db, project, 50)
      for (let time = 0; time < 10; time++) {
        for await (const chunk of streamOfCalls(db, project, { rows: 1 })) {
          assert.equal(chunk.length, 1)
          break
        }
      }
      assert.equal((await visibleCalls(db, project)).length, 50)
    })

    test('end when their signal aborts', async (t) => {
      const db = await open(t)
      const project = newProject()
      await writeMany(db, project, 50)
      for (let time = 0; time < 10; time++) {
        const controller = new AbortController()
        const reason = new Error('enough')
        await assert.rejects(async () => {
          for await (const chunk of streamOfCalls(db, project, { rows: 1, signal: controller.signal })) {
            assert.equal(chunk.length, 1)
            controller.abort(reason)
          }
        }, reason)
      }
      await assert.rejects(
        visibleCalls(db, project, { signal: AbortSignal.abort(new Error('before')) }),
        /before/,
      )
      assert.equal((await visibleCalls(db, project)).length, 50)
    })

    test('are all served, even if there are more than readers', async (t) => {
      const db = await open(t)
      const project = newProject()
      await writeMany(db, project, 50)
      const all = await Promise.all(Array.from({ length: 24 }, () => visibleCalls(db, project, { rows: 7 })))
      assert.ok(all.every((rows) => rows.length === 50))
    })

    test('report why they fail', async (t) => {
      const db = await open(t)
      const stream = db.stream(sql`SELECT id FROM nowhere`, { signal: never })
      await assert.rejects(async () => {
        for await (const _ of stream);
      }, /nowhere/)
    })
  })
}
