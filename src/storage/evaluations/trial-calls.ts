import type { Dialect } from '../sql/dialect.ts'
import { join, type Sql, sql, trusted } from '../sql/sql.ts'
import { isLive } from '../tables/calls.ts'
import type { Reader } from '../transaction.ts'

const opNames = ['Evaluation.predict_and_score', 'Evaluation.predictAndScore']

/** A condition on a row of `calls`: its op, plain or a reference, is one that predicts and scores one row. */
function isTrial(dialect: Dialect): Sql {
  const found = opNames.map((name) => sql`${dialect.position(trusted('calls.op_name'), sql`${name}`)} > 0`)
  return sql`(${join(found, ' OR ')})`
}

function trialsOf(db: Reader, projectId: string, evaluation: string, now: number): Sql {
  return sql`FROM calls WHERE project_id = ${projectId} AND parent_id = ${evaluation} AND ${isLive(now)}
    AND ${isTrial(db.dialect)} AND ${db.dialect.going}`
}

export interface TrialValues {
  /** JSON, or null. */
  scores: string | null
  /** The same; null also for a text, which may be long. */
  output: string | null
}

/** Of the trials of an evaluation that have an output. In no order, so that nothing is gathered to be sorted. Long. */
export function selectTrialValues(db: Reader, projectId: string, evaluation: string, now: number): Sql {
  const token = (name: string) => db.dialect.token(trusted('calls.output'), [name])
  return sql`SELECT scores, CASE WHEN substr(output, 1, 1) <> '"' THEN output END AS output FROM (
    SELECT ${token('scores')} AS scores, coalesce(${token('output')}, ${token('model_output')}) AS output
    ${trialsOf(db, projectId, evaluation, now)} AND calls.output IS NOT NULL) AS trials`
}

export interface TrialCounts {
  begun: number
  ended: number
}

/** Long. */
export function countTrials(db: Reader, projectId: string, evaluation: string, now: number): Sql {
  return sql`SELECT count(*) AS begun, count(ended_at) AS ended ${trialsOf(db, projectId, evaluation, now)}`
}
