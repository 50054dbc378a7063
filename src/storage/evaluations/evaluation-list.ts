import type { Page } from '../../domain/view.ts'
import { isLive } from '../calls/calls.ts'
import { shownName } from '../calls/columns.ts'
import { pageOf } from '../sql/rows-in-order.ts'
import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type LongReader, onlyRow } from '../transaction.ts'
import { readSets } from './columns/reading.ts'

/** The root call of an evaluation. */
export interface EvaluationRoot {
  id: string
  trace_id: string
  display_name: string | null
  started_at: number
  ended_at: number | null
  exception: string | null
  inputs: string | null
  row_count: number
}

export interface TrialSums {
  evaluation_id: string
  trials: number
  failed: number
  latency: number | null
  tokens: number | null
}

function withTrials(project: string, time: number): Sql {
  return sql`FROM eval_row_sets JOIN calls ON calls.project_id = eval_row_sets.project_id AND calls.id = evaluation_id
    WHERE eval_row_sets.project_id = ${project} AND ${isLive(time)}`
}

/** Evaluations that have trials, newest first. */
export function listEvaluations(
  db: LongReader,
  project: string,
  page: Page,
  time: number,
  signal: AbortSignal,
): Promise<EvaluationRoot[]> {
  return allRows(
    db,
    sql`SELECT calls.id, trace_id, ${rawSql(shownName)} AS display_name, started_at, ended_at, exception,
        ${db.dialect.stored(rawSql('inputs'))} AS inputs, row_count
      ${withTrials(project, time)} AND ${db.dialect.cancellable}
      ORDER BY started_at DESC, calls.id DESC${pageOf(db.dialect, page)}`,
    signal,
  )
}

export async function countEvaluations(
  db: LongReader,
  project: string,
  time: number,
  signal: AbortSignal,
): Promise<number> {
  const statement = sql`SELECT count(*) AS count ${withTrials(project, time)}`
  return (await onlyRow<{ count: number }>(db, statement, signal)).count
}

/** Sums over the trials of some evaluations. */
export async function sumTrials(
  db: LongReader,
  project: string,
  evaluations: readonly string[],
  signal: AbortSignal,
): Promise<TrialSums[]> {
  const known: TrialSums[] = []
  const others = new Set(evaluations)
  for (const { evaluation_id, header } of await readSets(db, project, evaluations)) {
    if (header === undefined) continue
    const { shapes, trials, latency, tokens } = header
    const failed = shapes.reduce((sum, shape) => sum + shape.failed, 0)
    known.push({ evaluation_id, trials, failed, latency, tokens })
    others.delete(evaluation_id)
  }
  if (others.size === 0) return known
  return [...known, ...(await addUp(db, project, [...others], signal))]
}

function addUp(
  db: LongReader,
  project: string,
  evaluations: readonly string[],
  signal: AbortSignal,
): Promise<TrialSums[]> {
  return allRows(
    db,
    sql`SELECT evaluation_id, count(*) AS trials, sum(failed) AS failed, avg(latency) AS latency, sum(tokens) AS tokens
      FROM eval_trials WHERE project_id = ${project} AND evaluation_id IN (${listOf(evaluations)}) AND ${db.dialect.cancellable}
      GROUP BY evaluation_id`,
    signal,
  )
}
