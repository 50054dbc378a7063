import { createYieldToLoop, inSteps } from '../../../packages/waiting/index.ts'
import { type Caller, hasAccess, requireAccess } from '../../domain/callers.ts'
import {
  type Axis,
  type Distribution,
  distributionOf,
  heatOf,
  histogramOf,
  type PairSums,
  pairSums,
  pairsOf,
  type ScoreColumn,
} from '../../domain/evaluations/columns/distributions.ts'
import { type Interval, shareInterval, studentInterval } from '../../domain/statistics/intervals.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { fieldRefused, resultField } from '../../storage/evaluations/result-fields.ts'
import { deriveThenOpen } from '../../storage/evaluations/results.ts'
import { viewOf } from './view.ts'
import { defaultBins, type ScoresAnswer, type ScoresBody } from './views-contract.ts'

/** The distribution of one score in each of the evaluations, and the differences from the baseline row by row. */
export async function viewScores(db: BoundDatabase, caller: Caller, body: ScoresBody): Promise<ScoresAnswer> {
  const { project_id: project, field } = body
  requireAccess(caller, project)
  if (resultField(field)?.document !== 'scores') throw fieldRefused('field', field, 'scores.…')
  const asked = viewOf(project, { ...body, sort_by: [{ field }] }, (other) => hasAccess(caller, other))
  const baseline = among(asked.evaluations, 'baseline', body.baseline) ?? (asked.evaluations[0] as string)
  const heatFor = among(asked.evaluations, 'heat_for', body.heat_for)
  const results = await deriveThenOpen(db, asked)
  const { columns, rowCount } = await results.scores()
  const yieldToLoop = createYieldToLoop(db.signal)
  const stats = new Map<string, Distribution>()
  await inSteps(columns, (column) => void stats.set(column.evaluation, distributionOf(column)), yieldToLoop)
  const span = spanOf(stats.values())
  const isBinary = stats.values().every(({ known, truths }) => known === truths)
  const bins = isBinary ? 2 : (body.bins ?? defaultBins)
  const axis = span && (isBinary ? { least: 0, most: 1, bins } : { ...span, bins })
  const heatAxis: Axis | undefined = span && { ...span, bins: body.heat_bins ?? defaultBins }
  const base = columns.find(({ evaluation }) => evaluation === baseline)
  const counts = new Map<string, number[]>()
  const pairs = new Map<string, Compared>()
  let cells: [number, number, number][] = []
  const compare = async (column: ScoreColumn) => {
    const { evaluation } = column
    if (axis) counts.set(evaluation, histogramOf(column, axis))
    if (base === undefined || column === base || heatAxis === undefined) return
    const paired = pairsOf(rowCount, base, column)
    const sums = pairSums(paired)
    const interval = intervalOf(sums, isBinary)
    if (sums.pairs > 0) pairs.set(evaluation, { ...sums, interval })
    if (evaluation === heatFor) cells = heatOf(paired, heatAxis)
  }
  await inSteps(columns, compare, yieldToLoop)
  const isCompared = heatFor !== undefined && heatFor !== baseline
  return {
    field,
    baseline,
    least: span?.least ?? null,
    most: span?.most ?? null,
    is_binary: span !== undefined && isBinary,
    evaluations: asked.evaluations.map((id) => {
      const own = stats.get(id)
      const { trials = 0, known = 0, failed = 0, mean = null } = own ?? {}
      return {
        evaluation_call_id: id,
        trial_count: trials,
        value_count: known,
        missing_trial_count: trials - known,
        failed_trial_count: failed,
        mean,
        counts: counts.get(id) ?? Array.from({ length: bins }, () => 0),
      }
    }),
    pairs: asked.evaluations.filter((id) => id !== baseline).map((id) => pairOf(id, pairs.get(id), isBinary)),
    heat: isCompared && heatAxis ? { evaluation_call_id: heatFor, bins: heatAxis.bins, cells } : null,
  }
}

/** Undefined if nothing is named. */
function among(
  evaluations: readonly string[],
  field: string,
  id: string | null | undefined,
): string | undefined {
  if (id == null) return undefined
  if (!evaluations.includes(id)) throw fieldRefused(field, id, 'one of evaluation_call_ids')
  return id
}

/** Undefined if no trial has the score. */
function spanOf(stats: Iterable<Distribution>): { least: number; most: number } | undefined {
  let span: { least: number; most: number } | undefined
  for (const { least, most } of stats) {
    if (least === null || most === null) continue
    span = { least: Math.min(span?.least ?? least, least), most: Math.max(span?.most ?? most, most) }
  }
  return span
}

/** Null for less than two rows. */
function intervalOf(sums: PairSums, isBinary: boolean): Interval | null {
  const { pairs: count, mean_step: mean, squares, wins, losses } = sums
  if (count < 2) return null
  return isBinary && isDecided(sums)
    ? shareInterval(count, wins, losses)
    : studentInterval({ count, mean, squares })
}

/** Each row passes or not in each of the two, whatever the number of its trials. */
const isDecided = ({ pairs, both, baseline_only, other_only, neither }: PairSums): boolean =>
  both + baseline_only + other_only + neither === pairs

type Compared = PairSums & { interval: Interval | null }

function pairOf(id: string, sums: Compared | undefined, isBinary: boolean): ScoresAnswer['pairs'][number] {
  const { pairs = 0, wins = 0, losses = 0, mean_step = null, interval = null } = sums ?? {}
  const { both = 0, baseline_only = 0, other_only = 0, neither = 0 } = sums ?? {}
  return {
    evaluation_call_id: id,
    row_count: pairs,
    wins,
    ties: pairs - wins - losses,
    losses,
    mean_difference: mean_step,
    interval,
    agreement:
      isBinary && sums && pairs > 0 && isDecided(sums) ? { both, baseline_only, other_only, neither } : null,
  }
}
