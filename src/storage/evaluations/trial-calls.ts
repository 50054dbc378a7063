import { trialOps } from '../../domain/evaluations/trial-ops.ts'
import { isLive } from '../calls/calls.ts'
import type { Dialect } from '../sql/dialect.ts'
import { joined, rawSql, type Sql, sql } from '../sql/sql.ts'
import { type BoundReader, onlyRow, type Reader } from '../transaction.ts'

/** A condition on a row of `calls`: its op, plain or a ref, predicts and scores one row. */
function isTrial(dialect: Dialect): Sql {
  const found = trialOps.map((name) => sql`${dialect.position(rawSql('calls.op_name'), sql`${name}`)} > 0`)
  return joined(found, ' OR ')
}

function trialsOf(db: Reader, projectId: string, evaluation: string, now: number): Sql {
  return sql`FROM calls WHERE project_id = ${projectId} AND parent_id = ${evaluation} AND ${isLive(now)}
    AND ${isTrial(db.dialect)} AND ${db.dialect.cancellable}`
}

interface TrialValues {
  /** JSON, or null. */
  scores: string | null
  /** The same; also null for a text, which may be long. */
  output: string | null
}

/**
 * The values of the trials of an evaluation that have an output. Unordered, so that nothing is collected for sorting.
 */
export function streamTrialValues(
  db: BoundReader,
  projectId: string,
  evaluation: string,
  now: number,
): AsyncIterable<TrialValues[]> {
  const token = (name: string) => db.dialect.token(rawSql('calls.output'), [name])
  const statement = sql`SELECT scores, CASE WHEN substr(output, 1, 1) <> '"' THEN output END AS output FROM (
    SELECT ${token('scores')} AS scores, coalesce(${token('output')}, ${token('model_output')}) AS output
    ${trialsOf(db, projectId, evaluation, now)} AND calls.output IS NOT NULL) AS trials`
  return db.stream<TrialValues>(statement)
}

interface TrialCounts {
  begun: number
  ended: number
}

export function countTrials(
  db: BoundReader,
  projectId: string,
  evaluation: string,
  now: number,
): Promise<TrialCounts> {
  const trials = trialsOf(db, projectId, evaluation, now)
  const statement = sql`SELECT count(*) AS begun, count(ended_at) AS ended ${trials}`
  return onlyRow<TrialCounts>(db, statement)
}

/** The place of a trial among those of its evaluation. */
export interface TrialPlace {
  row_digest: string
  started_at: number
  trial_id: string
}

/** Trials in the order of their index, from a place on: those that are deleted meanwhile move no other. */
export function trialsAfter(
  db: Reader,
  projectId: string,
  evaluation: string,
  after: TrialPlace | null,
  limit: number,
): Promise<(TrialPlace & { predict_call_id: string | null; output_key: number })[]> {
  const from =
    after &&
    sql` AND (row_digest, started_at, trial_id) > (${after.row_digest}, ${after.started_at}, ${after.trial_id})`
  return db.all(
    sql`SELECT row_digest, started_at, trial_id, predict_call_id, output_key FROM eval_trials
      WHERE project_id = ${projectId} AND evaluation_id = ${evaluation} AND row_digest <> ''${from ?? rawSql('')}
      ORDER BY row_digest, started_at, trial_id LIMIT ${limit}`,
  )
}
