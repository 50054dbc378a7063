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

/** Larger numbers fit on no axis, and smaller ones count as 0. */
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

export interface Axis {
  least: number
  most: number
  bins: number
}

/**
 * The bin of a value; the largest value is in the last bin. Computed with halves, so that no width overflows a double.
 */
export function binOf(value: number, { least, most, bins }: Axis): number {
  if (least === most) return 0
  const width = most / 2 - least / 2
  return Math.min(bins - 1, Math.floor(((value / 2 - least / 2) / width) * bins))
}

/** A row that has a mean in both evaluations. */
export interface RowPair {
  mean: number
  base: number
  /** Rounding from summing in a different order does not count as a difference. */
  step: number
}

/** In the order of the rows. */
export function* pairsOf(rowCount: number, base: ScoreColumn, other: ScoreColumn): Generator<RowPair> {
  const [baseMeans, means] = [meansOf(rowCount, [base]), meansOf(rowCount, [other])]
  for (let row = 0; row < rowCount; row++) {
    const [own, mean] = [baseMeans[row] as number, means[row] as number]
    if (Number.isNaN(own) || Number.isNaN(mean)) continue
    const isSame = Math.abs(mean - own) <= 1e-12 * (Math.abs(mean) + Math.abs(own))
    yield { mean, base: own, step: isSame ? 0 : mean - own }
  }
}
