import type { Distribution } from '../../domain/evaluations/columns/distributions.ts'
import { allOf, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type LongReader, type Reader } from '../transaction.ts'
import { inScope, inView, type RowsOfView, trialTable } from './result-rows.ts'

/** A number in the scores of the trials of some evaluations: its distribution, and its differences between rows. */
interface ScoreView {
  db: LongReader
  rows: RowsOfView
  /** The score of a `trial` as SQL. */
  number: Sql
  signal: AbortSignal
}

/** What can be asked of a score, wherever it is read. */
export interface ScoreReader {
  stats(): Promise<ScoreStats[]>
  histogram(axis: Axis): Promise<BinCount[]>
  /** Over the rows with a mean in the baseline and in another evaluation. */
  pairSums(baseline: string): Promise<PairSums[]>
  /** The differences of some evaluations from the baseline, by row in their order. */
  steps(baseline: string, evaluations: readonly string[]): Promise<Step[]>
  /** How many rows have which mean in the baseline and in another evaluation. */
  heat(baseline: string, other: string, axis: Axis): Promise<HeatCell[]>
}

export function scoresOfTrials(view: ScoreView): ScoreReader {
  return {
    stats: () => readScoreStats(view),
    histogram: (axis) => readHistogram(view, axis),
    pairSums: (baseline) => readPairSums(view, baseline),
    steps: (baseline, evaluations) => readSteps(view, baseline, evaluations),
    heat: (baseline, other, axis) => readHeat(view, baseline, other, axis),
  }
}

export interface ScoreStats extends Distribution {
  evaluation_id: string
}

/** Larger numbers fit on no axis, and smaller ones count as 0. The squares of the rest fit into a double. */
const [largest, smallest] = [rawSql('1e100'), rawSql('1e-100')]

function numbersOf(db: Reader, { rows, number }: ScoreView, also: readonly Sql[] = []): Sql {
  return sql`SELECT trial.evaluation_id AS evaluation_id, trial.row_digest AS row_digest, trial.failed AS failed,
      CASE WHEN abs(${number}) < ${smallest} THEN 0.0 WHEN abs(${number}) <= ${largest}
        THEN CAST(${number} AS DOUBLE PRECISION) END AS n
    FROM ${trialTable} WHERE ${allOf([inScope(rows, null), ...also, ...inView(db, rows), db.dialect.trialsCancellable])}`
}

function readScoreStats(view: ScoreView): Promise<ScoreStats[]> {
  return allRows(
    view.db,
    sql`SELECT evaluation_id, count(*) AS trials, sum(failed) AS failed, count(n) AS known,
        sum(CASE WHEN n = 0 OR n = 1 THEN 1 ELSE 0 END) AS truths, min(n) AS least, max(n) AS most, avg(n) AS mean
      FROM (${numbersOf(view.db, view)}) AS numbers GROUP BY evaluation_id`,
    view.signal,
  )
}

/** The range of an axis, divided into bins of equal width. */
export interface Axis {
  least: number
  most: number
  bins: number
}

/**
 * The bin of a value; the largest value is in the last bin. Computed with halves, so that no width overflows a double.
 */
function binOf(value: string, { least, most, bins }: Axis): Sql {
  if (least === most) return rawSql('0')
  const width = most / 2 - least / 2
  const step = sql`floor((${rawSql(value)} / 2 - CAST(${least / 2} AS DOUBLE PRECISION)) / CAST(${width} AS DOUBLE PRECISION) * ${rawSql(String(bins))})`
  return sql`CASE WHEN ${step} >= ${rawSql(String(bins))} THEN ${rawSql(String(bins - 1))} ELSE CAST(${step} AS INTEGER) END`
}

export interface BinCount {
  evaluation_id: string
  bin: number
  count: number
}

function readHistogram(view: ScoreView, axis: Axis): Promise<BinCount[]> {
  return allRows(
    view.db,
    sql`SELECT evaluation_id, ${binOf('n', axis)} AS bin, count(*) AS count
      FROM (${numbersOf(view.db, view)}) AS numbers WHERE n IS NOT NULL GROUP BY 1, 2`,
    view.signal,
  )
}

/**
 * Rows with a mean in the baseline and in another evaluation, or in one of these: `mean`, `base_mean` and their
 * difference `step`.
 */
function pairsWith(baseline: string, view: ScoreView, others?: readonly string[]): Sql {
  // Rounding from summing in a different order does not count as a difference.
  const step = rawSql(
    'CASE WHEN abs(mean - base_mean) <= 1e-12 * (abs(mean) + abs(base_mean)) THEN 0.0 ELSE mean - base_mean END',
  )
  const meansOf = (which: Sql) => sql`SELECT evaluation_id, row_digest, avg(n) AS mean
      FROM (${numbersOf(view.db, view, [sql`trial.evaluation_id ${which}`])}) AS numbers
      WHERE n IS NOT NULL GROUP BY evaluation_id, row_digest`
  return sql`WITH base AS MATERIALIZED (${meansOf(sql`= ${baseline}`)}),
    others AS MATERIALIZED (${meansOf(others === undefined ? sql`<> ${baseline}` : sql`IN (${listOf(others)})`)}),
    pairs AS (
      SELECT evaluation_id, row_digest, mean, base_mean, ${step} AS step FROM (
        SELECT others.evaluation_id AS evaluation_id, others.row_digest AS row_digest, others.mean AS mean,
          base.mean AS base_mean
        FROM others JOIN base ON base.row_digest = others.row_digest) AS beside
    )`
}

export interface PairSums {
  evaluation_id: string
  pairs: number
  wins: number
  losses: number
  mean_step: number
  /** Of the steps. */
  squares: number
  both: number
  baseline_only: number
  other_only: number
  neither: number
}

function readPairSums(view: ScoreView, baseline: string): Promise<PairSums[]> {
  const number = (condition: string) => rawSql(`sum(CASE WHEN ${condition} THEN 1 ELSE 0 END)`)
  return allRows(
    view.db,
    sql`${pairsWith(baseline, view)} SELECT evaluation_id, count(*) AS pairs, ${number('step > 0')} AS wins,
        ${number('step < 0')} AS losses, avg(step) AS mean_step, sum(step * step) AS squares,
        ${number('base_mean = 1 AND mean = 1')} AS both, ${number('base_mean = 1 AND mean = 0')} AS baseline_only,
        ${number('base_mean = 0 AND mean = 1')} AS other_only, ${number('base_mean = 0 AND mean = 0')} AS neither
      FROM pairs GROUP BY evaluation_id`,
    view.signal,
  )
}

export interface Step {
  evaluation_id: string
  step: number
}

function readSteps(view: ScoreView, baseline: string, evaluations: readonly string[]): Promise<Step[]> {
  return allRows(
    view.db,
    sql`${pairsWith(baseline, view, evaluations)} SELECT evaluation_id, step FROM pairs
      ORDER BY evaluation_id, row_digest`,
    view.signal,
  )
}

export interface HeatCell {
  x: number
  y: number
  count: number
}

function readHeat(view: ScoreView, baseline: string, other: string, axis: Axis): Promise<HeatCell[]> {
  return allRows(
    view.db,
    sql`${pairsWith(baseline, view, [other])} SELECT ${binOf('base_mean', axis)} AS x, ${binOf('mean', axis)} AS y, count(*) AS count
      FROM pairs GROUP BY 1, 2 ORDER BY 1, 2`,
    view.signal,
  )
}
