import { type Caller, requireAccess } from '../../domain/callers.ts'
import { modelOutput } from '../../domain/evaluations/trial.ts'
import { valueAt } from '../../domain/expressions/json-value.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { lastOwed, owedBetween } from '../../storage/evaluations/pending.ts'
import {
  countRows,
  type FoundRow,
  hasStaleTrials,
  type ResultsView,
  type RootRow,
  type RowPage,
  selectCountedPage,
  selectRoots,
  selectRowPage,
  selectTrials,
  type TrialRow,
} from '../../storage/evaluations/results.ts'
import { type RowSet, readRowSets } from '../../storage/evaluations/row-sets.ts'
import { readShapes } from '../../storage/evaluations/shapes.ts'
import type { Sql } from '../../storage/sql/sql.ts'
import { bringsRow, rawRowsOf } from './raw-rows.ts'
import { rowFiltersOf } from './result-filters.ts'
import { rowOrderOf } from './result-order.ts'
import { mostEvaluations, type ResultsBody, type Summary } from './results-contract.ts'
import { summaries } from './summary.ts'

const mostWarnings = 1000
const refreshedAtOnce = 200
/** Rows whose trials are in memory at a time. */
const rowsAtOnce = 50

export interface Results {
  /** JSON texts, read as the answer goes out. */
  rows: AsyncIterable<string>
  /** The rest of the answer. `warnings` grows while the rows are read. */
  others: { total_rows: number; summary: Summary | null; warnings: string[] }
}

/** Everything that can be refused is, before the first row is read. */
export async function queryResults(
  db: Database,
  caller: Caller,
  project: string,
  body: ResultsBody,
  signal: AbortSignal,
): Promise<Results> {
  requireAccess(caller, project, 'path')
  const evaluations = evaluationsOf(body)
  const time = now()
  await refreshTrials(db, project, time, signal)
  const needsShapes = Boolean(body.filters?.length || body.sort_by?.length || body.include_summary)
  const shapes = needsShapes ? await readShapes(db, project, evaluations) : []
  const view: ResultsView = {
    project,
    evaluations,
    filters: rowFiltersOf(body.filters, shapes, db.dialect),
    intersect: body.require_intersection ?? false,
  }
  const summaryView = { ...view, intersect: body.summary_require_intersection ?? view.intersect }
  const order = rowOrderOf(body.sort_by, evaluations, shapes, db.dialect)
  const limit = body.limit ?? null
  const page = { limit, offset: Math.max(0, body.offset ?? 0) }
  const warnings = unheeded(body, evaluations)
  const roots = new Map(
    (await db.all<RootRow>(selectRoots(project, evaluations, time))).map((row) => [row.id, row]),
  )
  const rowSets = await readRowSets(db, project, evaluations)
  let digests: readonly string[] | 'all' = []
  let total = 0
  const shown = body.include_rows ?? true
  if (shown) {
    const needsAll = view.filters.length > 0 || order.length > 0
    if (limit === 0) total = await countOf(db, view, rowSets, signal)
    else if (needsAll) {
      const found = await rowsOf<FoundRow>(db, selectCountedPage(db, view, order, page), signal)
      digests = found.map(({ row_digest }) => row_digest)
      const isEmpty = found.length === 0 && page.offset > 0
      total = isEmpty ? await countOf(db, view, rowSets, signal) : (found[0]?.total ?? 0)
    } else {
      digests = limit === null ? 'all' : await digestsOf(db, view, page, signal)
      const isWhole = digests !== 'all' && page.offset === 0 && digests.length < (limit ?? 0)
      total = isWhole ? digests.length : await countOf(db, view, rowSets, signal)
    }
  }
  let summary: Summary | null = null
  if (body.include_summary) {
    const same = shown && summaryView.intersect === view.intersect
    summary = {
      row_count: same ? total : await countOf(db, summaryView, rowSets, signal),
      evaluations: await summaries(db, summaryView, shapes, roots, signal),
    }
  }
  if (evaluations.length > 1) warnings.push(...(await comparisonWarnings(db, view, rowSets, roots, signal)))
  const others = { total_rows: total, summary, warnings }
  const warn = (text: string) => {
    if (warnings.length < mostWarnings) warnings.push(text)
    else if (warnings.length === mostWarnings) warnings.push('There are more warnings like these.')
  }
  return { rows: rowTexts(), others }

  /** All rows of a large evaluation are found while they are read, so that no list of them is in memory. */
  async function* someDigests(): AsyncGenerator<readonly string[]> {
    if (digests !== 'all') {
      for (let from = 0; from < digests.length; from += rowsAtOnce)
        yield digests.slice(from, from + rowsAtOnce)
      return
    }
    let { offset } = page
    for (let after: string | null = null; ; offset = 0) {
      const some = await digestsOf(db, view, { limit: rowsAtOnce, offset }, signal, after)
      if (some.length > 0) yield some
      if (some.length < rowsAtOnce) return
      after = some.at(-1) as string
    }
  }

  async function* rowTexts(): AsyncGenerator<string> {
    for await (const some of someDigests()) {
      const trials = new Map<string, TrialRow[]>()
      for await (const chunk of db.stream<TrialRow>(selectTrials(db, view, some), { signal })) {
        for (const trial of chunk) {
          const list = trials.get(trial.row_digest)
          if (list) list.push(trial)
          else trials.set(trial.row_digest, [trial])
        }
      }
      const firsts = some.flatMap((digest) => trials.get(digest)?.find(bringsRow) ?? [])
      const raw = body.include_raw_data_rows
        ? await rawRowsOf(
            { db, caller, project, resolve: body.resolve_row_refs ?? false, signal, warn },
            firsts,
          )
        : undefined
      for (const digest of some) {
        const list = trials.get(digest)
        // Deleted since the page was found.
        if (list === undefined) continue
        yield writeJson({
          row_digest: digest,
          evaluations: [...Map.groupBy(list, ({ evaluation_id }) => evaluation_id)].map(
            ([evaluation_call_id, ofEvaluation]) => ({
              evaluation_call_id,
              trials: ofEvaluation.map((trial) =>
                trialRecord(trial, body.include_predict_and_score_children ?? true),
              ),
            }),
          ),
          raw_data_row: raw?.get(digest) ?? null,
        })
      }
    }
  }
}

function trialRecord(trial: TrialRow, withChildren: boolean) {
  const output = modelOutput(trial.output, trial.output_key)
  const own = trial.output?.startsWith('{') ? valueAt(trial.output, ['scores']) : undefined
  return {
    predict_and_score_call_id: trial.trial_id,
    model_latency_seconds: withChildren ? trial.latency : trial.own_latency,
    model_output: output === null ? null : new JsonText(output),
    predict_call_id: withChildren ? trial.predict_call_id : null,
    scorer_call_ids: withChildren ? new JsonText(trial.scorer_call_ids) : {},
    scores: new JsonText(withChildren ? trial.scores : own?.startsWith('{') ? own : '{}'),
    total_tokens: withChildren ? trial.tokens : trial.own_tokens,
  }
}

/** Both lists mean the same; the first occurrence counts. */
function evaluationsOf({ evaluation_call_ids, evaluation_run_ids }: ResultsBody): string[] {
  const ids = [...new Set([...(evaluation_call_ids ?? []), ...(evaluation_run_ids ?? [])])]
  if (ids.length <= mostEvaluations) return ids
  const field =
    (evaluation_call_ids?.length ?? 0) > mostEvaluations ? 'evaluation_call_ids' : 'evaluation_run_ids'
  throw refuse('too_many_ids', { field, given: ids.length, limit: mostEvaluations })
}

/** What was written since it was derived is there at once, and what expired is gone at once. */
async function refreshTrials(
  db: Database,
  project: string,
  time: number,
  signal: AbortSignal,
): Promise<void> {
  // What is written meanwhile is not waited for.
  const last = await lastOwed(db, project)
  for (let after = ''; last !== undefined && after !== last; ) {
    signal.throwIfAborted()
    const trial_ids = await owedBetween(db, project, after, last, refreshedAtOnce)
    if (trial_ids.length === 0) break
    await db.write('deriveOwed', { project_id: project, trial_ids, now: time })
    after = trial_ids.at(-1) as string
  }
  while (await hasStaleTrials(db, project, time)) {
    signal.throwIfAborted()
    await db.write('refreshStale', { now: time, project_id: project, limit: refreshedAtOnce })
  }
}

async function rowsOf<T>(db: Database, query: Sql, signal: AbortSignal): Promise<T[]> {
  const all: T[] = []
  for await (const rows of db.stream<T>(query, { signal, rows: 1000 })) {
    for (const row of rows) all.push(row)
  }
  return all
}

async function digestsOf(
  db: Database,
  view: ResultsView,
  page: RowPage,
  signal: AbortSignal,
  after: string | null = null,
): Promise<string[]> {
  const rows = await rowsOf<{ row_digest: string }>(db, selectRowPage(db, view, page, after), signal)
  return rows.map(({ row_digest }) => row_digest)
}

/** Evaluations of the same rows need not be looked at, so that a page costs what it shows. */
async function countOf(
  db: Database,
  view: ResultsView,
  rowSets: readonly RowSet[],
  signal: AbortSignal,
): Promise<number> {
  const [first] = rowSets
  if (view.filters.length === 0) {
    if (first === undefined) return 0
    if (view.intersect && rowSets.length < view.evaluations.length) return 0
    if (rowSets.every(({ row_sum }) => row_sum === first.row_sum)) return first.row_count
  }
  for await (const [row] of db.stream<{ count: number }>(countRows(db, view), { signal }))
    return row?.count ?? 0
  throw new Error('a count answers one row')
}

function unheeded(body: ResultsBody, evaluations: readonly string[]): string[] {
  const warnings: string[] = []
  if (body.resolve_row_refs && !body.include_raw_data_rows) {
    warnings.push('resolve_row_refs: it has no effect without include_raw_data_rows.')
  }
  for (const name of ['filters', 'sort_by'] as const) {
    for (const [index, { evaluation_call_id: id }] of (body[name] ?? []).entries()) {
      if (id != null && !evaluations.includes(id)) {
        warnings.push(
          `${name}.${index}.evaluation_call_id: ${id} is none of the evaluations that were asked for.`,
        )
      }
    }
  }
  return warnings
}

/** Why evaluations that are compared show nothing beside each other. */
async function comparisonWarnings(
  db: Database,
  view: ResultsView,
  rowSets: readonly RowSet[],
  roots: ReadonlyMap<string, RootRow>,
  signal: AbortSignal,
): Promise<string[]> {
  const withTrials = new Map(rowSets.map((set) => [set.evaluation_id, set.row_sum]))
  if (withTrials.size === view.evaluations.length) {
    if (new Set(withTrials.values()).size === 1) return []
    const common = { ...view, filters: [], intersect: true }
    const [first] = await digestsOf(db, common, { limit: 1, offset: 0 }, signal)
    if (first !== undefined) return []
  }
  const warnings = ['The evaluations have no row in common.']
  for (const id of view.evaluations) {
    if (!withTrials.has(id)) warnings.push(`The evaluation ${id} has no trials.`)
    else if (roots.get(id)?.ended_at === null) warnings.push(`The evaluation ${id} has not finished.`)
  }
  return warnings
}
