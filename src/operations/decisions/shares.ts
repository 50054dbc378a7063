import { within01 } from '../../domain/statistics/intervals.ts'
import type { DecisionAnswer } from '../../inference/decisions/decision.ts'
import { applied, type StoredCalibration } from '../calibrations/stored.ts'
import type { Decided } from './decide.ts'

/** The option with the largest probability; of equal ones, the first. */
export function winnerOf(probabilities: readonly number[]): number {
  return probabilities.indexOf(Math.max(...probabilities))
}

/** The expected level, counted from 0. */
export function scoreOf(probabilities: readonly number[]): number {
  return probabilities.reduce((sum, probability, level) => sum + level * probability, 0)
}

/** How far the likeliest option is above the share of each if none was known: TypeSafe's formula. */
export function choiceConfidence(probabilities: readonly number[]): number {
  const count = probabilities.length
  if (count < 2) return 1
  return within01((count * Math.max(...probabilities) - 1) / (count - 1))
}

/** How close the levels are to the likeliest one, compared with levels that are all alike: TypeSafe's formula. */
export function scoreConfidence(probabilities: readonly number[]): number {
  const count = probabilities.length
  if (count < 2) return 1
  const winner = winnerOf(probabilities)
  const far = probabilities.reduce((sum, p, level) => sum + p * Math.abs(level - winner), 0)
  const even = probabilities.reduce((sum, _, level) => sum + Math.abs(level - (count - 1) / 2) / count, 0)
  return within01(1 - far / even)
}

/** Of a question that names a calibration: what it makes of the probabilities, and which version it is; null if it does not fit. */
export interface Calibrated {
  shares: number[] | null
  ref: string | null
}

export function calibratedBy(
  calibrations: ReadonlyMap<number, StoredCalibration>,
  { answers, digests }: Pick<Decided, 'answers' | 'digests'>,
): (Calibrated | undefined)[] {
  return answers.map(({ probabilities }, index) => {
    const calibration = calibrations.get(index)
    if (calibration === undefined || probabilities === undefined) return undefined
    const shares = applied(calibration, { digest: digests[index] as string }, probabilities)
    return { shares, ref: shares && calibration.ref }
  })
}

export function diagnosisOf({ mass, isLikeliest, spread }: DecisionAnswer, calibrated?: Calibrated) {
  return {
    ...(mass !== undefined && { label_mass: mass }),
    ...(isLikeliest !== undefined && { argmax_is_label: isLikeliest }),
    ...(spread !== undefined && { order_spread: spread }),
    ...(calibrated && { calibration: calibrated.ref }),
  }
}
