import { allOf, join, listOf, nothing, type Sql, sql, trusted, wantedOf } from './sql.ts'
import type { Reader } from './transaction.ts'

/** Trials whose rows, evaluations and calls a statement reads. Names that conditions may use: `trial`, `call`. */
export const trialTable = trusted('eval_trials AS trial')

/** Which rows of which evaluations are looked at. */
export interface ResultsView {
  project: string
  /** Each once. */
  evaluations: readonly string[]
  /** On `trial`; a row is kept when each holds for some trial in its scope. */
  filters: readonly RowFilter[]
  /** Only rows that every evaluation has. */
  intersect: boolean
}

export interface RowFilter {
  condition: Sql
  needsCall: boolean
  /** Only trials of this one can satisfy it; null is any. */
  evaluation: string | null
}

const ofCall = trusted(
  'JOIN calls AS call ON call.project_id = trial.project_id AND call.id = trial.trial_id',
)

/** No more than these are read side by side in the order of their rows. */
const mostMerged = 16

function inScope({ project, evaluations }: ResultsView, evaluation: string | null): Sql {
  const base = sql`trial.project_id = ${project} AND trial.evaluation_id IN (${listOf(evaluations)})`
  return evaluation === null ? base : sql`${base} AND trial.evaluation_id = ${evaluation}`
}

function filterConditions(db: Reader, view: ResultsView): Sql[] {
  return view.filters.map(
    ({ condition, needsCall, evaluation }) =>
      sql`trial.row_digest IN (SELECT trial.row_digest FROM ${trialTable} ${needsCall ? ofCall : nothing}
          WHERE ${inScope(view, evaluation)} AND ${condition} AND ${db.dialect.going})`,
  )
}

function intersects(view: ResultsView): boolean {
  return view.intersect && view.evaluations.length > 1
}

/** Whether the view is every trial of its evaluations. */
function isWhole(view: ResultsView): boolean {
  return view.filters.length === 0 && !intersects(view)
}

/** The rows of the view, one digest each, without an order. */
function rowsOf(db: Reader, view: ResultsView): Sql {
  const having = intersects(view)
    ? sql` HAVING count(DISTINCT trial.evaluation_id) = ${view.evaluations.length}`
    : nothing
  return sql`SELECT trial.row_digest AS row_digest FROM ${trialTable}
    WHERE ${allOf([inScope(view, null), ...filterConditions(db, view), db.dialect.going])}
    GROUP BY trial.row_digest${having}`
}

/** One key of the order of rows. */
export interface RowOrder {
  /** Of a trial: mean over trials; or the smallest, numbers before text. */
  reading: { kind: 'score'; number: Sql } | { kind: 'document'; number: Sql; text: Sql }
  needsCall: boolean
  /** Only the trials of this one count; null is all. */
  evaluation: string | null
  /** The largest minus the smallest of the evaluations' means. */
  difference: boolean
  direction: 'asc' | 'desc'
}

export interface RowPage {
  limit: number | null
  offset: number
}

function paged(db: Reader, { limit, offset }: RowPage): Sql {
  return sql` LIMIT ${limit === null ? db.dialect.noLimit : sql`${limit}`} OFFSET ${offset}`
}

/** The digests of a page of rows. */
export function selectRowPage(db: Reader, view: ResultsView, order: readonly RowOrder[], page: RowPage): Sql {
  if (order.length > 0) return sql`${sortedRows(db, view, order)}${paged(db, page)}`
  const rows = mergedRows(view) ?? sql`${rowsOf(db, view)}`
  return sql`${rows} ORDER BY row_digest${paged(db, page)}`
}

/**
 * The rows of each evaluation in the order of its index, side by side, so that only what a page needs is read. Undefined
 * when that is not the whole of the question.
 */
function mergedRows(view: ResultsView): Sql | undefined {
  const { project, evaluations, filters } = view
  const [only, another] = evaluations
  if (only === undefined || filters.length > 0 || evaluations.length > mostMerged) return undefined
  const distinct = trusted(another === undefined ? 'DISTINCT ' : '')
  const arms = evaluations.map(
    (evaluation) =>
      sql`SELECT ${distinct}row_digest FROM eval_trials WHERE project_id = ${project} AND evaluation_id = ${evaluation}`,
  )
  return join(arms, view.intersect ? ' INTERSECT ' : ' UNION ')
}

function sortedRows(db: Reader, view: ResultsView, order: readonly RowOrder[]): Sql {
  const columns = order.flatMap(({ reading }, i) =>
    reading.kind === 'score'
      ? [
          sql`sum(${reading.number} * 1.0) AS ${trusted(`sum${i}`)}`,
          sql`count(${reading.number}) AS ${trusted(`count${i}`)}`,
        ]
      : [
          sql`min(${reading.number}) AS ${trusted(`number${i}`)}`,
          sql`min(CASE WHEN ${reading.number} IS NULL THEN nullif(${reading.text}, '') END) AS ${trusted(`text${i}`)}`,
        ],
  )
  const terms = order.flatMap((key, i) => orderTerms(view, key, i))
  const having = intersects(view) ? sql` HAVING count(*) = ${view.evaluations.length}` : nothing
  return sql`SELECT row_digest FROM (
      SELECT trial.row_digest AS row_digest, trial.evaluation_id AS evaluation_id, ${join(columns, ', ')}
      FROM ${trialTable} ${order.some(({ needsCall }) => needsCall) ? ofCall : nothing}
      WHERE ${allOf([inScope(view, null), ...filterConditions(db, view), db.dialect.going])}
      GROUP BY trial.row_digest, trial.evaluation_id
    ) AS part GROUP BY row_digest${having} ORDER BY ${join([...terms, trusted('row_digest')], ', ')}`
}

function orderTerms(view: ResultsView, key: RowOrder, i: number): Sql[] {
  const way = trusted(key.direction === 'asc' ? 'ASC NULLS LAST' : 'DESC NULLS LAST')
  const counted = (column: string): Sql => {
    const name = trusted(`${column}${i}`)
    if (key.evaluation === null) return name
    return sql`CASE WHEN evaluation_id = ${key.evaluation} THEN ${name} END`
  }
  if (key.reading.kind === 'document') {
    const number = sql`min(${counted('number')})`
    return [
      sql`CASE WHEN ${number} IS NULL THEN 1 ELSE 0 END`,
      sql`${number} ${way}`,
      sql`min(${counted('text')}) ${way}`,
    ]
  }
  if (!key.difference) return [sql`sum(${counted('sum')}) / nullif(sum(${counted('count')}), 0) ${way}`]
  const mean = trusted(`(sum${i} / nullif(count${i}, 0))`)
  // A row that is missing from one of them has no difference.
  return [
    sql`CASE WHEN count(${mean}) = ${view.evaluations.length} THEN max(${mean}) - min(${mean}) END ${way}`,
  ]
}

export function countRows(db: Reader, view: ResultsView): Sql {
  // The order makes SQLite merge the indexes instead of gathering the rows.
  const merged = mergedRows(view)
  const rows = merged ? sql`${merged} ORDER BY row_digest` : rowsOf(db, view)
  return sql`SELECT count(*) AS count FROM (${rows}) AS rows_found`
}

export interface TrialRow {
  trial_id: string
  evaluation_id: string
  row_digest: string
  row_kind: number
  output_key: number
  predict_call_id: string | null
  latency: number | null
  tokens: number | null
  own_latency: number | null
  own_tokens: number | null
  scorer_call_ids: string
  scores: string
  output: string | null
}

/** The trials of some rows, the oldest first. */
export function selectTrials(db: Reader, view: ResultsView, digests: readonly string[]): Sql {
  return sql`${wantedOf(digests)} SELECT trial.trial_id, trial.evaluation_id, trial.row_digest, trial.row_kind, trial.output_key,
      trial.predict_call_id, trial.latency, trial.tokens, trial.own_latency, trial.own_tokens,
      trial.scorer_call_ids, trial.scores, call.output
    FROM wanted CROSS JOIN ${trialTable} ${ofCall}
    WHERE ${inScope(view, null)} AND trial.row_digest = wanted.id AND ${db.dialect.going}
    ORDER BY trial.started_at, trial.trial_id`
}

export function selectInputs(project: string, ids: readonly string[]): Sql {
  return sql`${wantedOf(ids)} SELECT calls.id, inputs FROM wanted CROSS JOIN calls
    WHERE project_id = ${project} AND calls.id = wanted.id`
}

export interface EvaluationCounts {
  evaluation_id: string
  trials: number
  failed: number
  first_row: string
  first_trial: string
}

/** Every evaluation that has a trial in the view. */
export function selectEvaluations(db: Reader, view: ResultsView): Sql {
  const rows = isWhole(view) ? [] : [sql`trial.row_digest IN (${rowsOf(db, view)})`]
  const firstTrial = sql`(SELECT CAST(first.started_at AS TEXT) || first.trial_id FROM eval_trials AS first
    WHERE first.project_id = ${view.project} AND first.evaluation_id = found.evaluation_id
      AND first.row_digest = found.first_row ORDER BY first.started_at, first.trial_id LIMIT 1)`
  return sql`SELECT evaluation_id, trials, failed, first_row, ${firstTrial} AS first_trial FROM (
      SELECT trial.evaluation_id AS evaluation_id, count(*) AS trials, sum(trial.failed) AS failed,
        min(trial.row_digest) AS first_row
      FROM ${trialTable} WHERE ${allOf([inScope(view, null), ...rows, db.dialect.going])}
      GROUP BY trial.evaluation_id
    ) AS found`
}

export interface LeafStats {
  evaluation_id: string
  scorer: string
  path: string
  leaves: number
  known: number
  passed: number
  numbers: number
  mean: number | null
}

/** The scores of the view, added up. In the order in which a trial has them. */
export function selectLeafStats(db: Reader, view: ResultsView): Sql {
  const trials = isWhole(view)
    ? []
    : [
        sql`leaf.trial_id IN (SELECT trial.trial_id FROM ${trialTable}
            WHERE ${inScope(view, null)} AND trial.row_digest IN (${rowsOf(db, view)}))`,
      ]
  return sql`SELECT leaf.evaluation_id AS evaluation_id, leaf.scorer AS scorer, leaf.path AS path, count(*) AS leaves,
      sum(CASE WHEN leaf.kind = 0 THEN 1 ELSE 0 END) AS known,
      sum(CASE WHEN leaf.kind = 0 AND leaf.number = 1 THEN 1 ELSE 0 END) AS passed,
      sum(CASE WHEN leaf.kind = 1 THEN 1 ELSE 0 END) AS numbers,
      avg(CASE WHEN leaf.kind = 1 THEN leaf.number END) AS mean
    FROM eval_leaves AS leaf
    WHERE ${allOf([
      sql`leaf.project_id = ${view.project}`,
      sql`leaf.evaluation_id IN (${listOf(view.evaluations)})`,
      ...trials,
      db.dialect.going,
    ])}
    GROUP BY leaf.evaluation_id, leaf.scorer, leaf.path ORDER BY min(leaf.position), leaf.scorer, leaf.path`
}

export interface RootRow {
  id: string
  trace_id: string | null
  display_name: string | null
  started_at: number
  ended_at: number | null
  inputs: string | null
}

export function selectRoots(project: string, ids: readonly string[], now: number): Sql {
  return sql`SELECT id, trace_id, nullif(coalesce(renamed, display_name), '') AS display_name, started_at, ended_at, inputs
    FROM calls WHERE project_id = ${project} AND id IN (${listOf(ids)}) AND started_at IS NOT NULL
      AND deleted_at IS NULL AND (expire_at IS NULL OR expire_at > ${now})`
}

/** Some call of a trial has expired since the trial was derived. */
export async function hasStaleTrials(db: Reader, project: string, now: number): Promise<boolean> {
  const one = await db.get(
    sql`SELECT trial_id FROM eval_trials WHERE stale_at <= ${now} AND project_id = ${project} LIMIT 1`,
  )
  return one !== undefined
}
