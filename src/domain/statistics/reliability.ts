import { inSteps, type YieldToLoop } from '../../../packages/waiting/index.ts'
import { calibrated, fitted, type Labelled } from './calibration.ts'
import {
  type Bounds,
  type Estimate,
  meanOf,
  resampled,
  seededNumbers,
  sumOf,
  wilson,
  within01,
} from './intervals.ts'

/** One wrong probability of 0 must not outweigh all others. */
const minProbability = 1e-6

export const logLossOf = ({ probabilities, truth }: Labelled): number =>
  -Math.log(Math.max(minProbability, probabilities[truth] as number))

/** Of a predicate, the square of the error; of more options, the sum of the squares. */
export function brierOf({ probabilities, truth }: Labelled): number {
  const sum = sumOf(probabilities.map((share, option) => (share - (option === truth ? 1 : 0)) ** 2))
  return probabilities.length === 2 ? sum / 2 : sum
}

/** A probability, and whether what it was given for is right: yes of a predicate, the likeliest option of others. */
export interface Claim {
  probability: number
  isRight: boolean
}

export function claimOf({ probabilities, truth }: Labelled, isPredicate: boolean): Claim {
  const option = isPredicate ? 0 : probabilities.indexOf(Math.max(...probabilities))
  return { probability: probabilities[option] as number, isRight: truth === option }
}

interface Bin extends Bounds {
  count: number
  /** The mean of the probabilities. */
  probability: number
  /** How often it was right, with its interval. */
  share: number
}

const maxBins = 10
const minOfBin = 10

/** Bins with equally many claims, at least ten each. */
export function binsOf(claims: readonly Claim[]): Bin[] {
  const sorted = claims.toSorted((a, b) => a.probability - b.probability)
  const count = Math.max(1, Math.min(maxBins, Math.floor(sorted.length / minOfBin)))
  const cut = (bin: number) => Math.round((bin * sorted.length) / count)
  return Array.from({ length: count }, (_, bin) => sorted.slice(cut(bin), cut(bin + 1))).flatMap(binOf)
}

export function binOf(claims: readonly Claim[]): Bin[] {
  if (claims.length === 0) return []
  const right = claims.filter(({ isRight }) => isRight).length
  return [
    {
      count: claims.length,
      probability: meanOf(claims.map(({ probability }) => probability)),
      share: right / claims.length,
      ...wilson(right, claims.length),
    },
  ]
}

/** The expected calibration error: by how much the shares of the bins miss their probabilities. */
export function errorOf(bins: readonly Pick<Bin, 'count' | 'probability' | 'share'>[]): number {
  const all = sumOf(bins.map(({ count }) => count))
  return sumOf(bins.map(({ count, probability, share }) => (count / all) * Math.abs(probability - share)))
}

const draws = 400

/**
 * Chance alone moves the shares of bins away from their probabilities, and makes their error too large. Gaps are taken for
 * so much larger or smaller than they are seen that such an error is in the middle, or at an end, of those drawn with them.
 */
async function estimatedError(bins: readonly Bin[], pause: YieldToLoop): Promise<Estimate> {
  const next = seededNumbers(bins.length)
  const normal = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next())
  const chance = Array.from({ length: draws }, () => bins.map(normal))
  const seen = errorOf(bins)
  async function errorAt(quantile: number): Promise<number> {
    let [low, high] = [0, 4]
    for (let step = 0; step < 10; step++) {
      const factor = (low + high) / 2
      const spread = bins.map(({ count, probability, share }) => {
        const assumed = within01(probability + factor * (share - probability))
        return { count, probability, assumed, deviation: Math.sqrt((assumed * (1 - assumed)) / count) }
      })
      const errors = chance.map((row) =>
        errorOf(
          spread.map((bin, at) => ({ ...bin, share: bin.assumed + bin.deviation * (row[at] as number) })),
        ),
      )
      if ((errors.sort((a, b) => a - b)[Math.round(quantile * (draws - 1))] as number) < seen) low = factor
      else high = factor
      await pause()
    }
    return low * seen
  }
  // Ends of 98 % hold in 95: that the gaps of all bins grow alike is assumed.
  return { value: await errorAt(0.5), low: await errorAt(0.99), high: Math.max(seen, await errorAt(0.01)) }
}

/** With fewer labels the error of bins is mostly chance. */
const minLabelsOfError = 100

export async function qualityOf(labelled: readonly Labelled[], isPredicate: boolean, pause: YieldToLoop) {
  async function each<Value>(read: (item: Labelled) => Value): Promise<Value[]> {
    const values: Value[] = []
    await inSteps(labelled, (item) => void values.push(read(item)), pause)
    return values
  }
  const claims = await each((item) => claimOf(item, isPredicate))
  const excesses = claims.map(({ probability, isRight }) => probability - (isRight ? 1 : 0))
  const meanWith = async (loss: (item: Labelled) => number) => resampled(await each(loss), meanOf, pause)
  const bins = binsOf(claims)
  return {
    log_loss: await meanWith(logLossOf),
    brier: await meanWith(brierOf),
    ece: labelled.length < minLabelsOfError ? null : await estimatedError(bins, pause),
    excess: await resampled(excesses, meanOf, pause),
    bins,
  }
}

const folds = 5
const repeats = 10
/** With more labels one division is like another. */
const maxLabelsOfRepeats = 100

/**
 * What calls would have been given by maps that were fitted without them: the mean over several divisions into folds with
 * about as many of each answer, calls that are alike in one. A map is never measured on its own labels; `shifted` are the
 * options of the map of all.
 */
export async function crossValidated(
  labelled: readonly Labelled[],
  shifted: readonly number[],
  pause: YieldToLoop,
): Promise<Labelled[]> {
  const next = seededNumbers(labelled.length)
  const times = labelled.length < maxLabelsOfRepeats ? repeats : 1
  const sums = labelled.map(({ probabilities }) => probabilities.map(() => 0))
  for (let time = 0; time < times; time++) {
    const fold = foldsOf(labelled, next)
    for (let out = 0; out < folds; out++) {
      const rest = labelled.filter((_, index) => fold[index] !== out)
      const map = await fitted(rest, { shifted }, pause)
      await inSteps(
        labelled,
        ({ probabilities }, index) => {
          if (fold[index] !== out) return
          const shares = calibrated(map, probabilities)
          sums[index] = sums[index]?.map((sum, option) => sum + (shares[option] as number) / times) ?? []
        },
        pause,
      )
    }
  }
  return labelled.map(({ truth }, index) => ({ probabilities: sums[index] as number[], truth }))
}

/** The fold of each call: calls that are alike together, and those with the same answer, shuffled, in turns. */
export function foldsOf(labelled: readonly Labelled[], next: () => number): number[] {
  const alike = Map.groupBy(labelled.keys(), (index) => labelled[index]?.kin ?? index)
  const order = [...alike.values()].map((members) => {
    const [first] = members as [number, ...number[]]
    return { members, truth: labelled[first]?.truth ?? 0, at: next() }
  })
  order.sort((a, b) => a.truth - b.truth || a.at - b.at)
  const fold = new Array<number>(labelled.length).fill(0)
  for (const [position, { members }] of order.entries()) {
    for (const index of members) fold[index] = position % folds
  }
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
