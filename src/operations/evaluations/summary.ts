import { compareText } from '../../../packages/json/index.ts'
import { type LeafKind, leafKinds, leavesOf, nameOf } from '../../domain/evaluations/leaves.ts'
import { valueAt } from '../../domain/expressions/json-value.ts'
import { formatTime } from '../../domain/time.ts'
import { readCosts } from '../../storage/calls/cost.ts'
import type { BoundDatabase, Database } from '../../storage/database.ts'
import type { ResultsView } from '../../storage/evaluations/evaluation-pages.ts'
import {
  deriveThenOpen,
  type Results,
  type RootRow,
  type TrialRow,
} from '../../storage/evaluations/results.ts'
import { noShape, readShapes } from '../../storage/evaluations/shapes.ts'
import type { EvaluationSummary } from './results-contract.ts'

/** Sums over the trials of an evaluation that have a scalar. */
interface LeafSums {
  scorer: string
  path: string | null
  /** Its first position in the scores of a trial. */
  position: number
  leaves: number
  known: number
  passed: number
  numbers: number
  sum: number
}

interface EvaluationSums {
  trials: number
  failed: number
  firstRow: string
  firstTrial: string
  leaves: Map<string, LeafSums>
}

/**
 * One entry for each evaluation that has a trial in the view, in the order in which they first appear among the rows.
 */
export async function summaries(
  db: Database,
  results: Results,
  view: ResultsView,
): Promise<EvaluationSummary[]> {
  const found = await sumsOf(db, results, view)
  const { roots } = results
  return [...found].toSorted(byAppearance).map(([id, sums]) => {
    const root = roots.get(id)
    return {
      evaluation_call_id: id,
      display_name: root?.display_name ?? null,
      ...refsOf(root),
      scorer_stats: [...sums.leaves.values()].toSorted(byPosition).map((leaf) => scorerStats(leaf, sums)),
      started_at: root ? formatTime(root.started_at) : null,
      trace_id: root?.trace_id ?? null,
      trial_count: sums.trials,
    }
  })
}

async function sumsOf(
  db: Database,
  results: Results,
  { project, evaluations }: ResultsView,
): Promise<Map<string, EvaluationSums>> {
  const added = await results.sums()
  // Read last, so that the shapes of all trials that were added up are known.
  const shapes = await readShapes(db, project, evaluations)
  const leavesOfShape = new Map(shapes.map(({ shape, leaves }) => [shape, leaves]))
  const found = new Map<string, EvaluationSums>()
  for (const row of added) {
    const sums = foundSums(found, row)
    for (const [slot, [kind, ...keys]] of (leavesOfShape.get(row.shape) ?? []).entries()) {
      addLeaf(sums, { ...nameOf(keys), position: slot, kind }, row.trials, row.sums[slot] ?? 0)
    }
  }
  if (!leavesOfShape.has(noShape)) return found
  for await (const rows of results.shapeless()) {
    for (const { evaluation_id, scores } of rows) {
      const sums = found.get(evaluation_id)
      // Written since the trials were added up.
      if (sums === undefined) continue
      for (const leaf of leavesOf(scores)) addLeaf(sums, leaf, 1, leaf.number ?? 0)
    }
  }
  return found
}

function foundSums(
  found: Map<string, EvaluationSums>,
  row: Awaited<ReturnType<Results['sums']>>[number],
): EvaluationSums {
  const { evaluation_id, trials, failed, first_row: firstRow, first_trial: firstTrial } = row
  let sums = found.get(evaluation_id)
  if (sums === undefined) {
    sums = { trials: 0, failed: 0, firstRow, firstTrial, leaves: new Map() }
    found.set(evaluation_id, sums)
  }
  sums.trials += trials
  sums.failed += failed
  if (compareText(firstRow, sums.firstRow) < 0) Object.assign(sums, { firstRow, firstTrial })
  return sums
}

function addLeaf(
  { leaves }: EvaluationSums,
  { scorer, path, position, kind }: Pick<LeafSums, 'scorer' | 'path' | 'position'> & { kind: LeafKind },
  count: number,
  sum: number,
): void {
  const name = JSON.stringify([scorer, path])
  let leaf = leaves.get(name)
  if (leaf === undefined) {
    leaf = { scorer, path, position, leaves: 0, known: 0, passed: 0, numbers: 0, sum: 0 }
    leaves.set(name, leaf)
  }
  leaf.position = Math.min(leaf.position, position)
  leaf.leaves += count
  if (kind === leafKinds.binary) {
    leaf.known += count
    leaf.passed += sum
  } else if (kind === leafKinds.continuous) {
    leaf.numbers += count
    leaf.sum += sum
  }
}

function byAppearance([, a]: [string, EvaluationSums], [, b]: [string, EvaluationSums]): number {
  return compareText(a.firstRow, b.firstRow) || compareText(a.firstTrial, b.firstTrial)
}

/** The scalar that is the score itself comes before one below an empty key. */
function byPosition(a: LeafSums, b: LeafSums): number {
  return (
    a.position - b.position ||
    compareText(a.scorer, b.scorer) ||
    Number(a.path !== null) - Number(b.path !== null) ||
    compareText(a.path ?? '', b.path ?? '')
  )
}

/** References to what was evaluated, and with what. */
export function refsOf(root: Pick<RootRow, 'inputs'> | undefined) {
  return {
    evaluation_ref: refOf(root, 'self') ?? refOf(root, 'this'),
    model_ref: refOf(root, 'model'),
  }
}

function refOf(root: Pick<RootRow, 'inputs'> | undefined, name: string): string | null {
  const json = root?.inputs ? valueAt(root.inputs, [name]) : undefined
  return json?.startsWith('"') ? (JSON.parse(json) as string) : null
}

function scorerStats(leaf: LeafSums, { trials, failed }: EvaluationSums) {
  const { leaves, known, passed, numbers, sum } = leaf
  return {
    scorer_key: leaf.scorer,
    path: leaf.path,
    value_type: valueType(leaf),
    trial_count: leaves,
    numeric_count: numbers,
    numeric_mean: numbers > 0 && Number.isFinite(sum) ? sum / numbers : null,
    pass_known_count: known,
    pass_true_count: passed,
    pass_rate: known > 0 ? passed / known : null,
    pass_signal_coverage: known / leaves,
    missing_trial_count: Math.max(0, trials - leaves),
    failed_trial_count: failed,
  }
}

function valueType({ known, numbers }: LeafSums): 'binary' | 'continuous' | 'text' {
  if (known > 0) return 'binary'
  return numbers > 0 ? 'continuous' : 'text'
}

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
export async function predictionTotals(
  db: BoundDatabase,
  view: ResultsView,
  withChildren: boolean,
): Promise<Map<string, PredictionTotals>> {
  const all = { ...view, intersect: view.sumsIntersect ?? view.intersect, limit: null, offset: 0 }
  const results = await deriveThenOpen(db, all)
  const totals = new Map<string, PredictionTotals>()
  for await (const digests of (await results.page()).digests) {
    for await (const trials of results.trialsOf(digests)) {
      const costOf = await costsOfTrials(db, view.project, trials, withChildren)
      for (const trial of trials) {
        const { predict_total_tokens: tokens, predict_total_cost: cost } =
          totals.get(trial.evaluation_id) ?? noTotals
        totals.set(trial.evaluation_id, {
          predict_total_tokens: sumWith(tokens, withChildren ? trial.tokens : trial.own_tokens),
          predict_total_cost: sumWith(cost, costOf(trial)),
        })
      }
    }
  }
  return totals
}

const noTotals: PredictionTotals = { predict_total_tokens: null, predict_total_cost: null }

const sumWith = (sum: number | null, value: number | null) =>
  value === null ? sum : (sum ?? 0) + Number(value)
