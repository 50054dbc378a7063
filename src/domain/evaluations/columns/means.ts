import { roundingError } from './packing.ts'

/** A number of the trials of one evaluation. */
export interface TrialNumbers {
  /** NaN if a trial has none. */
  numbers: Float64Array
  /** The row of each trial. */
  rows: Int32Array
}

/** The mean of each row over the trials of all of these; NaN if no trial has a number. */
export function meansOf(rowCount: number, of: readonly TrialNumbers[]): Float64Array {
  const sums = new Float64Array(rowCount)
  const rests = new Float64Array(rowCount)
  const counts = new Float64Array(rowCount)
  for (const { numbers, rows } of of) {
    for (let i = 0; i < numbers.length; i++) {
      const number = numbers[i] as number
      if (Number.isNaN(number)) continue
      const row = rows[i] as number
      const before = sums[row] as number
      const sum = before + number
      rests[row] = (rests[row] as number) + roundingError(before, number, sum)
      sums[row] = sum
      counts[row] = (counts[row] as number) + 1
    }
  }
  for (let row = 0; row < rowCount; row++) {
    const count = counts[row] as number
    sums[row] = count === 0 ? Number.NaN : ((sums[row] as number) + (rests[row] as number)) / count
  }
  return sums
}

/** The largest minus the smallest mean; NaN for a row that one of them lacks. */
export function differencesOf(rowCount: number, of: readonly TrialNumbers[]): Float64Array {
  const differences = new Float64Array(rowCount)
  const least = new Float64Array(rowCount).fill(Number.POSITIVE_INFINITY)
  const most = new Float64Array(rowCount).fill(Number.NEGATIVE_INFINITY)
  for (const numbers of of) {
    const means = meansOf(rowCount, [numbers])
    for (let row = 0; row < rowCount; row++) {
      const mean = means[row] as number
      if (mean < (least[row] as number)) least[row] = mean
      if (mean > (most[row] as number)) most[row] = mean
      // NaN stays NaN whatever is added later.
      if (Number.isNaN(mean)) differences[row] = mean
    }
  }
  for (let row = 0; row < rowCount; row++) {
    differences[row] = (differences[row] as number) + ((most[row] as number) - (least[row] as number))
  }
  return differences
}
