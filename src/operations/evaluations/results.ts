import { type Caller, hasAccess, requireAccess } from '../../domain/callers.ts'
import { modelOutput } from '../../domain/evaluations/trial.ts'
import { valueAt } from '../../domain/expressions/json-value.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import { startingWith } from '../../http/streams/streamed-answers.ts'
import type { BoundDatabase, Database } from '../../storage/database.ts'
import type { ResultsView, RowPage } from '../../storage/evaluations/evaluation-pages.ts'
import { deriveThenOpen, type Results, type TrialRow } from '../../storage/evaluations/results.ts'
import { boundTo } from '../../storage/transaction.ts'
import { hasRow, rawRowsOf } from './raw-rows.ts'
import type { ResultsBody, Summary } from './results-contract.ts'
import { costsOfTrials, predictionTotals, summaries } from './summary.ts'
import { viewOf } from './view.ts'
import type { RankAnswer, RankBody } from './views-contract.ts'

const maxWarnings = 1000

/** Readings until an answer is sent although trials changed between its parts. */
const maxReadings = 3

const changedMeanwhile =
  'Trials changed while the answer was read: rows, total_rows and summary may differ by them.'

interface ResultsAnswer {
  /** JSON texts, read while the answer is sent. */
  rows: AsyncIterable<string>
  /** The rest of the answer. `warnings` grows while the rows are read. */
  others: { total_rows: number; summary: Summary | null; warnings: string[] }
}

/** Every refusal happens before the answer begins. */
export async function queryResults(
  db: BoundDatabase,
  caller: Caller,
  project: string,
  body: ResultsBody,
): Promise<ResultsAnswer> {
  requireAccess(caller, project, 'path')
  refuseWhatNewerServersHave(body)
  const view = viewOf(project, body, (other) => hasAccess(caller, other))
  for (let reading = 1; ; reading++) {
    const { results, rows, others, warn } = await readResults({
      db,
      caller,
      project,
      body,
      view,
      signal: db.signal,
    })
    const first = await rows.next()
    const areOfOneMoment = await results.areUnchanged()
    if (!areOfOneMoment && reading < maxReadings) {
      await rows.return()
      continue
    }
    if (!areOfOneMoment) warn(changedMeanwhile)
    return { rows: startingWith(first, rows), others }
  }
}

interface Reading {
  db: Database
  caller: Caller
  project: string
  body: ResultsBody
  view: ResultsView
  signal: AbortSignal
}

async function readResults({ db, caller, project, body, view, signal }: Reading) {
  const withChildren = body.include_predict_and_score_children ?? true
  const results = await deriveThenOpen(boundTo(db, signal), view)
  const warnings = withoutEffect(body, view.evaluations)
  const shown = body.include_rows ?? true
  const page: RowPage = shown ? await results.page() : { total: 0, digests: [] }
  let summary: Summary | null = null
  if (view.sumsIntersect !== null) {
    const isSame = shown && view.sumsIntersect === view.intersect
    const totals = body.include_costs
      ? await predictionTotals(boundTo(db, signal), view, withChildren)
      : undefined
    summary = {
      row_count: isSame ? page.total : await results.count(view.sumsIntersect),
      evaluations: (await summaries(db, results, view)).map((sums) => ({
        ...sums,
        ...totals?.get(sums.evaluation_call_id),
      })),
    }
  }
  const unread = await results.unreadRows()
  if (unread > 0) {
    const rows = unread === 1 ? '1 row refers' : `${unread} rows refer`
    warnings.push(
      `filters, sort_by: ${rows} to no table row that you can read; inputs.… count as missing there.`,
    )
  }
  warnings.push(...(await emptyWarnings(results, view.evaluations)))
  const warn = (text: string) => {
    if (warnings.length < maxWarnings) warnings.push(text)
    else if (warnings.length === maxWarnings) warnings.push('More warnings like these were left out.')
  }
  return { results, rows: rowTexts(), others: { total_rows: page.total, summary, warnings }, warn }

  async function* rowTexts(): AsyncGenerator<string, void> {
    const resolve = body.resolve_row_refs ?? false
    let batches = 0
    for await (const digests of page.digests) {
      batches++
      const trials = new Map<string, TrialRow[]>()
      for await (const chunk of results.trialsOf(digests)) {
        for (const trial of chunk) {
          const list = trials.get(trial.row_digest)
          if (list) list.push(trial)
          else trials.set(trial.row_digest, [trial])
        }
      }
      const firsts = digests.flatMap((digest) => trials.get(digest)?.find(hasRow) ?? [])
      const raw = body.include_raw_data_rows
        ? await rawRowsOf({ db, caller, project, resolve, results, warn }, firsts)
        : undefined
      const costOf = body.include_costs
        ? await costsOfTrials(db, project, [...trials.values()].flat(), withChildren)
        : undefined
      for (const digest of digests) {
        const list = trials.get(digest)
        // Deleted since the page was found.
        if (list === undefined) continue
        yield writeJson({
          row_digest: digest,
          evaluations: [...Map.groupBy(list, ({ evaluation_id }) => evaluation_id)].map(
            ([evaluation_call_id, ofEvaluation]) => ({
              evaluation_call_id,
              trials: ofEvaluation.map((trial) => ({
                ...trialRecord(trial, withChildren),
                ...(costOf && { total_cost: costOf(trial) }),
              })),
            }),
          ),
          raw_data_row: raw?.get(digest) ?? null,
        })
      }
    }
    // All but the first batch are read while the answer is sent.
    if (batches > 1 && !warnings.includes(changedMeanwhile) && !(await results.areUnchanged())) {
      warn(changedMeanwhile)
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

/** Refuses fields of newer Weave clients by name: ignoring them would give another answer than the one asked for. */
function refuseWhatNewerServersHave({ filter_logic_operator, filters }: ResultsBody): void {
  const scopes = new Set((filters ?? []).map(({ evaluation_call_id }) => evaluation_call_id ?? null))
  if (filter_logic_operator === 'or' && scopes.size > 1) {
    throw refuse('not_available', {
      field: 'filter_logic_operator',
      received: '"or" between filters of several evaluations',
      accepted: '"and"',
    })
  }
}

function withoutEffect(body: ResultsBody, evaluations: readonly string[]): string[] {
  const warnings: string[] = []
  if (body.resolve_row_refs && !body.include_raw_data_rows) {
    warnings.push('resolve_row_refs: it has no effect without include_raw_data_rows.')
  }
  for (const name of ['filters', 'sort_by'] as const) {
    for (const [index, { evaluation_call_id: id }] of (body[name] ?? []).entries()) {
      if (id != null && !evaluations.includes(id)) {
        warnings.push(`${name}.${index}.evaluation_call_id: ${id} is not one of the requested evaluations.`)
      }
    }
  }
  return warnings
}

/** Warns of evaluations that are unknown or have no trials, and of compared ones without a row in common. */
async function emptyWarnings(results: Results, evaluations: readonly string[]): Promise<string[]> {
  const { rowSums, roots } = results
  const isApart = evaluations.length > 1 && !(await haveCommonRow(results, evaluations))
  const warnings = isApart ? ['The evaluations have no row in common.'] : []
  for (const id of evaluations) {
    const root = roots.get(id)
    if (!rowSums.has(id)) warnings.push(`The evaluation ${id} ${root ? 'has no trials' : 'was not found'}.`)
    else if (isApart && root?.ended_at === null) warnings.push(`The evaluation ${id} has not finished.`)
  }
  return warnings
}

async function haveCommonRow(results: Results, evaluations: readonly string[]): Promise<boolean> {
  const { rowSums } = results
  if (rowSums.size < evaluations.length) return false
  return new Set(rowSums.values()).size === 1 || results.hasCommonRow()
}

/** The position of a row in an order of rows, and its neighbours. */
export async function rankRow(db: BoundDatabase, caller: Caller, body: RankBody): Promise<RankAnswer> {
  const { project_id: project, row_digest: row } = body
  requireAccess(caller, project)
  const view = viewOf(project, body, (other) => hasAccess(caller, other))
  const { rankOf } = await deriveThenOpen(db, view)
  return rankOf(row, body.neighbours ?? 1)
}
