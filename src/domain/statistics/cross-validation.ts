import type { YieldToLoop } from '../../../packages/waiting/index.ts'
import { calibrated, fitted, isBiasFitted, type Labelled } from './calibration.ts'
import { type Estimate, meanOf, resampled, seededNumbers } from './intervals.ts'
import { logLossOf } from './reliability.ts'

const folds = 5
const repeats = 10
/** With more labels one division is like another. */
const maxLabelsOfRepeats = 100

/**
 * What calls would have been given by maps that were fitted without them: the mean over several divisions into folds with
 * about as many of each answer. A map is never measured on its own labels.
 */
export async function crossValidated(
  labelled: readonly Labelled[],
  isPredicate: boolean,
  pause: YieldToLoop,
): Promise<Labelled[]> {
  const next = seededNumbers(labelled.length)
  const times = labelled.length < maxLabelsOfRepeats ? repeats : 1
  const sums = labelled.map(({ probabilities }) => probabilities.map(() => 0))
  for (let time = 0; time < times; time++) {
    const fold = foldsOf(labelled, next)
    for (let out = 0; out < folds; out++) {
      const rest = labelled.filter((_, index) => fold[index] !== out)
      const map = await fitted(rest, { bias: isBiasFitted(rest, isPredicate) }, pause)
      for (const [index, { probabilities }] of labelled.entries()) {
        if (fold[index] !== out) continue
        const sum = sums[index] as number[]
        for (const [option, share] of calibrated(map, probabilities).entries())
          sum[option] = (sum[option] as number) + share / times
      }
    }
  }
  return labelled.map(({ truth }, index) => ({ probabilities: sums[index] as number[], truth }))
}

/** The fold of each call: calls with the same answer, shuffled, take the folds in turns. */
function foldsOf(labelled: readonly Labelled[], next: () => number): number[] {
  const order = labelled.map(({ truth }, index) => ({ index, truth, at: next() }))
  order.sort((a, b) => a.truth - b.truth || a.at - b.at)
  const fold = new Array<number>(labelled.length).fill(0)
  for (const [position, { index }] of order.entries()) fold[index] = position % folds
  return fold
}

/** By how much the log loss of each call falls, in the mean; a calibration helps if even the lower end is above 0. */
export function gainOf(
  before: readonly Labelled[],
  after: readonly Labelled[],
  pause: YieldToLoop,
): Promise<Estimate | null> {
  const gains = before.map((item, index) => logLossOf(item) - logLossOf(after[index] as Labelled))
  return resampled(gains, meanOf, pause)
}
