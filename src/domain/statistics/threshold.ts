import { wilson } from './intervals.ts'
import type { Claim } from './reliability.ts'

/** Thresholds are tried at equal shares of all calls, so that which are tried does not depend on the labels. */
const tried = 10
/** The normal quantile of 0.05 / 10, on one side: all bounds hold together in 95 % of cases (Bonferroni). */
const strict = 2.575829

export interface Threshold {
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
