import { batchesOf } from '../../domain/batches.ts'
import { slotCount } from '../../domain/evaluations/shape.ts'
import { fieldsOf } from '../../domain/expressions/expression.ts'
import { now } from '../../domain/time.ts'
import type { Page } from '../../domain/view.ts'
import { isLive } from '../calls/calls.ts'
import { shownName } from '../calls/columns.ts'
import type { Database } from '../database.ts'
import { allOf, listOf, rawSql, type Sql, sql, wantedIds, wantedPairs } from '../sql/sql.ts'
import { allRows, onlyRow, type Reader } from '../transaction.ts'
import { readHeaders } from './columns/reading.ts'
import type { ColumnSums } from './columns/sums.ts'
import { planColumns } from './columns/view.ts'
import { lastPending, pendingBetween } from './pending.ts'
import { countUnread, projectsReferredTo, type ReferredRows } from './referred-rows.ts'
import { type ResultsFilter, resultField, rowFiltersOf } from './result-fields.ts'
import { type FoundRow, type ResultsSort, rowOrderOf, selectCountedPage } from './result-order.ts'
import {
  countRows,
  inScope,
  inView,
  ofCall,
  type RowsOfView,
  selectRowPage,
  trialTable,
} from './result-rows.ts'
import { neighboursIn, type RankedRow, readNeighbours } from './row-rank.ts'
import { readRowSets } from './row-sets.ts'
import { type ScoreReader, scoresOfTrials } from './score-views.ts'
import { noShape, readShapes } from './shapes.ts'

/** The rows of a view, their order, and the page of them. */
export interface ResultsView extends Page {
  project: string
  /** Each once. */
  evaluations: readonly string[]
  /** A row is included if every filter holds for some trial in its scope. */
  filters: readonly ResultsFilter[]
  sort: readonly ResultsSort[]
  /** Only rows that every evaluation has. */
  intersect: boolean
  /** Projects whose rows filters and sorts may read when trials refer to them. */
  mayRead(project: string): boolean
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

export type ShapeSums = Record<`v${number}`, number | null> & {
  evaluation_id: string
  shape: number
  trials: number
  failed: number
  first_row: string
  /** The first trial of that row. */
  first_trial: string
}

export interface RootRow {
  id: string
  trace_id: string | null
  display_name: string | null
  started_at: number
  ended_at: number | null
  inputs: string | null
}

/** A page of rows by their digests, in batches, and the number of rows of the view. */
export interface RowPage {
  total: number
  digests: Iterable<readonly string[]> | AsyncIterable<readonly string[]>
}

export type Results = Awaited<ReturnType<typeof deriveThenOpen>>

/** Skipping fewer rows than this in digest order costs less than reading the columns. */
const leastSkipped = 500

/** Rows whose trials are in memory at a time. */
const rowsAtOnce = 50

/**
 * Derives what was written or has expired since the last derivation, then opens the results. Everything that can be
 * refused is refused before this resolves.
 */
export async function deriveThenOpen(db: Database, view: ResultsView, signal: AbortSignal) {
  const { project, evaluations, limit, offset } = view
  const time = now()
  await derivePending(db, project, time, signal)
  const needsShapes = view.filters.length > 0 || view.sort.length > 0
  const shapes = needsShapes ? await readShapes(db, project, evaluations) : []
  const rowSets = await readRowSets(db, project, evaluations)
  const headers = await readHeaders(db, project, rowSets)
  const columns = planColumns({ db, view, sets: rowSets, headers, shapes, signal })
  const referred: ReferredRows = { db, project, evaluations, signal }
  const mayLackRows = readsInputs(view) && !columns?.areRowsRead
  const otherProjects = mayLackRows ? (await projectsReferredTo(referred)).filter(view.mayRead) : []
  const sources = { shapes, otherProjects, dialect: db.dialect }
  const filters = rowFiltersOf(view.filters, sources)
  const order = rowOrderOf(view.sort, evaluations, sources)
  const roots = await db.all<RootRow>(selectRoots(db, project, evaluations, time))
  const rowsWith = (intersect: boolean): RowsOfView => ({ project, evaluations, filters, intersect })
  const rows = rowsWith(view.intersect)

  /** Evaluations of the same rows need not be read, so that a page costs only what it shows. */
  async function count(intersect: boolean): Promise<number> {
    const [first] = rowSets
    if (filters.length === 0) {
      if (first === undefined || (intersect && rowSets.length < evaluations.length)) return 0
      if (rowSets.every(({ row_sum }) => row_sum === first.row_sum)) return first.row_count
    }
    const known = await columns?.count(intersect)
    if (known !== undefined) return known
    return (await onlyRow<{ count: number }>(db, countRows(db, rowsWith(intersect)), signal)).count
  }

  async function digestsOf(page: Page, after: string | null = null, from = rows): Promise<string[]> {
    const found = await allRows<FoundRow>(db, selectRowPage(db, from, page, after), signal)
    return found.map(({ row_digest }) => row_digest)
  }

  /** The rows of a large evaluation are found while they are read, so that memory never has a list of all of them. */
  async function* allDigests(): AsyncGenerator<readonly string[]> {
    let page = { limit: rowsAtOnce, offset }
    for (let after: string | null = null; ; page = { ...page, offset: 0 }) {
      const some = await digestsOf(page, after)
      if (some.length > 0) yield some
      if (some.length < rowsAtOnce) return
      after = some.at(-1) as string
    }
  }

  async function page(): Promise<RowPage> {
    if (limit === 0) return { total: await count(view.intersect), digests: [] }
    const end = limit === null ? undefined : offset + limit
    const byColumns = needsShapes || offset >= leastSkipped
    const ordered = byColumns ? await columns?.order(view.intersect, end) : undefined
    if (ordered !== undefined) {
      const { rows: found, total, digests } = ordered
      const shown = Array.from(found.subarray(offset, end), (row) => digests.at(row))
      return { total, digests: batchesOf(shown, rowsAtOnce) }
    }
    if (needsShapes) {
      const found = await allRows<FoundRow>(db, selectCountedPage(db, rows, order, view), signal)
      const isBeyond = found.length === 0 && offset > 0
      return {
        total: isBeyond ? await count(view.intersect) : (found[0]?.total ?? 0),
        digests: batchesOf(
          found.map(({ row_digest }) => row_digest),
          rowsAtOnce,
        ),
      }
    }
    if (limit === null) return { total: await count(view.intersect), digests: allDigests() }
    const digests = await digestsOf(view)
    const isWhole = offset === 0 && digests.length < limit
    const total = isWhole ? digests.length : await count(view.intersect)
    return { total, digests: batchesOf(digests, rowsAtOnce) }
  }

  return {
    /** A row of the view and its neighbours in the order; none if the row is not in the view. */
    async neighbours(row: string, near: number): Promise<RankedRow[]> {
      const ordered = await columns?.order(view.intersect)
      if (ordered === undefined) return readNeighbours(db, rows, order, row, near, signal)
      return neighboursIn(ordered, row, near)
    },
    /** The score that the rows are sorted by; undefined if they are not sorted by a score. */
    async scores(): Promise<ScoreReader | undefined> {
      const reading = order[0]?.reading
      if (reading?.kind !== 'score') return undefined
      const kept = await columns?.scores(view.intersect)
      return kept ?? scoresOfTrials({ db, rows, number: reading.number, signal })
    },
    /** The root calls of the evaluations, by id. */
    roots: new Map(roots.map((root) => [root.id, root])),
    /** For the evaluations that have trials: what identifies their set of rows. */
    rowSums: new Map(rowSets.map((set) => [set.evaluation_id, set.row_sum])),
    page,
    count,
    /** Rows whose inputs the filters and sorts cannot read. */
    unreadRows: () => (mayLackRows ? countUnread(referred, otherProjects) : 0),
    async hasCommonRow(): Promise<boolean> {
      const all = { ...rowsWith(true), filters: [] }
      return (await digestsOf({ limit: 1, offset: 0 }, null, all)).length > 0
    },
    /** The trials of some rows, oldest first. */
    trialsOf: (digests: readonly string[]) =>
      db.stream<TrialRow>(selectTrials(db, rows, digests), { signal }),
    /** The inputs of some trials. */
    inputsOf: (trials: readonly string[]) =>
      db.stream<{ id: string; inputs: string | null }>(selectInputs(db, project, trials), { signal }),
    /** Sums over the trials, by evaluation and by which scalars their scores have. */
    async sums(intersect: boolean): Promise<ShapeSums[]> {
      const kept = await columns?.sums(intersect)
      if (kept === undefined) return allRows<ShapeSums>(db, selectSums(db, rowsWith(intersect)), signal)
      return withFirstTrials(db, project, kept)
    },
    /** The scores of the trials that have no shape. */
    shapeless: (intersect: boolean) =>
      db.stream<{ evaluation_id: string; scores: string }>(selectShapeless(db, rowsWith(intersect)), {
        signal,
      }),
  }
}

function readsInputs({ filters, sort }: ResultsView): boolean {
  const fields = [...filters.flatMap(({ query }) => fieldsOf(query)), ...sort.map(({ field }) => field)]
  return fields.some((field) => resultField(field)?.document === 'inputs')
}

const derivedAtOnce = 200

/** Makes recent writes visible and removes expired trials. */
export async function derivePending(
  db: Database,
  project: string,
  time: number,
  signal: AbortSignal,
): Promise<void> {
  // What is written from now on is not waited for.
  const last = await lastPending(db, project)
  for (let after = ''; last !== undefined && after !== last; ) {
    signal.throwIfAborted()
    const trial_ids = await pendingBetween(db, project, after, last, derivedAtOnce)
    if (trial_ids.length === 0) break
    await db.write('derivePending', { project_id: project, trial_ids, now: time })
    after = trial_ids.at(-1) as string
  }
  while (await hasStaleTrials(db, project, time)) {
    signal.throwIfAborted()
    await db.write('refreshStale', { now: time, project_id: project, limit: derivedAtOnce })
  }
}

function selectTrials(db: Reader, view: RowsOfView, digests: readonly string[]): Sql {
  const stored = (column: string) =>
    sql`${db.dialect.stored(rawSql(column))} AS ${rawSql(column.replace(/.*\./, ''))}`
  return sql`${wantedIds(digests)} SELECT trial.trial_id, trial.evaluation_id, trial.row_digest, trial.row_kind, trial.output_key,
      trial.predict_call_id, trial.latency, trial.tokens, trial.own_latency, trial.own_tokens,
      ${stored('trial.scorer_call_ids')}, ${stored('trial.scores')}, ${stored('call.output')}
    FROM wanted CROSS JOIN ${trialTable} ${ofCall}
    WHERE ${inScope(view, null)} AND trial.row_digest = wanted.id AND ${db.dialect.cancellable}
    ORDER BY trial.started_at, trial.trial_id`
}

function selectInputs(db: Reader, project: string, ids: readonly string[]): Sql {
  return sql`${wantedIds(ids)} SELECT calls.id, ${db.dialect.stored(rawSql('inputs'))} AS inputs FROM wanted CROSS JOIN calls
    WHERE project_id = ${project} AND calls.id = wanted.id`
}

const sumColumns = rawSql(
  Array.from({ length: slotCount }, (_, slot) => `sum(trial.v${slot} * 1.0) AS v${slot}`).join(', '),
)

function selectSums(db: Reader, view: RowsOfView): Sql {
  const firstTrial = sql`(SELECT CAST(first.started_at AS TEXT) || first.trial_id FROM eval_trials AS first
    WHERE first.project_id = ${view.project} AND first.evaluation_id = found.evaluation_id
      AND first.row_digest = found.first_row ORDER BY first.started_at, first.trial_id LIMIT 1)`
  return sql`SELECT found.*, ${firstTrial} AS first_trial FROM (
      SELECT trial.evaluation_id AS evaluation_id, trial.shape AS shape, count(*) AS trials,
        sum(trial.failed) AS failed, min(trial.row_digest) AS first_row, ${sumColumns}
      FROM ${trialTable} WHERE ${allOf([inScope(view, null), ...inView(db, view), db.dialect.trialsCancellable])}
      GROUP BY trial.evaluation_id, trial.shape
    ) AS found`
}

async function withFirstTrials(
  db: Reader,
  project: string,
  kept: readonly ColumnSums[],
): Promise<ShapeSums[]> {
  const pairs = [...new Map(kept.map(({ evaluation_id, first_row }) => [evaluation_id, first_row]))]
  if (pairs.length === 0) return []
  const firsts = await db.all<{ one: string; first_trial: string }>(
    sql`${wantedPairs(pairs)} SELECT one, (SELECT CAST(started_at AS TEXT) || trial_id FROM eval_trials
          WHERE project_id = ${project} AND evaluation_id = wanted.one AND row_digest = wanted.other
          ORDER BY started_at, trial_id LIMIT 1) AS first_trial
        FROM wanted WHERE one IS NOT NULL`,
  )
  const firstOf = new Map(firsts.map(({ one, first_trial }) => [one, first_trial]))
  return kept.map(({ sums, ...totals }) => ({
    ...totals,
    ...Object.fromEntries(sums.map((sum, slot) => [`v${slot}`, sum])),
    first_trial: firstOf.get(totals.evaluation_id) ?? '',
  }))
}

function selectShapeless(db: Reader, view: RowsOfView): Sql {
  return sql`SELECT trial.evaluation_id AS evaluation_id, trial.scores AS scores FROM ${trialTable}
    WHERE ${allOf([
      inScope(view, null),
      sql`trial.shape = ${rawSql(String(noShape))}`,
      ...inView(db, view),
      db.dialect.cancellable,
    ])}`
}

function selectRoots(db: Reader, project: string, ids: readonly string[], time: number): Sql {
  return sql`SELECT id, trace_id, ${rawSql(shownName)} AS display_name, started_at, ended_at,
      ${db.dialect.stored(rawSql('inputs'))} AS inputs
    FROM calls WHERE project_id = ${project} AND id IN (${listOf(ids)}) AND ${isLive(time)}`
}

/** Whether a call of some trial has expired since the trial was derived. */
async function hasStaleTrials(db: Reader, project: string, now: number): Promise<boolean> {
  const one = await db.get(
    sql`SELECT trial_id FROM eval_trials WHERE stale_at <= ${now} AND project_id = ${project} ORDER BY stale_at LIMIT 1`,
  )
  return one !== undefined
}
