import { sumOf } from './intervals.ts'

/** How well raters agree beyond chance. Categories are numbers from 0; null where chance is not defined. */

/** `counts[human][judge]`: how many calls each pair of answers has, or of `coincidencesOf`. */
type Confusion = readonly (readonly number[])[]

/** `judge` and `human` are categories. */
export interface Pair {
  human: number
  judge: number
}

export function confusionOf(pairs: readonly Pair[], categories: number): number[][] {
  const counts = Array.from({ length: categories }, () => new Array<number>(categories).fill(0))
  for (const { human, judge } of pairs) {
    const row = counts[human] as number[]
    row[judge] = (row[judge] as number) + 1
  }
  return counts
}

/**
 * How often two people have given each pair of answers to a call, of any number of people. Each answer counts once, so those
 * of one person alone do not.
 */
export function coincidencesOf(ratings: readonly (readonly number[])[], categories: number): number[][] {
  const counts = confusionOf([], categories)
  for (const answers of ratings) {
    for (const [index, category] of answers.entries()) {
      const row = counts[category] as number[]
      for (const other of answers.toSpliced(index, 1))
        row[other] = (row[other] as number) + 1 / (answers.length - 1)
    }
  }
  return counts
}

/**
 * Cohen's κ; with `isOrdinal` a miss weighs by the square of its distance. Of coincidences of equally many people it is
 * Fleiss' κ. Null if there is one answer only.
 */
export function cohenKappa(counts: Confusion, isOrdinal = false): number | null {
  const share = missesOf(counts, (i, j) => (isOrdinal ? (i - j) ** 2 : Number(i !== j)))
  return share === null ? null : 1 - share
}

/** Krippendorff's α of coincidences; with `isOrdinal` a miss weighs by the square of how many answers lie between. */
export function krippendorffAlpha(counts: Confusion, isOrdinal = false): number | null {
  const sums = counts.map(sumOf)
  const middles = sums.map((sum, category) => sumOf(sums.slice(0, category)) + sum / 2)
  const between = (i: number, j: number) => (middles[i] as number) - (middles[j] as number)
  const share = missesOf(counts, (i, j) => (isOrdinal ? between(i, j) ** 2 : Number(i !== j)))
  return share === null ? null : 1 - share * (1 - 1 / sumOf(sums))
}

/** Misses, each with its weight, as a share of those that chance leads to. */
function missesOf(counts: Confusion, weightOf: (i: number, j: number) => number): number | null {
  const rows = counts.map(sumOf)
  const columns = counts.map((_, column) => sumOf(counts.map((row) => row[column] as number)))
  const all = sumOf(rows)
  let observed = 0
  let expected = 0
  for (const [i, row] of counts.entries()) {
    for (const [j, count] of row.entries()) {
      const weight = weightOf(i, j)
      observed += weight * count
      expected += (weight * (rows[i] as number) * (columns[j] as number)) / all
    }
  }
  return expected > 0 ? observed / expected : null
}

/** Gwet's AC1, which does not fall when nearly all calls have the same answer. */
export function gwetAc1(counts: Confusion): number | null {
  const all = sumOf(counts.flat())
  const shares = counts.map(
    (row, category) => (sumOf(row) + sumOf(counts.map((other) => other[category] as number))) / (2 * all),
  )
  const observed = sumOf(counts.map((row, category) => row[category] as number)) / all
  const expected = sumOf(shares.map((share) => share * (1 - share))) / (shares.length - 1)
  return expected < 1 ? (observed - expected) / (1 - expected) : null
}
