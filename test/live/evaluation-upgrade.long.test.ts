import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from '../../src/domain/callers.ts'
import { queryResults } from '../../src/operations/evaluations/results.ts'
import { ResultsBody } from '../../src/operations/evaluations/results-contract.ts'
import { loadMigrations } from '../../src/storage/engines/migrations.ts'
import { connect } from '../../src/storage/engines/sqlite/connection.ts'
import { migrateSqlite } from '../../src/storage/engines/sqlite/migrate.ts'
import { openSqlite } from '../../src/storage/engines/sqlite/open.ts'
import { sqliteFile } from '../../src/storage/open.ts'
import { sql } from '../../src/storage/sql/sql.ts'
import { boundTo } from '../../src/storage/transaction.ts'
import { startedAt } from '../support/call-parts.ts'
import { newFolder } from '../support/server.ts'

const project = 'acme/qa'
const caller: Caller = { name: 'alice', role: 'member', entities: new Set(['acme']) }

test('evaluations from versions before results existed have results', async (t) => {
  const file = sqliteFile(await newFolder(t))
  const older = connect(file, 'write')
  const migrations = loadMigrations('sqlite')
  const before = migrations.findIndex(({ name }) => name.includes('evaluations'))
  migrateSqlite(older, file, migrations.slice(0, before), 0)
  for (let n = 0; n < 450; n++) {
    const inputs = JSON.stringify({ example: { n: n % 150 } })
    const output = JSON.stringify({ output: n, scores: { exact: n % 2 === 0 } })
    const isDeleted = n >= 300 ? startedAt : null
    older.run(
      sql`INSERT INTO calls (project_id, id, parent_id, op_name, started_at, ended_at, deleted_at, inputs, output)
          VALUES (${project}, ${`t${n}`}, 'e1', 'weave:///acme/qa/op/Evaluation.predict_and_score:abc', ${startedAt + n},
            ${startedAt + n}, ${isDeleted}, ${inputs}, ${output})`,
    )
  }
  older.close()

  const db = await openSqlite({ file })
  t.after(() => db.close())
  const body = ResultsBody.parse({ evaluation_call_ids: ['e1'], include_summary: true })
  const { rows, others } = await queryResults(
    boundTo(db, new AbortController().signal),
    caller,
    project,
    body,
  )
  const trials: number[] = []
  for await (const row of rows) trials.push(JSON.parse(row).evaluations[0].trials.length)
  assert.deepEqual(trials, Array(150).fill(2))
  assert.equal(others.total_rows, 150)
  assert.deepEqual(
    others.summary?.evaluations.map(({ trial_count, scorer_stats }) => [
      trial_count,
      scorer_stats[0]?.pass_rate,
    ]),
    [[300, 0.5]],
  )
})

test('scores that an older version assigned to the wrong scorer are derived again', async (t) => {
  const file = sqliteFile(await newFolder(t))
  const older = connect(file, 'write')
  const migrations = loadMigrations('sqlite')
  const before = migrations.findIndex(({ name }) => name.includes('own_names'))
  migrateSqlite(older, file, migrations.slice(0, before), 0)
  const call = (id: string, parent: string, op: string, attributes: string, output: string) =>
    older.run(
      sql`INSERT INTO calls (project_id, id, parent_id, op_name, started_at, ended_at, attributes, inputs, output)
          VALUES (${project}, ${id}, ${parent}, ${op}, ${startedAt}, ${startedAt}, ${attributes}, '{}', ${output})`,
    )
  call('t1', 'e1', 'Evaluation.predict_and_score', '{}', '{"output":1,"scores":{"judge":1}}')
  call('c1', 't1', 'judge_strict.score', '{"weave.score":"true"}', '9')
  older.run(
    sql`INSERT INTO eval_trials (project_id, trial_id, evaluation_id, row_digest, row_kind, started_at, output_key, failed,
          scorer_call_ids, scores, shape, v0)
        VALUES (${project}, 't1', 'e1', 'dCNOmKYnSYX12vHzasLXiswzlGT5UHA7jAGYkvmCuQs', 0, ${startedAt}, 1, 0,
          '{"judge":"c1"}', '{"judge":1}', -1, NULL)`,
  )
  older.close()

  const db = await openSqlite({ file })
  t.after(() => db.close())
  const body = ResultsBody.parse({ evaluation_call_ids: ['e1'] })
  const { rows } = await queryResults(boundTo(db, new AbortController().signal), caller, project, body)
  const found: unknown[] = []
  for await (const row of rows) {
    const [trial] = JSON.parse(row).evaluations[0].trials
    found.push(trial.scorer_call_ids, trial.scores)
  }
  assert.deepEqual(found, [{ judge_strict: 'c1' }, { judge: 1, judge_strict: 9 }])
})
