import { readCosts } from '../../storage/calls/cost.ts'
import type { Database } from '../../storage/database.ts'
import type { ResultsView } from '../../storage/evaluations/evaluation-pages.ts'
import { deriveThenOpen, type TrialRow } from '../../storage/evaluations/results.ts'

/** What the prediction of a trial cost, by the id of the trial; null without a price. */
export async function costsOfTrials(
  db: Database,
  project: string,
  trials: readonly TrialRow[],
  withChildren: boolean,
): Promise<(trial: TrialRow) => number | null> {
  const callOf = ({ trial_id, predict_call_id }: TrialRow) => (withChildren && predict_call_id) || trial_id
  const costs = await readCosts(db, project, trials.map(callOf))
  return (trial) => costs.get(callOf(trial)) ?? null
}

interface PredictionTotals {
  predict_total_tokens: number | null
  predict_total_cost: number | null
}

/** Sums over the trials of the rows that a summary covers, by evaluation; null where no trial has any. */
export async function totalsOf(
  db: Database,
  view: ResultsView,
  withChildren: boolean,
  signal: AbortSignal,
): Promise<Map<string, PredictionTotals>> {
  const all = { ...view, intersect: view.sumsIntersect ?? view.intersect, limit: null, offset: 0 }
  const results = await deriveThenOpen(db, all, signal)
  const totals = new Map<string, PredictionTotals>()
  for await (const digests of (await results.page()).digests) {
    for await (const trials of results.trialsOf(digests)) {
      const costOf = await costsOfTrials(db, view.project, trials, withChildren)
      for (const trial of trials) {
        const { predict_total_tokens: tokens, predict_total_cost: cost } =
          totals.get(trial.evaluation_id) ?? none
        totals.set(trial.evaluation_id, {
          predict_total_tokens: plus(tokens, withChildren ? trial.tokens : trial.own_tokens),
          predict_total_cost: plus(cost, costOf(trial)),
        })
      }
    }
  }
  return totals
}

const none: PredictionTotals = { predict_total_tokens: null, predict_total_cost: null }

const plus = (sum: number | null, value: number | null) => (value === null ? sum : (sum ?? 0) + Number(value))
