import type { YieldToLoop } from '../../../packages/waiting/index.ts'
import type { Labelled } from './calibration.ts'
import { type Bounds, type Estimate, meanOf, resampled, wilson } from './intervals.ts'

/** One wrong probability of 0 must not outweigh all others. */
const minProbability = 1e-6

export const logLossOf = ({ probabilities, truth }: Labelled): number =>
  -Math.log(Math.max(minProbability, probabilities[truth] as number))

/** Of a predicate, the square of the error; of more options, the sum of the squares. */
export function brierOf({ probabilities, truth }: Labelled): number {
  const squares = probabilities.map((probability, option) => (probability - (option === truth ? 1 : 0)) ** 2)
  const sum = squares.reduce((total, square) => total + square, 0)
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

export interface Bin extends Bounds {
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
export function errorOf(bins: readonly Bin[]): number {
  const all = bins.reduce((sum, { count }) => sum + count, 0)
  return bins.reduce(
    (sum, { count, probability, share }) => sum + (count / all) * Math.abs(probability - share),
    0,
  )
}

/** With fewer labels the error of bins is mostly chance. */
export const minLabelsOfError = 100

export interface Quality {
  log_loss: Estimate | null
  brier: Estimate | null
  /** Null with fewer than 100 labels. */
  ece: Estimate | null
  /** Mean probability less the share that was right: above 0 is too sure. */
  excess: Estimate | null
  bins: Bin[]
}

export async function qualityOf(
  labelled: readonly Labelled[],
  isPredicate: boolean,
  pause: YieldToLoop,
): Promise<Quality> {
  const claims = labelled.map((item) => claimOf(item, isPredicate))
  const meanWith = (loss: (item: Labelled) => number) => resampled(labelled.map(loss), meanOf, pause)
  return {
    log_loss: await meanWith(logLossOf),
    brier: await meanWith(brierOf),
    ece:
      labelled.length < minLabelsOfError
        ? null
        : await resampled(claims, (sample) => errorOf(binsOf(sample)), pause),
    excess: await resampled(
      claims.map(({ probability, isRight }) => probability - (isRight ? 1 : 0)),
      meanOf,
      pause,
    ),
    bins: binsOf(claims),
  }
}
