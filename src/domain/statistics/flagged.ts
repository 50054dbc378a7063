import { type Estimate, normal, type Share, wilson, within01 } from './intervals.ts'
import type { Claim } from './reliability.ts'

/** A judge that is hardly better than chance says nothing about how many calls are positive. */
const minDiscrimination = 0.1

/** What the judge said of calls without labels, and how often it is right about those with labels. */
interface JudgedShare {
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

/** Thresholds are tried at equal shares of all calls, so that which are tried does not depend on the labels. */
const tried = 10
/** The normal quantile of 0.05 / 10, on one side: all bounds hold together in 95 % of cases (Bonferroni). */
const strict = 2.575829

interface Threshold {
  threshold: number
  /** Labelled calls at or above it, and those of them that are right. */
  flagged: number
  right: number
  /** Of what is flagged, at least this share is right. */
  bound: number
  /** The share of what is positive that is flagged. */
  recall: number | null
  /** The share of all calls that is flagged. */
  flagged_share: number
}

/**
 * The lowest threshold from which at least the share `wanted` of what is flagged is right; and the one whose bound is
 * highest, which tells how far the labels are from that if there is none.
 */
export function thresholdOf(
  labelled: readonly Claim[],
  all: readonly number[],
  wanted: number,
): { found: Threshold | undefined; best: Threshold | undefined } {
  const sorted = all.toSorted((a, b) => a - b)
  const at = (step: number) => sorted[Math.floor((step * sorted.length) / tried)]
  const steps = Array.from({ length: tried }, (_, step) => at(step)).filter((value) => value !== undefined)
  const positive = labelled.filter(({ isRight }) => isRight).length
  const candidates = [...new Set(steps)].flatMap((threshold): Threshold[] => {
    const flagged = labelled.filter(({ probability }) => probability >= threshold)
    if (flagged.length === 0) return []
    const right = flagged.filter(({ isRight }) => isRight).length
    return [
      {
        threshold,
        flagged: flagged.length,
        right,
        bound: wilson(right, flagged.length, strict).low,
        recall: positive === 0 ? null : right / positive,
        flagged_share: sorted.filter((probability) => probability >= threshold).length / sorted.length,
      },
    ]
  })
  return {
    found: candidates.find(({ bound }) => bound >= wanted),
    best: candidates.toSorted((a, b) => b.bound - a.bound)[0],
  }
}

/** So many calls must be flagged, all of them right, before a share can be promised. */
export const labelsToPromise = (wanted: number): number =>
  wanted >= 1 ? Number.POSITIVE_INFINITY : Math.ceil((wanted * strict ** 2) / (1 - wanted))
