import type { Page } from '../../domain/view.ts'
import { isLive } from '../calls/calls.ts'
import { shownName } from '../calls/columns.ts'
import { pageOf } from '../sql/rows-in-order.ts'
import { emptySql, listOf, rawSql, type Sql, sql, wantedIds } from '../sql/sql.ts'
import { unsettledHours } from '../sums/marks.ts'
import { hour } from '../sums/spans.ts'
import { allRows, type BoundReader, type LongReader, onlyRow } from '../transaction.ts'
import { readSets } from './columns/reading.ts'

/** In the name of an op without its version; also for a class that extends Evaluation, and not what only begins so. */
const isEvaluation = (db: LongReader, op: string): Sql =>
  sql`${db.dialect.position(rawSql(`(${op} || ':')`), rawSql("'Evaluation.evaluate:'"))} > 0`

/**
 * Most calls are no evaluations: only hours are read in which some began, or whose sums are not known. Shadows and
 * proposals count as evaluations, too, and may be many, so that the sums by op are what tells these hours.
 */
export async function hoursWithEvaluations(
  db: BoundReader,
  project: string,
  time: number,
): Promise<Sql | undefined> {
  const unsettled = await unsettledHours(db, project, time)
  if (unsettled === undefined) return undefined
  const uncounted = [...unsettled].map((at) => ` UNION SELECT CAST(${at} AS BIGINT)`)
  return sql`(SELECT DISTINCT at FROM call_sums WHERE project_id = ${project} AND span = ${rawSql(String(hour))} AND field = 'op'
    AND kind IN ('root evaluation', 'child evaluation') AND ${isEvaluation(db, 'value')}${rawSql(uncounted.join(''))}) AS hours`
}

/** Selects the ids of the root calls of evaluations that have no trials. */
async function evaluationsWithoutTrials(db: BoundReader, project: string, time: number): Promise<Sql> {
  const hours = await hoursWithEvaluations(db, project, time)
  const from = hours === undefined ? rawSql('calls AS begun') : sql`${hours} CROSS JOIN calls AS begun`
  const within =
    hours === undefined
      ? rawSql('1 = 1')
      : rawSql(`begun.started_at >= hours.at AND begun.started_at < hours.at + ${hour}`)
  return sql`SELECT begun.id FROM ${from} WHERE begun.project_id = ${project} AND ${within}
    AND begun.started_at IS NOT NULL AND begun.deleted_at IS NULL AND ${isEvaluation(db, 'begun.op')}
    AND NOT EXISTS (SELECT 1 FROM eval_row_sets AS sets WHERE sets.project_id = ${project} AND sets.evaluation_id = begun.id)`
}

/** The root call of an evaluation. */
export interface EvaluationRoot {
  id: string
  trace_id: string
  display_name: string | null
  started_at: number
  ended_at: number | null
  exception: string | null
  inputs: string | null
  /** 'true' if it was stopped before all its trials. */
  stopped: string | null
  row_count: number
}

export interface TrialSums {
  evaluation_id: string
  trials: number
  failed: number
  latency: number | null
  tokens: number | null
}

/** More values do not fit into a statement. */
const maxNamed = 10_000

/** The evaluations of a project as they are at a moment. */
export async function openEvaluations(db: BoundReader, project: string, time: number) {
  const withoutTrials = await evaluationsWithoutTrials(db, project, time)
  // Within the list, PostgreSQL would take them for a third of all calls, and read these one by one.
  const others = await allRows<{ id: string }>(db, sql`${withoutTrials} LIMIT ${maxNamed + 1}`)
  const isNamed = others.length <= maxNamed
  const wanted = isNamed ? wantedIds(others.map(({ id }) => id)) : emptySql
  const all = sql`FROM (SELECT evaluation_id AS id, row_count FROM eval_row_sets WHERE project_id = ${project}
      UNION ALL SELECT id, 0 FROM ${isNamed ? rawSql('wanted') : sql`(${withoutTrials}) AS others`}) AS listed
    JOIN calls ON calls.project_id = ${project} AND calls.id = listed.id
    WHERE ${isLive(time)} AND ${db.dialect.cancellable}`
  return {
    /** Newest first. */
    page: (page: Page): Promise<EvaluationRoot[]> =>
      allRows(
        db,
        sql`${wanted} SELECT calls.id, trace_id, ${rawSql(shownName)} AS display_name, started_at, ended_at, exception,
            ${db.dialect.stored(rawSql('inputs'))} AS inputs,
            ${db.dialect.json(rawSql('calls.summary'), ['stopped']).text} AS stopped, row_count
          ${all} ORDER BY started_at DESC, calls.id DESC${pageOf(db.dialect, page)}`,
      ),
    count: async (): Promise<number> =>
      (await onlyRow<{ count: number }>(db, sql`${wanted} SELECT count(*) AS count ${all}`)).count,
  }
}

/** Sums over the trials of some evaluations. */
export async function sumTrials(
  db: BoundReader,
  project: string,
  evaluations: readonly string[],
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
  return [...known, ...(await addUp(db, project, [...others]))]
}

function addUp(db: BoundReader, project: string, evaluations: readonly string[]): Promise<TrialSums[]> {
  return allRows(
    db,
    sql`SELECT evaluation_id, count(*) AS trials, sum(failed) AS failed, avg(latency) AS latency, sum(tokens) AS tokens
      FROM eval_trials WHERE project_id = ${project} AND evaluation_id IN (${listOf(evaluations)}) AND ${db.dialect.cancellable}
      GROUP BY evaluation_id`,
  )
}
