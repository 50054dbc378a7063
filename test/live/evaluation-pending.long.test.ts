import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Caller } from '../../src/domain/callers.ts'
import { startDeriving } from '../../src/operations/evaluations/behind-the-writes.ts'
import { queryResults } from '../../src/operations/evaluations/results.ts'
import { ResultsBody } from '../../src/operations/evaluations/results-contract.ts'
import type { Database } from '../../src/storage/database.ts'
import { readPending } from '../../src/storage/evaluations/pending.ts'
import { derivePending } from '../../src/storage/evaluations/results.ts'
import type { Sql } from '../../src/storage/sql/sql.ts'
import { boundTo } from '../../src/storage/transaction.ts'
import { newProject, startPart, wholePart } from '../support/call-parts.ts'
import { allDrivers } from '../support/drivers.ts'
import { until } from '../support/wait.ts'

const caller: Caller = { name: 'alice', role: 'member', entities: new Set(['acme']) }
const op_name = 'Evaluation.predict_and_score'

function trial(project: string, n: number) {
  const inputs = JSON.stringify({ example: { n } })
  const output = JSON.stringify({ output: n, scores: { judge: n / 4 } })
  return wholePart(project, `t${n}`, { parent_id: 'e1', op_name, inputs }, { output })
}

const trials = (project: string, from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => trial(project, from + n))

async function resultsOf(db: Database, project: string) {
  const body = ResultsBody.parse({ evaluation_call_ids: ['e1'], limit: 1, include_summary: true })
  const { others } = await queryResults(boundTo(db, new AbortController().signal), caller, project, body)
  return [others.total_rows, others.summary?.evaluations[0]?.trial_count]
}

const changed = 'Trials changed while the answer was read: rows, total_rows and summary may differ by them.'

/** A record in which a trial arrives after each of so many long reads. */
function growing(db: Database, project: string, from: number, count: number): Database {
  const last = from + count
  let next = from
  return {
    ...db,
    async *stream<T>(...[query, options]: Parameters<Database['stream']>) {
      yield* db.stream<T>(query, options)
      if (next === last) return
      await db.write('upsertCalls', [trial(project, next++)])
      await derivePending(boundTo(db, options.signal), project, Date.now() * 1000)
    },
  }
}

/** How many trials the parts of an answer tell of. */
async function countsOf(db: Database, project: string, sort_by?: unknown) {
  const body = ResultsBody.parse({ evaluation_call_ids: ['e1'], include_summary: true, sort_by })
  const answer = await queryResults(boundTo(db, new AbortController().signal), caller, project, body)
  const { total_rows, summary, warnings } = answer.others
  let rows = 0
  for await (const _ of answer.rows) rows++
  return { counts: [total_rows, summary?.row_count, summary?.evaluations[0]?.trial_count, rows], warnings }
}

for (const driver of allDrivers()) {
  describe(`results that are pending on ${driver.name}`, () => {
    before(driver.start)
    after(driver.stop)

    test('are derived for a query, including the last write', async () => {
      const db = await driver.shared()
      const project = newProject()
      for (let from = 0; from < 300; from += 50) {
        await db.write('upsertCalls', trials(project, from, from + 50))
        assert.deepEqual(await resultsOf(db, project), [from + 50, from + 50])
        assert.deepEqual(await readPending(db, project, 1), [])
      }
      await db.write('deleteCalls', { project_id: project, ids: ['t7'], now: Date.now() * 1000 })
      assert.deepEqual(await resultsOf(db, project), [299, 299])
      // A trial becomes a call of another op.
      await db.write('upsertCalls', [startPart(project, 't8', { parent_id: 'e1', op_name: 'other' })])
      assert.deepEqual(await resultsOf(db, project), [298, 298])
    })

    test('are never so many that the first query waits long', async () => {
      const db = await driver.shared()
      const project = newProject()
      let most = 0
      for (let from = 0; from < 7000; from += 500) {
        await db.write('upsertCalls', trials(project, from, from + 500))
        most = Math.max(most, (await readPending(db, project, null)).length)
      }
      assert.equal(most, 400)
      assert.deepEqual(await resultsOf(db, project), [7000, 7000])
    })

    for (const sort_by of [undefined, [{ field: 'scores.judge' }]]) {
      test(`are of one moment in all parts of an answer, ${sort_by ? 'sorted' : 'unsorted'}`, async () => {
        const db = await driver.shared()
        const project = newProject()
        await db.write('upsertCalls', trials(project, 0, 20))
        const once = await countsOf(growing(db, project, 20, 1), project, sort_by)
        assert.deepEqual(once, { counts: [21, 21, 21, 21], warnings: [] })
        const always = await countsOf(growing(db, project, 21, 1000), project, sort_by)
        assert.deepEqual(always.warnings, [changed])
      })
    }

    test('are sorted by scores of a shape that arrives while the shapes are read', async () => {
      const db = await driver.shared()
      const project = newProject()
      await db.write('upsertCalls', trials(project, 0, 5))
      let times = 0
      const changing: Database = {
        ...db,
        async all<T>(query: Sql) {
          const rows = await db.all<T>(query)
          if (query.text.includes('FROM eval_shapes') && times++ === 0) {
            const output = JSON.stringify({ output: 0, scores: { first: 1, judge: 9 } })
            const inputs = JSON.stringify({ example: { n: 5 } })
            const part = wholePart(project, 't5', { parent_id: 'e1', op_name, inputs }, { output })
            await db.write('upsertCalls', [part])
            await derivePending(boundTo(db, new AbortController().signal), project, Date.now() * 1000)
          }
          return rows
        },
      }
      const sort_by = [{ field: 'scores.judge', direction: 'desc' }]
      const body = ResultsBody.parse({ evaluation_call_ids: ['e1'], sort_by })
      const answer = await queryResults(
        boundTo(changing, new AbortController().signal),
        caller,
        project,
        body,
      )
      const rows = await Array.fromAsync(answer.rows)
      assert.deepEqual([rows.length, answer.others.warnings], [6, []])
      assert.match(rows[0] ?? '', /"t5"/)
      assert.ok(times > 0)
    })

    test('warn of trials that arrive while a long answer is sent', async () => {
      const db = await driver.shared()
      const project = newProject()
      await db.write('upsertCalls', trials(project, 0, 120))
      const body = ResultsBody.parse({ evaluation_call_ids: ['e1'] })
      const { signal } = new AbortController()
      const { rows, others } = await queryResults(boundTo(db, signal), caller, project, body)
      assert.deepEqual(others.warnings, [])
      let read = 0
      for await (const _ of rows) {
        if (read++ > 0) continue
        await db.write('upsertCalls', [trial(project, 120)])
        await derivePending(boundTo(db, signal), project, Date.now() * 1000)
      }
      assert.deepEqual(others.warnings, [changed])
    })

    test('are derived in the background without a query', async (t) => {
      const db = await driver.open(t)
      const project = newProject()
      const deriving = startDeriving(db, (error) => assert.fail(error as Error))
      t.after(() => deriving.stop())
      await db.write('upsertCalls', trials(project, 0, 200))
      await until('nothing is pending', async () => (await readPending(db, project, 1)).length === 0)
      await deriving.stop()
      assert.deepEqual(await resultsOf(db, project), [200, 200])
    })
  })
}
