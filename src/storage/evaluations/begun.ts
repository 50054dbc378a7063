import { rawSql, type Sql, sql } from '../sql/sql.ts'
import { unsettledHours } from '../sums/marks.ts'
import { hour } from '../sums/spans.ts'
import type { LongReader } from '../transaction.ts'

/** In the name of an op without its version; also for a class that extends Evaluation, and not what only begins so. */
const isEvaluation = (db: LongReader, op: string): Sql =>
  sql`${db.dialect.position(rawSql(`(${op} || ':')`), rawSql("'Evaluation.evaluate:'"))} > 0`

/**
 * Most calls are no evaluations: only hours are read in which some began, or whose sums are not known. Shadows and
 * proposals count as evaluations, too, and may be many, so that the sums by op are what tells these hours.
 */
export async function hoursWithEvaluations(
  db: LongReader,
  project: string,
  time: number,
  signal: AbortSignal,
): Promise<Sql | undefined> {
  const unsettled = await unsettledHours(db, project, time, signal)
  if (unsettled === undefined) return undefined
  const uncounted = [...unsettled].map((at) => ` UNION SELECT CAST(${at} AS BIGINT)`)
  return sql`(SELECT DISTINCT at FROM call_sums WHERE project_id = ${project} AND span = ${rawSql(String(hour))} AND field = 'op'
    AND kind IN ('root evaluation', 'child evaluation') AND ${isEvaluation(db, 'value')}${rawSql(uncounted.join(''))}) AS hours`
}

/** Selects the ids of the root calls of evaluations that have no trials. */
export async function evaluationsWithoutTrials(
  db: LongReader,
  project: string,
  time: number,
  signal: AbortSignal,
): Promise<Sql> {
  const hours = await hoursWithEvaluations(db, project, time, signal)
  const from = hours === undefined ? rawSql('calls AS begun') : sql`${hours} CROSS JOIN calls AS begun`
  const within =
    hours === undefined
      ? rawSql('1 = 1')
      : rawSql(`begun.started_at >= hours.at AND begun.started_at < hours.at + ${hour}`)
  return sql`SELECT begun.id FROM ${from} WHERE begun.project_id = ${project} AND ${within}
    AND begun.started_at IS NOT NULL AND begun.deleted_at IS NULL AND ${isEvaluation(db, 'begun.op')}
    AND NOT EXISTS (SELECT 1 FROM eval_row_sets AS sets WHERE sets.project_id = ${project} AND sets.evaluation_id = begun.id)`
}
