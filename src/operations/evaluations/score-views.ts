import { type Caller, hasAccess, requireAccess } from '../../domain/callers.ts'
import { createYieldToLoop } from '../../domain/yielding.ts'
import type { Database } from '../../storage/database.ts'
import { acceptedFields, fieldRefused, resultField } from '../../storage/evaluations/result-fields.ts'
import { deriveThenOpen } from '../../storage/evaluations/results.ts'
import type { Axis, PairSums, ScoreReader, ScoreStats } from '../../storage/evaluations/score-views.ts'
import { bootstrapInterval, type Interval, mostDrawn, normalInterval } from './intervals.ts'
import { viewOf } from './view.ts'
import { defaultBins, type ScoresAnswer, type ScoresBody } from './views-contract.ts'

/** The distribution of one score in each of the evaluations, and the differences from the baseline row by row. */
export async function viewScores(
  db: Database,
  caller: Caller,
  body: ScoresBody,
  signal: AbortSignal,
): Promise<ScoresAnswer> {
  const { project_id: project, field } = body
  requireAccess(caller, project)
  if (resultField(field)?.document !== 'scores') throw fieldRefused('field', field, 'scores.…')
  const asked = viewOf(project, { ...body, sort_by: [{ field }] }, (other) => hasAccess(caller, other))
  const baseline = among(asked.evaluations, 'baseline', body.baseline) ?? (asked.evaluations[0] as string)
  const heatFor = among(asked.evaluations, 'heat_for', body.heat_for)
  const results = await deriveThenOpen(db, asked, signal)
  const view = await results.scores()
  if (view === undefined) throw fieldRefused('field', field, acceptedFields)

  const stats = new Map((await view.stats()).map((one) => [one.evaluation_id, one]))
  const span = spanOf(stats.values())
  const isBinary = stats.values().every(({ known, truths }) => known === truths)
  const bins = isBinary ? 2 : (body.bins ?? defaultBins)
  const counts = new Map(asked.evaluations.map((id) => [id, Array.from({ length: bins }, () => 0)]))
  if (span !== undefined) {
    const axis = isBinary ? { least: 0, most: 1, bins } : { ...span, bins }
    for (const { evaluation_id, bin, count } of await view.histogram(axis)) {
      const own = counts.get(evaluation_id)
      if (own !== undefined) own[bin] = count
    }
  }
  const sums = span && asked.evaluations.length > 1 ? await view.pairSums(baseline) : []
  const intervals = await intervalsOf(view, baseline, sums, signal)
  const heatAxis: Axis | undefined = span && { ...span, bins: body.heat_bins ?? defaultBins }
  const isCompared = heatFor !== undefined && heatFor !== baseline
  const heat =
    isCompared && heatAxis
      ? {
          evaluation_call_id: heatFor,
          bins: heatAxis.bins,
          cells: (await view.heat(baseline, heatFor, heatAxis)).map(
            ({ x, y, count }): [number, number, number] => [x, y, count],
          ),
        }
      : null
  const pairs = new Map(sums.map((one) => [one.evaluation_id, one]))
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
        counts: counts.get(id) as number[],
      }
    }),
    pairs: asked.evaluations
      .filter((id) => id !== baseline)
      .map((id) => pairOf(id, pairs.get(id), intervals.get(id) ?? null, isBinary)),
    heat,
  }
}

/** Undefined if nothing is named. */
function among(
  evaluations: readonly string[],
  place: string,
  given: string | null | undefined,
): string | undefined {
  if (given == null) return undefined
  if (!evaluations.includes(given)) throw fieldRefused(place, given, 'one of evaluation_call_ids')
  return given
}

/** Undefined if no trial has the score. */
function spanOf(stats: Iterable<ScoreStats>): { least: number; most: number } | undefined {
  let span: { least: number; most: number } | undefined
  for (const { least, most } of stats) {
    if (least === null || most === null) continue
    span = { least: Math.min(span?.least ?? least, least), most: Math.max(span?.most ?? most, most) }
  }
  return span
}

/** By evaluation. With few rows they are bootstrapped from the rows themselves. */
async function intervalsOf(
  view: ScoreReader,
  baseline: string,
  sums: readonly PairSums[],
  signal: AbortSignal,
): Promise<Map<string, Interval>> {
  const intervals = new Map<string, Interval>()
  const drawn: string[] = []
  for (const { evaluation_id, pairs, mean_step, squares } of sums) {
    if (pairs < 2) continue
    if (pairs <= mostDrawn) drawn.push(evaluation_id)
    else intervals.set(evaluation_id, normalInterval(pairs, mean_step, squares))
  }
  if (drawn.length === 0) return intervals
  const yieldToLoop = createYieldToLoop(signal)
  const steps = Map.groupBy(await view.steps(baseline, drawn), ({ evaluation_id }) => evaluation_id)
  for (const [id, own] of steps) {
    const numbers = own.map(({ step }) => step)
    if (numbers.length > 1) intervals.set(id, await bootstrapInterval(numbers, yieldToLoop))
  }
  return intervals
}

function pairOf(
  id: string,
  sums: PairSums | undefined,
  interval: Interval | null,
  isBinary: boolean,
): ScoresAnswer['pairs'][number] {
  const { pairs = 0, wins = 0, losses = 0, mean_step = null } = sums ?? {}
  const { both = 0, baseline_only = 0, other_only = 0, neither = 0 } = sums ?? {}
  const isDecided = isBinary && pairs > 0 && both + baseline_only + other_only + neither === pairs
  return {
    evaluation_call_id: id,
    row_count: pairs,
    wins,
    ties: pairs - wins - losses,
    losses,
    mean_difference: mean_step,
    interval,
    agreement: isDecided ? { both, baseline_only, other_only, neither } : null,
  }
}
