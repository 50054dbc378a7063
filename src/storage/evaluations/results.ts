import { compareText } from '../../../packages/json/index.ts'
import { fieldsOf } from '../../domain/expressions/expression.ts'
import { now } from '../../domain/time.ts'
import { isLive } from '../calls/calls.ts'
import { shownName } from '../calls/columns.ts'
import type { BoundDatabase } from '../database.ts'
import { allOf, listOf, rawSql, type Sql, sql, wantedIds, wantedPairs } from '../sql/sql.ts'
import { allRows, type Reader } from '../transaction.ts'
import { openColumns } from './columns/column-pages.ts'
import { wholeSums } from './columns/named-columns.ts'
import { readSets } from './columns/reading.ts'
import type { EvaluationPages, ResultsView, ShapeSums } from './evaluation-pages.ts'
import { lastPending, pendingBetween } from './pending.ts'
import { countUnread, projectsReferredTo, type ReferredRows } from './referred-rows.ts'
import { resultField, rowFiltersOf } from './result-fields.ts'
import { rowOrderOf } from './result-order.ts'
import { inScope, inView, ofCall, type RowsOfView, selectRowPage, trialTable } from './result-rows.ts'
import { haveSameRows, readRowSets } from './row-sets.ts'
import { noShape, readShapes } from './shapes.ts'
import { pagesOfTrials } from './trial-pages.ts'

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

export interface RootRow {
  id: string
  trace_id: string | null
  display_name: string | null
  started_at: number
  ended_at: number | null
  inputs: string | null
}

export type Results = Awaited<ReturnType<typeof deriveThenOpen>>

/** Rows whose trials are in memory at a time. */
const rowsAtOnce = 50
/** Rows of which only the digests are read. */
const digestsAtOnce = 10_000
/** Skipping fewer rows than this in the order of digests costs less than reading the columns. */
const minSkipped = 500

/**
 * Derives what was written or has expired since the last derivation, then opens the results. Everything that can be
 * refused is refused before this resolves.
 */
export async function deriveThenOpen(db: BoundDatabase, view: ResultsView) {
  const { project, evaluations, filters, sort, sumsIntersect } = view
  const time = now()
  await derivePending(db, project, time)
  const isPlain = filters.length === 0 && sort.length === 0
  // Before all else: `areUnchanged` compares with these.
  const sets = await readSets(db, project, evaluations)
  const shapes = isPlain ? [] : await readShapes(db, project, evaluations)
  const stored = sets.flatMap(({ header, ...set }) => (header === undefined ? [] : [{ ...set, header }]))
  const areStored = sets.length > 0 && stored.length === sets.length
  const areRowsRead = areStored && stored.every(({ header }) => header.unread === 0)
  const referred: ReferredRows = { db, project, evaluations }
  const mayLackRows = readsInputs(view) && !areRowsRead
  const otherProjects = mayLackRows ? (await projectsReferredTo(referred)).filter(view.mayRead) : []
  const sources = { shapes, otherProjects, dialect: db.dialect }
  const rows: RowsOfView = { ...view, filters: rowFiltersOf(filters, sources) }
  const order = rowOrderOf(sort, evaluations, sources)
  const roots = await db.all<RootRow>(selectRoots(db, project, evaluations, time))

  /**
   * Columns answer if they hold what is asked, or else the trials do. One of the first pages in the order of digests is
   * read from the trials in any case if the evaluations have the same rows, because then only the page is read.
   */
  async function openPages(): Promise<EvaluationPages> {
    const trials = pagesOfTrials({ db, rows, order, sets })
    if (!areStored) return trials
    const isFirst = isPlain && view.offset < minSkipped && haveSameRows(sets)
    const known = isFirst ? wholeSums(view, stored) : undefined
    if (known !== undefined) return { ...trials, sums: async () => known }
    return (await openColumns({ db, view, of: stored, shapes })) ?? trials
  }
  const pages = await openPages()

  return {
    /** The place of a row in the view, from 0, and its neighbours in the order; null if it is not in the view. */
    async rankOf(row: string, near: number) {
      const { total, digests } = await pages.page({ limit: null, offset: 0 }, digestsAtOnce)
      let passed: string[] = []
      let [first, at] = [0, -1]
      for await (const some of digests) {
        // Of the rows before, only the neighbours are kept.
        const dropped = at === -1 ? Math.max(0, passed.length - near) : 0
        first += dropped
        passed = [...passed.slice(dropped), ...some]
        if (at === -1) at = passed.indexOf(row)
        if (at !== -1 && passed.length > at + near) break
      }
      if (at === -1) return { rank: null, total_rows: total, before: [], after: [] }
      const [before, after] = [passed.slice(Math.max(0, at - near), at), passed.slice(at + 1, at + near + 1)]
      return { rank: first + at, total_rows: total, before, after }
    },
    /** The score that the rows are sorted by. */
    scores: pages.scores,
    /** The root calls of the evaluations, by id. */
    roots: new Map(roots.map((root) => [root.id, root])),
    /** For the evaluations that have trials: what identifies their set of rows. */
    rowSums: new Map(sets.map((set) => [set.evaluation_id, set.row_sum])),
    page: () => pages.page(view, rowsAtOnce),
    count: pages.count,
    /** Rows whose inputs the filters and sorts cannot read. */
    unreadRows: () => (mayLackRows ? countUnread(referred, otherProjects) : 0),
    async hasCommonRow(): Promise<boolean> {
      const common: RowsOfView = { ...rows, intersect: true, filters: [] }
      return (await allRows(db, selectRowPage(db, common, { limit: 1, offset: 0 }))).length > 0
    },
    /** The trials of some rows, oldest first. */
    trialsOf: (digests: readonly string[]) => db.stream<TrialRow>(selectTrials(db, rows, digests)),
    /** The inputs of some trials. */
    inputsOf: (trials: readonly string[]) =>
      db.stream<{ id: string; inputs: string | null }>(selectInputs(db, project, trials)),
    /** Whether all that was read since the results were opened is of one moment. */
    async areUnchanged(): Promise<boolean> {
      const versions = new Set(sets.map(({ version }) => version))
      const present = await readRowSets(db, project, evaluations)
      return present.length === sets.length && present.every(({ version }) => versions.has(version))
    },
    /** Sums over the trials, by evaluation and by which scalars their scores have. */
    async sums(): Promise<(ShapeSums & { first_trial: string })[]> {
      return sumsIntersect === null ? [] : withFirstTrials(db, project, await pages.sums(sumsIntersect))
    },
    /** The scores of the trials that have no shape. */
    shapeless: () =>
      db.stream<{ evaluation_id: string; scores: string }>(
        selectShapeless(db, { ...rows, intersect: sumsIntersect ?? view.intersect }),
      ),
  }
}

function readsInputs({ filters, sort }: ResultsView): boolean {
  const fields = [...filters.flatMap(({ query }) => fieldsOf(query)), ...sort.map(({ field }) => field)]
  return fields.some((field) => resultField(field)?.document === 'inputs')
}

const derivedAtOnce = 200

/** Makes recent writes visible and removes expired trials. */
export async function derivePending(db: BoundDatabase, project: string, time: number): Promise<void> {
  // What is written from now on is not waited for.
  const last = await lastPending(db, project)
  for (let after = ''; last !== undefined && after !== last; ) {
    db.signal.throwIfAborted()
    const trial_ids = await pendingBetween(db, project, after, last, derivedAtOnce)
    if (trial_ids.length === 0) break
    await db.write('derivePending', { project_id: project, trial_ids, now: time })
    after = trial_ids.at(-1) as string
  }
  while (await hasStaleTrials(db, project, time)) {
    db.signal.throwIfAborted()
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

/** With the first trial of the first row of each evaluation. */
async function withFirstTrials(
  db: Reader,
  project: string,
  sums: readonly ShapeSums[],
): Promise<(ShapeSums & { first_trial: string })[]> {
  const firstRows = sums
    .toSorted((a, b) => compareText(b.first_row, a.first_row))
    .map(({ evaluation_id, first_row }): [string, string] => [evaluation_id, first_row])
  const pairs = [...new Map(firstRows)]
  if (pairs.length === 0) return []
  const firsts = await db.all<{ evaluation: string; first_trial: string }>(
    sql`${wantedPairs(pairs)} SELECT evaluation, (SELECT CAST(started_at AS TEXT) || trial_id FROM eval_trials
          WHERE project_id = ${project} AND evaluation_id = wanted.evaluation AND row_digest = wanted.row_digest
          ORDER BY started_at, trial_id LIMIT 1) AS first_trial
        FROM wanted WHERE evaluation IS NOT NULL`,
  )
  const firstOf = new Map(firsts.map(({ evaluation, first_trial }) => [evaluation, first_trial]))
  return sums.map((sum) => ({ ...sum, first_trial: firstOf.get(sum.evaluation_id) ?? '' }))
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
  const stale = await db.get(
    sql`SELECT trial_id FROM eval_trials WHERE stale_at <= ${now} AND project_id = ${project} ORDER BY stale_at LIMIT 1`,
  )
  return stale !== undefined
}
