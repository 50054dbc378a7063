import type { ServedRun } from '../../storage/evaluations/served-runs.ts'
import { trialsAfter } from '../../storage/evaluations/trial-calls.ts'
import { streamRows } from '../../storage/objects/tables.ts'
import { boundTo } from '../../storage/transaction.ts'
import type { OperationParts } from '../parts.ts'
import type { Attempt } from './attempt.ts'
import { defaultConcurrency } from './contract.ts'
import type { CallsPlan, Plan, RescoringPlan } from './plan.ts'
import { rescoreTrial } from './rescored-trial.ts'
import { scoreCall } from './scored-call.ts'
import { carryOut } from './trial.ts'

/** A part of a run that is carried out by itself. */
interface Step {
  carryOut(attempt: Attempt): Promise<void>
  /** What is left of the run after it, where its position does not say so. */
  plan?: string
  /** How often it waits for what is missing, where nobody could stop the run. */
  maxWaits?: number
}

/** About ten minutes for a model. */
const maxWaits = 40

/** The next steps of a run, and how many at the same time; none if what they are made of is gone. */
export async function nextSteps(
  db: OperationParts['db'],
  run: ServedRun,
  limit: number,
  signal: AbortSignal,
): Promise<{ steps: Step[]; concurrency: number }> {
  const plan = JSON.parse(run.plan) as Plan | RescoringPlan | CallsPlan
  const { concurrency = defaultConcurrency } = 'table' in plan ? plan : {}
  return { steps: await stepsOf(db, run, plan, limit, signal), concurrency }
}

async function stepsOf(
  db: OperationParts['db'],
  { project_id: project, position }: ServedRun,
  plan: Plan | RescoringPlan | CallsPlan,
  limit: number,
  signal: AbortSignal,
): Promise<Step[]> {
  if ('calls' in plan) {
    return plan.calls.slice(position, position + limit).map((call) => ({
      maxWaits,
      async carryOut(attempt) {
        for (const scorer of plan.scorers) await scoreCall(attempt, call, scorer)
      },
    }))
  }
  if ('source' in plan) {
    const trials = await trialsAfter(db, project, plan.source, plan.after, limit)
    return trials.map((trial) => {
      const { row_digest, started_at, trial_id } = trial
      return {
        carryOut: (attempt) => rescoreTrial(attempt, plan, trial),
        plan: JSON.stringify({ ...plan, after: { row_digest, started_at, trial_id } }),
      }
    })
  }
  const rows = await rowsFrom(db, project, plan, { offset: position % plan.rows, limit }, signal)
  return rows.map((row, at) => ({
    carryOut: (attempt) => carryOut({ ...attempt, plan, index: position + at, row }),
  }))
}

/** The rows of the next trials, in the order of the table; the next turn begins again with the first row. */
async function rowsFrom(
  db: OperationParts['db'],
  project: string,
  { table: digest }: Plan,
  page: { offset: number; limit: number },
  signal: AbortSignal,
): Promise<string[]> {
  const rows: string[] = []
  const view = { ...page, project, query: undefined, sort: [], digest, rows: undefined }
  for await (const found of streamRows(boundTo(db, signal), view)) for (const { val } of found) rows.push(val)
  return rows
}
