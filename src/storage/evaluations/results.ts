import { exampleKinds } from '../../domain/evaluations/example.ts'
import { slotCount } from '../../domain/evaluations/shape.ts'
import { allOf, join, listOf, nothing, type Sql, sql, trusted, wantedOf } from '../sql/sql.ts'
import type { Reader } from '../transaction.ts'
import { noShape } from './shapes.ts'

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
  /** On `trial`, and on `call` when one is needed. */
  condition: Sql
  /** What it is about: the trial alone, its call too, or the row alone, which is the same for all trials of it. */
  about: 'trial' | 'call' | 'row'
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

const { none, inline, ref, scalar } = exampleKinds

/** What several say of their row together: one that holds it speaks, or else one that refers to it. */
function spokenRow(kind: string, trial: string, brief: string, only: (value: Sql) => Sql) {
  const least = (value: string, of: number) =>
    sql`min(${only(trusted(`CASE WHEN ${kind} = ${of} THEN ${value} END`))})`
  return {
    trial: sql`coalesce(${least(trial, inline)}, ${least(trial, ref)}, min(${only(trusted(trial))}))`,
    kind: sql`min(${only(trusted(`CASE ${kind} WHEN ${none} THEN ${scalar} ELSE ${kind} END`))})`,
    brief: sql`coalesce(${least(brief, inline)}, ${least(brief, ref)})`,
  }
}

const spokenByTrials = (only: (value: Sql) => Sql) =>
  spokenRow('trial.row_kind', 'trial.trial_id', 'trial.brief', only)

/** The rows as trials that speak for them. */
function trialOfRow(db: Reader, view: ResultsView, evaluation: string | null): Sql {
  const { trial, kind, brief } = spokenByTrials((value) => value)
  return sql`(SELECT trial.project_id AS project_id, trial.row_digest AS row_digest,
      ${trial} AS trial_id, ${kind} AS row_kind, ${brief} AS brief
    FROM ${trialTable} WHERE ${inScope(view, evaluation)} AND ${db.dialect.going}
    GROUP BY trial.project_id, trial.row_digest) AS trial`
}

/** The rows that satisfy a filter. */
function filtered(db: Reader, view: ResultsView, { condition, about, evaluation }: RowFilter): Sql {
  if (about === 'row') {
    return sql`SELECT trial.row_digest AS row_digest FROM ${trialOfRow(db, view, evaluation)}
      WHERE ${condition}`
  }
  return sql`SELECT DISTINCT trial.row_digest AS row_digest FROM ${trialTable} ${about === 'call' ? ofCall : nothing}
    WHERE ${inScope(view, evaluation)} AND ${condition} AND ${db.dialect.going}`
}

function intersects(view: ResultsView): boolean {
  return view.intersect && view.evaluations.length > 1
}

/** Whether the view is every trial of its evaluations. */
function isWhole(view: ResultsView): boolean {
  return view.filters.length === 0 && !intersects(view)
}

/**
 * The rows of the view, one digest each. In their order, they are read side by side from the index, so that only what a
 * page needs is read.
 */
function rowsOf(db: Reader, view: ResultsView, after: string | null = null): Sql {
  const { project, evaluations } = view
  const beyond = after === null ? db.dialect.going : sql`${db.dialect.going} AND row_digest > ${after}`
  const arms = view.filters.map((filter) => filtered(db, view, filter))
  const areFew = evaluations.length <= mostMerged
  const ofEach = () =>
    evaluations.map(
      (evaluation) =>
        sql`SELECT ${trusted(evaluations.length === 1 ? 'DISTINCT ' : '')}row_digest FROM eval_trials
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

function within(db: Reader, view: ResultsView): Sql[] {
  return isWhole(view) ? [] : [sql`trial.row_digest IN (${rowsOf(db, view)})`]
}

/** One key of the order of rows. */
export interface RowOrder {
  /** The mean over trials of a number; the smallest over trials of a text, numbers first; or the same of the row itself. */
  reading: { kind: 'score'; number: Sql } | { kind: 'document'; number: Sql; text: Sql } | RowReading
  needsCall: boolean
  /** Only the trials of this one count; null is all. */
  evaluation: string | null
  /** The largest minus the smallest of the evaluations' means. */
  difference: boolean
  direction: 'asc' | 'desc'
}

/** A value of the row as JSON, out of what a `trial` says of its row. */
export interface RowReading {
  kind: 'row'
  token: Sql
}

export interface RowPage {
  limit: number | null
  offset: number
}

function paged(db: Reader, { limit, offset }: RowPage): Sql {
  return sql` LIMIT ${limit === null ? db.dialect.noLimit : sql`${limit}`} OFFSET ${offset}`
}

/** The digests of a page of rows of a view without filters, of those `after` a row. */
export function selectRowPage(
  db: Reader,
  view: ResultsView,
  page: RowPage,
  after: string | null = null,
): Sql {
  return sql`${rowsOf(db, view, after)} ORDER BY row_digest${paged(db, page)}`
}

export function countRows(db: Reader, view: ResultsView): Sql {
  // The order makes SQLite merge the indexes instead of gathering the rows.
  return sql`SELECT count(*) AS count FROM (${rowsOf(db, view)} ORDER BY row_digest) AS rows_found`
}

export interface FoundRow {
  row_digest: string
  /** Of all rows of the view. */
  total: number
}

/** A page of rows where every row has to be looked at anyway: they are counted on the way. */
export function selectCountedPage(
  db: Reader,
  view: ResultsView,
  order: readonly RowOrder[],
  page: RowPage,
): Sql {
  const counted = trusted('SELECT row_digest, count(*) OVER () AS total FROM')
  if (order.length === 0) {
    return sql`${counted} (${rowsOf(db, view)}) AS found ORDER BY row_digest${paged(db, page)}`
  }
  const terms = join([...order.flatMap(orderTerms), trusted('row_digest')], ', ')
  return sql`WITH keyed AS (${keyedRows(db, view, order)}) ${counted} keyed ORDER BY ${terms}${paged(db, page)}`
}

/** The rows of the view with their keys: `mean0`; or `number0` and `text0`. */
function keyedRows(db: Reader, view: ResultsView, order: readonly RowOrder[]): Sql {
  const grouped = order.some(({ difference }) => difference)
    ? groupedTwice(db, view, order)
    : groupedOnce(db, view, order)
  if (!order.some(({ reading }) => reading.kind === 'row')) return grouped
  const tokens = order.flatMap(({ reading }, i) => (reading.kind === 'row' ? tokenOf(view, reading, i) : []))
  const keys = order.map(({ reading }, i) => {
    if (reading.kind === 'score') return trusted(`mean${i}`)
    if (reading.kind === 'document') return trusted(`number${i}, text${i}`)
    const { number, text } = db.dialect.json(trusted(`token${i}`), [])
    return sql`${number} AS ${trusted(`number${i}`)}, nullif(${text}, '') AS ${trusted(`text${i}`)}`
  })
  // Each is looked up once, whatever is read out of it.
  return sql`SELECT row_digest, ${join(keys, ', ')} FROM (
      WITH read_rows AS MATERIALIZED (SELECT chosen.*, ${join(tokens, ', ')} FROM (${grouped}) AS chosen)
      SELECT * FROM read_rows) AS read_rows`
}

function tokenOf({ project }: ResultsView, { token }: RowReading, i: number): Sql {
  const trial = sql`(SELECT CAST(${project} AS TEXT) AS project_id, chosen.row_digest AS row_digest,
    ${trusted(`chosen.trial${i} AS trial_id, chosen.kind${i} AS row_kind, chosen.brief${i} AS brief`)}) AS trial`
  return sql`(SELECT ${token} FROM ${trial}) AS ${trusted(`token${i}`)}`
}

/** For each key what is gathered over trials, as columns. */
function gathered({ reading, evaluation }: RowOrder, i: number): Sql[] {
  const only = (value: Sql) =>
    evaluation === null ? value : sql`CASE WHEN trial.evaluation_id = ${evaluation} THEN ${value} END`
  if (reading.kind === 'score') return [sql`avg(${only(reading.number)}) AS ${trusted(`mean${i}`)}`]
  if (reading.kind === 'document') {
    const text = sql`CASE WHEN ${reading.number} IS NULL THEN nullif(${reading.text}, '') END`
    return [
      sql`min(${only(reading.number)}) AS ${trusted(`number${i}`)}`,
      sql`min(${only(text)}) AS ${trusted(`text${i}`)}`,
    ]
  }
  return named(spokenByTrials(only), i)
}

function named(columns: Record<string, Sql>, i: number): Sql[] {
  return Object.entries(columns).map(([name, column]) => sql`${column} AS ${trusted(`${name}${i}`)}`)
}

function trialsOf(db: Reader, view: ResultsView, order: readonly RowOrder[]): Sql {
  return sql`FROM ${trialTable} ${order.some(({ needsCall }) => needsCall) ? ofCall : nothing}
    WHERE ${allOf([inScope(view, null), ...within(db, view), db.dialect.going])}`
}

function groupedOnce(db: Reader, view: ResultsView, order: readonly RowOrder[]): Sql {
  return sql`SELECT trial.row_digest AS row_digest, ${join(order.flatMap(gathered), ', ')}
    ${trialsOf(db, view, order)} GROUP BY trial.row_digest`
}

/** By evaluation first, whose means are then compared. What is a mean over all of them needs their sums. */
function groupedTwice(db: Reader, view: ResultsView, order: readonly RowOrder[]): Sql {
  const inner = order.flatMap((key, i) =>
    key.reading.kind === 'score'
      ? [
          sql`sum(${key.reading.number} * 1.0) AS ${trusted(`sum${i}`)}`,
          sql`count(${key.reading.number}) AS ${trusted(`count${i}`)}`,
        ]
      : gathered(key, i),
  )
  const outer = order.map(({ reading, evaluation, difference }, i) => {
    if (reading.kind === 'row') {
      return join(
        named(
          spokenRow(`kind${i}`, `trial${i}`, `brief${i}`, (value) => value),
          i,
        ),
        ', ',
      )
    }
    if (reading.kind === 'document')
      return trusted(`min(number${i}) AS number${i}, min(text${i}) AS text${i}`)
    const mean = trusted(`(sum${i} / nullif(count${i}, 0))`)
    const only = (column: string) =>
      evaluation === null
        ? trusted(`${column}${i}`)
        : sql`CASE WHEN evaluation_id = ${evaluation} THEN ${trusted(`${column}${i}`)} END`
    // A row that is missing from one of them has no difference.
    const value = difference
      ? sql`CASE WHEN count(${mean}) = ${view.evaluations.length} THEN max(${mean}) - min(${mean}) END`
      : sql`sum(${only('sum')}) / nullif(sum(${only('count')}), 0)`
    return sql`${value} AS ${trusted(`mean${i}`)}`
  })
  return sql`SELECT row_digest, ${join(outer, ', ')} FROM (
      SELECT trial.row_digest AS row_digest, trial.evaluation_id AS evaluation_id, ${join(inner, ', ')}
      ${trialsOf(db, view, order)} GROUP BY trial.row_digest, trial.evaluation_id
    ) AS part GROUP BY row_digest`
}

/** Numbers before text, and what is missing last, in both directions. */
function orderTerms({ reading, direction }: RowOrder, i: number): Sql[] {
  const way = direction === 'asc' ? 'ASC NULLS LAST' : 'DESC NULLS LAST'
  if (reading.kind === 'score') return [trusted(`mean${i} ${way}`)]
  return [
    trusted(`CASE WHEN number${i} IS NULL THEN 1 ELSE 0 END`),
    trusted(`number${i} ${way}`),
    trusted(`CASE WHEN number${i} IS NULL THEN text${i} END ${way}`),
  ]
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

export type ShapeSums = Record<`v${number}`, number | null> & {
  evaluation_id: string
  shape: number
  trials: number
  failed: number
  first_row: string
  /** The first trial of that row. */
  first_trial: string
}

const sums = trusted(
  Array.from({ length: slotCount }, (_, slot) => `sum(trial.v${slot} * 1.0) AS v${slot}`).join(', '),
)

/** The trials of the view added up: by evaluation, and by which scalars their scores hold. */
export function selectSums(db: Reader, view: ResultsView): Sql {
  const firstTrial = sql`(SELECT CAST(first.started_at AS TEXT) || first.trial_id FROM eval_trials AS first
    WHERE first.project_id = ${view.project} AND first.evaluation_id = found.evaluation_id
      AND first.row_digest = found.first_row ORDER BY first.started_at, first.trial_id LIMIT 1)`
  return sql`SELECT found.*, ${firstTrial} AS first_trial FROM (
      SELECT trial.evaluation_id AS evaluation_id, trial.shape AS shape, count(*) AS trials,
        sum(trial.failed) AS failed, min(trial.row_digest) AS first_row, ${sums}
      FROM ${trialTable} WHERE ${allOf([inScope(view, null), ...within(db, view), db.dialect.going])}
      GROUP BY trial.evaluation_id, trial.shape
    ) AS found`
}

/** The scores of trials that have no shape. */
export function selectShapeless(db: Reader, view: ResultsView): Sql {
  return sql`SELECT trial.evaluation_id AS evaluation_id, trial.scores AS scores FROM ${trialTable}
    WHERE ${allOf([
      inScope(view, null),
      sql`trial.shape = ${trusted(String(noShape))}`,
      ...within(db, view),
      db.dialect.going,
    ])}`
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
