import { type Estimate, normal, type Share, wilson } from './intervals.ts'

/** A judge that is hardly better than chance says nothing about how many calls are positive. */
const minDiscrimination = 0.1

/** What the judge said of calls without labels, and how often it is right about those with labels. */
export interface JudgedShare {
  flagged: number
  of: number
  /** Of the truly positive, and of the truly negative. */
  truePositive: Pick<Share, 'count' | 'of'>
  trueNegative: Pick<Share, 'count' | 'of'>
}

/**
 * The share of positive calls, corrected for the errors of the judge (Rogan and Gladen), with the interval of Lang and
 * Reiczigel. Undefined if the labels do not show that the judge is better than chance.
 */
export function correctedShare({
  flagged,
  of,
  truePositive,
  trueNegative,
}: JudgedShare): Estimate | undefined {
  if (of === 0 || truePositive.of === 0 || trueNegative.of === 0) return undefined
  const rates = [truePositive, trueNegative].map(({ count, of }) => ({
    value: count / of,
    ...wilson(count, of),
  }))
  const [positive, negative] = rates as [Estimate, Estimate]
  const discrimination = positive.value + negative.value - 1
  // The two rates are of different calls, so their errors add up as squares.
  const uncertainty = Math.hypot(positive.value - positive.low, negative.value - negative.low)
  if (discrimination <= minDiscrimination || discrimination - uncertainty <= 0) return undefined
  const value = within01((flagged / of + negative.value - 1) / discrimination)

  const z = normal
  const count = of + z ** 2
  const share = (flagged + z ** 2 / 2) / count
  const [positives, negatives] = [truePositive.of + 2, trueNegative.of + 2]
  const [p, q] = [(truePositive.count + 1) / positives, (trueNegative.count + 1) / negatives]
  const theta = (share + q - 1) / (p + q - 1)
  const [ofPositive, ofNegative] = [(p * (1 - p)) / positives, (q * (1 - q)) / negatives]
  const shift = 2 * z ** 2 * (theta * ofPositive - (1 - theta) * ofNegative)
  const variance = (share * (1 - share)) / count + (1 - theta) ** 2 * ofNegative + theta ** 2 * ofPositive
  const half = (z * Math.sqrt(variance)) / (p + q - 1)
  return { value, low: within01(theta + shift - half), high: within01(theta + shift + half) }
}

const within01 = (value: number) => Math.min(1, Math.max(0, value))
