import { meansOf } from './means.ts'
import { roundingError } from './packing.ts'

/** A score of the trials of one evaluation that are in view. */
export interface ScoreColumn {
  evaluation: string
  /** NaN if a trial has none. */
  numbers: Float64Array
  /** The row of each trial. */
  rows: Int32Array
  failed: Float64Array
}

/** A score of the trials of some evaluations, and the number of rows that these have together. */
export interface ScoreColumns {
  columns: readonly ScoreColumn[]
  rowCount: number
}

/** Larger numbers fit on no axis, and smaller ones count as 0. The squares of the rest fit into a double. */
const [largest, smallest] = [1e100, 1e-100]

export function onAxis(number: number): number {
  const size = Math.abs(number)
  if (size < smallest) return 0
  return size <= largest ? number : Number.NaN
}

export interface Distribution {
  trials: number
  failed: number
  known: number
  /** How many of the known values are 0 or 1. */
  truths: number
  least: number | null
  most: number | null
  mean: number | null
}

export function distributionOf({ numbers, failed }: ScoreColumn): Distribution {
  let [failures, known, truths, sum, rest] = [0, 0, 0, 0, 0]
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (let i = 0; i < numbers.length; i++) {
    failures += failed[i] as number
    const number = numbers[i] as number
    if (Number.isNaN(number)) continue
    known++
    if (number === 0 || number === 1) truths++
    if (number < least) least = number
    if (number > most) most = number
    const added = sum + number
    rest += roundingError(sum, number, added)
    sum = added
  }
  const none = known === 0
  return {
    ...{ trials: numbers.length, failed: failures, known, truths },
    ...{ least: none ? null : least, most: none ? null : most, mean: none ? null : (sum + rest) / known },
  }
}

/** A range that is divided into bins of equal width. */
export interface Axis {
  least: number
  most: number
  bins: number
}

/**
 * The bin of a value; the largest value is in the last bin. Computed with halves, so that no width overflows a double.
 */
function binOf(value: number, { least, most, bins }: Axis): number {
  if (least === most) return 0
  const width = most / 2 - least / 2
  return Math.min(bins - 1, Math.floor(((value / 2 - least / 2) / width) * bins))
}

/** How many values are in each bin. */
export function histogramOf({ numbers }: ScoreColumn, axis: Axis): number[] {
  const counts = Array.from({ length: axis.bins }, () => 0)
  for (const number of numbers) {
    if (!Number.isNaN(number)) count(counts, binOf(number, axis))
  }
  return counts
}

function count(counts: number[], at: number): void {
  counts[at] = (counts[at] as number) + 1
}

/** The rows that have a mean in two evaluations, in their order. */
interface RowPairs {
  means: Float64Array
  bases: Float64Array
  /** The first minus the second. Rounding from summing in a different order does not count as a difference. */
  steps: Float64Array
}

export function pairsOf(rowCount: number, base: ScoreColumn, other: ScoreColumn): RowPairs {
  // The pairs take the place of the means that have been read.
  const [bases, means, steps] = [
    meansOf(rowCount, [base]),
    meansOf(rowCount, [other]),
    new Float64Array(rowCount),
  ]
  let pairs = 0
  for (let row = 0; row < rowCount; row++) {
    const [own, mean] = [bases[row] as number, means[row] as number]
    if (Number.isNaN(own) || Number.isNaN(mean)) continue
    const isSame = Math.abs(mean - own) <= 1e-12 * (Math.abs(mean) + Math.abs(own))
    bases[pairs] = own
    means[pairs] = mean
    steps[pairs++] = isSame ? 0 : mean - own
  }
  return {
    means: means.subarray(0, pairs),
    bases: bases.subarray(0, pairs),
    steps: steps.subarray(0, pairs),
  }
}

export interface PairSums {
  pairs: number
  wins: number
  losses: number
  mean_step: number
  /** Of the steps. */
  squares: number
  both: number
  baseline_only: number
  other_only: number
  neither: number
}

export function pairSums({ means, bases, steps }: RowPairs): PairSums {
  const sums = {
    ...{ pairs: steps.length, wins: 0, losses: 0, mean_step: 0, squares: 0 },
    ...{ both: 0, baseline_only: 0, other_only: 0, neither: 0 },
  }
  let total = 0
  for (const [i, step] of steps.entries()) {
    const [mean, base] = [means[i], bases[i]]
    sums.wins += Number(step > 0)
    sums.losses += Number(step < 0)
    total += step
    sums.squares += step * step
    sums.both += Number(base === 1 && mean === 1)
    sums.baseline_only += Number(base === 1 && mean === 0)
    sums.other_only += Number(base === 0 && mean === 1)
    sums.neither += Number(base === 0 && mean === 0)
  }
  return { ...sums, mean_step: steps.length === 0 ? 0 : total / steps.length }
}

/** How many rows have which bin of the baseline (first) and of the other evaluation (second). */
export function heatOf({ means, bases }: RowPairs, axis: Axis): [number, number, number][] {
  const counts = Array.from({ length: axis.bins ** 2 }, () => 0)
  for (const [i, mean] of means.entries()) {
    count(counts, binOf(bases[i] as number, axis) * axis.bins + binOf(mean, axis))
  }
  return counts
    .map((rows, cell): [number, number, number] => [Math.floor(cell / axis.bins), cell % axis.bins, rows])
    .filter(([, , rows]) => rows > 0)
}
