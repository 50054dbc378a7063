import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from '../../src/domain/callers.ts'
import { queryResults } from '../../src/operations/evaluations/results.ts'
import { ResultsBody } from '../../src/operations/evaluations/results-contract.ts'
import type { Database } from '../../src/storage/database.ts'
import { connect } from '../../src/storage/engines/sqlite/connection.ts'
import { openSqlite } from '../../src/storage/engines/sqlite/open.ts'
import { sqliteFile } from '../../src/storage/open.ts'
import { type Sql, sql } from '../../src/storage/sql/sql.ts'
import { boundTo } from '../../src/storage/transaction.ts'
import { wholePart } from '../support/call-parts.ts'
import { newFolder } from '../support/server.ts'

const project = 'acme/qa'
const caller: Caller = { name: 'alice', role: 'member', entities: new Set(['acme']) }

function trial(evaluation: string, n: number) {
  const inputs = JSON.stringify({ example: { n } })
  const output = JSON.stringify({ output: `answer ${n}`, scores: { judge: { score: n / 4 } } })
  const start = { parent_id: evaluation, op_name: 'Evaluation.predict_and_score', inputs }
  return wholePart(project, `${evaluation}-${n}`, start, { output })
}

/** Wraps the record, and notes the queries and the number of rows that they read. */
function watched(db: Database) {
  const queries: Sql[] = []
  let rows = 0
  const count = <T>(query: Sql, found: T[]): T[] => {
    queries.push(query)
    rows += found.length
    return found
  }
  const reader: Database = {
    ...db,
    all: async (query) => count(query, await db.all(query)),
    async get<T>(query: Sql) {
      const found = await db.get<T>(query)
      count(query, found === undefined ? [] : [found])
      return found
    },
    async *stream<T>(query: Sql, options: Parameters<Database['stream']>[1]) {
      queries.push(query)
      for await (const chunk of db.stream<T>(query, options)) {
        rows += chunk.length
        yield chunk
      }
    },
  }
  return { reader, queries, rows: () => rows }
}

test('P7: the cost of a page of evaluation results depends on the page, not on the size of the evaluation', async (t) => {
  const file = sqliteFile(await newFolder(t))
  const db = await openSqlite({ file })
  t.after(() => db.close())
  for (const [evaluation, size] of [
    ['small', 20],
    ['large', 4_000],
    ['other', 4_000],
  ] as const) {
    for (let from = 0; from < size; from += 500) {
      const parts = Array.from({ length: Math.min(500, size - from) }, (_, n) => trial(evaluation, from + n))
      await db.write('upsertCalls', parts)
    }
  }

  async function pageOf(evaluations: string[]) {
    const { reader, queries, rows: taken } = watched(db)
    const body = ResultsBody.parse({ evaluation_call_ids: evaluations, limit: 5 })
    const { rows, others } = await queryResults(
      boundTo(reader, new AbortController().signal),
      caller,
      project,
      body,
    )
    const page: string[] = []
    for await (const row of rows) page.push(row)
    return { page, total: others.total_rows, taken: taken(), queries }
  }

  // The first query derives pending results.
  await pageOf(['small'])
  const small = await pageOf(['small'])
  const large = await pageOf(['large'])
  assert.deepEqual([small.page.length, small.total], [5, 20])
  assert.deepEqual([large.page.length, large.total], [5, 4_000])
  assert.equal(large.taken, small.taken, 'a page of either reads the same number of rows')

  const two = await pageOf(['large', 'other'])
  assert.deepEqual([two.page.length, two.total], [5, 4_000])
  const connection = connect(file, 'read')
  t.after(() => connection.close())
  for (const query of [...large.queries, ...two.queries]) {
    const plan = connection.all<{ detail: string }>(sql`EXPLAIN QUERY PLAN ${query}`)
    for (const { detail } of plan) {
      // Only the page, or what the request itself names, may be sorted or scanned.
      assert.doesNotMatch(detail, /^SCAN (eval_trials|calls|trial)\b/, query.text)
    }
  }
})
