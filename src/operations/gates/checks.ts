import { type Caller, hasAccess } from '../../domain/callers.ts'
import { wilson } from '../../domain/statistics/intervals.ts'
import { now } from '../../domain/time.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { sumTrials } from '../../storage/evaluations/evaluation-list.ts'
import { derivePending } from '../../storage/evaluations/results.ts'
import { viewScores } from '../evaluations/score-views.ts'
import { predictionTotals } from '../evaluations/summary.ts'
import { viewOf } from '../evaluations/view.ts'
import type { ScoresAnswer } from '../evaluations/views-contract.ts'
import type { Check, Condition, Gate } from './contract.ts'

interface RunsToCheck {
  project: string
  run: string
  /** Absent if there is no version to compare with. */
  baseline: string | undefined
}

/** What the conditions of a gate find in the runs. */
export async function checksOf(
  db: BoundDatabase,
  caller: Caller,
  { conditions, min_rows }: Gate,
  runs: RunsToCheck,
): Promise<Check[]> {
  const checks: Check[] = []
  const { project, run, baseline } = runs
  await derivePending(db, project, now())
  const scores = new Map<string, ScoresAnswer>()
  async function scoresOf(field: string): Promise<ScoresAnswer> {
    const known = scores.get(field)
    if (known !== undefined) return known
    const evaluation_call_ids = baseline === undefined ? [run] : [baseline, run]
    const body = { project_id: project, evaluation_call_ids, field, require_intersection: false }
    const read = await viewScores(db, caller, body)
    scores.set(field, read)
    return read
  }
  for (const condition of conditions) {
    if ('field' in condition)
      checks.push(ofScore(condition, await scoresOf(condition.field), runs, min_rows ?? 1))
    else checks.push(await ofTrials(db, caller, condition, runs))
  }
  return checks
}

type ScoreCondition = Extract<Condition, { field: string }>

function ofScore(
  condition: ScoreCondition,
  { is_binary, evaluations, pairs }: ScoresAnswer,
  { run, baseline }: RunsToCheck,
  minRows: number,
): Check {
  const own = evaluations.find(({ evaluation_call_id }) => evaluation_call_id === run)
  const text = wordsOf(condition)
  const check = (holds: boolean, found: string): Check => ({ condition: text, holds, found })
  // A trial without the score may be one that failed.
  if (own === undefined || own.value_count === 0) return check(false, 'no trial has the score')
  if (own.missing_trial_count > 0) {
    return check(false, `${own.missing_trial_count} of ${own.trial_count} trials have no such score`)
  }
  if ('min_rate' in condition) {
    if (!is_binary) return check(false, 'the score is not true or false')
    if (own.value_count < minRows) return check(false, `${own.value_count} trials; needed: ${minRows}`)
    const passed = Math.round((own.mean ?? 0) * own.value_count)
    const { low } = wilson(passed, own.value_count)
    return check(low >= condition.min_rate, `${passed} of ${own.value_count} pass: at least ${rounded(low)}`)
  }
  if (baseline === undefined) return check(true, 'the label names no version yet')
  // A version that is moved to itself.
  if (baseline === run) return check(true, 'the same run')
  const pair = pairs.find(({ evaluation_call_id }) => evaluation_call_id === run)
  const rows = pair?.row_count ?? 0
  if (pair === undefined || rows < minRows)
    return check(false, `${rows} rows in both runs; needed: ${minRows}`)
  if ('no_row_lost' in condition) {
    return check(pair.losses === 0, `${pair.losses} of ${rows} rows are worse, ${pair.wins} better`)
  }
  const { interval, mean_difference } = pair
  if (interval === null) return check(false, `${rows} row in both runs: no interval`)
  const range = `${rounded(interval.low)} to ${rounded(interval.high)}`
  return check(
    interval.low >= condition.min_difference,
    `${rounded(mean_difference ?? 0)} (${range}) in ${rows} rows`,
  )
}

async function ofTrials(
  db: BoundDatabase,
  caller: Caller,
  condition: Exclude<Condition, { field: string }>,
  { project, run }: RunsToCheck,
): Promise<Check> {
  const text = wordsOf(condition)
  const [sums] = await sumTrials(db, project, [run])
  if ('max_latency_seconds' in condition) {
    const latency = sums?.latency ?? null
    const found = latency === null ? 'no trial has a latency' : `${rounded(latency)} s`
    return { condition: text, holds: latency !== null && latency <= condition.max_latency_seconds, found }
  }
  const view = viewOf(project, { evaluation_call_ids: [run] }, (other) => hasAccess(caller, other))
  const totals = (await predictionTotals(db, view, true)).get(run)
  const total = totals?.predict_total_cost ?? null
  const cost = total === null || !sums?.trials ? null : total / sums.trials
  const found = cost === null ? 'the model has no price' : `${cost}`
  return { condition: text, holds: cost !== null && cost <= condition.max_cost, found }
}

function wordsOf(condition: Condition): string {
  if ('min_difference' in condition)
    return `${condition.field} differs by at least ${condition.min_difference}`
  if ('min_rate' in condition) return `${condition.field} passes at a rate of at least ${condition.min_rate}`
  if ('no_row_lost' in condition) return `${condition.field} is worse in no row`
  if ('max_cost' in condition) return `a trial costs at most ${condition.max_cost}`
  return `a trial takes at most ${condition.max_latency_seconds} s`
}

const rounded = (value: number) => Number(value.toFixed(4))
