import { exampleKinds } from '../../domain/evaluations/example.ts'
import type { Page } from '../../domain/view.ts'
import { pageOf } from '../sql/rows-in-order.ts'
import { emptySql, join, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { Reader } from '../transaction.ts'

/** The trials whose rows, evaluations and calls a statement reads. Conditions may use the names `trial` and `call`. */
export const trialTable = rawSql('eval_trials AS trial')

/** The rows and evaluations of a view, with the conditions as SQL. */
export interface RowsOfView {
  project: string
  evaluations: readonly string[]
  filters: readonly RowFilter[]
  intersect: boolean
}

export interface RowFilter {
  /** On `trial`, and on `call` if one is needed. */
  condition: Sql
  /**
   * What the condition reads: the trial alone, its call too, or the row alone, which is the same for all trials of it.
   */
  about: 'trial' | 'call' | 'row'
  /** Only trials of this evaluation can satisfy it; null means any. */
  evaluation: string | null
}

export const ofCall = rawSql(
  'JOIN calls AS call ON call.project_id = trial.project_id AND call.id = trial.trial_id',
)

/** The most evaluations whose rows are merged in order. */
const maxMerged = 16

export function inScope({ project, evaluations }: RowsOfView, evaluation: string | null): Sql {
  const base = sql`trial.project_id = ${project} AND trial.evaluation_id IN (${listOf(evaluations)})`
  return evaluation === null ? base : sql`${base} AND trial.evaluation_id = ${evaluation}`
}

const { none, inline, ref, scalar } = exampleKinds

/**
 * What several trials say of their row together: taken from one that contains the row, or else from one that refers to
 * it.
 */
export function representativeRow(kind: string, trial: string, brief: string, only: (value: Sql) => Sql) {
  const least = (value: string, of: number) =>
    sql`min(${only(rawSql(`CASE WHEN ${kind} = ${of} THEN ${value} END`))})`
  return {
    trial: sql`coalesce(${least(trial, inline)}, ${least(trial, ref)}, min(${only(rawSql(trial))}))`,
    kind: sql`min(${only(rawSql(`CASE ${kind} WHEN ${none} THEN ${scalar} ELSE ${kind} END`))})`,
    brief: sql`coalesce(${least(brief, inline)}, ${least(brief, ref)})`,
  }
}

export const representativeOfTrials = (only: (value: Sql) => Sql) =>
  representativeRow('trial.row_kind', 'trial.trial_id', 'trial.brief', only)

/** The rows, each represented by one trial. */
function trialOfRow(db: Reader, view: RowsOfView, evaluation: string | null): Sql {
  const { trial, kind, brief } = representativeOfTrials((value) => value)
  return sql`(SELECT trial.project_id AS project_id, trial.row_digest AS row_digest,
      ${trial} AS trial_id, ${kind} AS row_kind, ${brief} AS brief
    FROM ${trialTable} WHERE ${inScope(view, evaluation)} AND ${db.dialect.trialsCancellable}
    GROUP BY trial.project_id, trial.row_digest) AS trial`
}

/** The rows that satisfy a filter. */
function filtered(db: Reader, view: RowsOfView, { condition, about, evaluation }: RowFilter): Sql {
  if (about === 'row') {
    return sql`SELECT trial.row_digest AS row_digest FROM ${trialOfRow(db, view, evaluation)}
      WHERE ${condition}`
  }
  return sql`SELECT DISTINCT trial.row_digest AS row_digest FROM ${trialTable} ${about === 'call' ? ofCall : emptySql}
    WHERE ${inScope(view, evaluation)} AND ${condition} AND ${db.dialect.cancellable}`
}

function intersects(view: RowsOfView): boolean {
  return view.intersect && view.evaluations.length > 1
}

/** Whether the view is every trial of its evaluations. */
function isWhole(view: RowsOfView): boolean {
  return view.filters.length === 0 && !intersects(view)
}

/**
 * The rows of the view, one digest each. When they are read in order, the evaluations are merged from the index, so
 * that only what a page needs is read.
 */
export function rowsOf(db: Reader, view: RowsOfView, after: string | null = null): Sql {
  const { project, evaluations } = view
  const beyond =
    after === null
      ? db.dialect.trialsCancellable
      : sql`${db.dialect.trialsCancellable} AND row_digest > ${after}`
  const arms = view.filters.map((filter) => filtered(db, view, filter))
  const areFew = evaluations.length <= maxMerged
  const ofEach = () =>
    evaluations.map(
      (evaluation) =>
        sql`SELECT ${rawSql(evaluations.length === 1 ? 'DISTINCT ' : '')}row_digest FROM ${trialTable}
          WHERE project_id = ${project} AND evaluation_id = ${evaluation} AND ${beyond}`,
    )
  if (intersects(view)) {
    if (areFew) arms.push(...ofEach())
    else {
      arms.push(sql`SELECT trial.row_digest AS row_digest FROM ${trialTable}
        WHERE ${inScope(view, null)} AND ${beyond} GROUP BY trial.row_digest
        HAVING count(DISTINCT trial.evaluation_id) = ${evaluations.length}`)
    }
  }
  if (arms.length > 0) return join(arms, ' INTERSECT ')
  if (areFew) return join(ofEach(), ' UNION ')
  return sql`SELECT DISTINCT trial.row_digest AS row_digest FROM ${trialTable}
    WHERE ${inScope(view, null)} AND ${beyond}`
}

/** As a list of its own, because PostgreSQL would evaluate the filters again for each trial. */
export function inView(db: Reader, view: RowsOfView): Sql[] {
  if (isWhole(view)) return []
  return [
    sql`trial.row_digest IN (WITH chosen AS MATERIALIZED (${rowsOf(db, view)}) SELECT row_digest FROM chosen)`,
  ]
}

/** The digests of a page of rows after a given row, for a view without filters. */
export function selectRowPage(db: Reader, view: RowsOfView, page: Page, after: string | null = null): Sql {
  return sql`${rowsOf(db, view, after)} ORDER BY row_digest${pageOf(db.dialect, page)}`
}

export function countRows(db: Reader, view: RowsOfView): Sql {
  // The order makes SQLite merge the indexes instead of collecting the rows.
  return sql`SELECT count(*) AS count FROM (${rowsOf(db, view)} ORDER BY row_digest) AS rows_found`
}
