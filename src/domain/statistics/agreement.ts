import { sumOf } from './intervals.ts'

/** How well raters agree beyond chance. Categories are numbers from 0; null where chance is not defined. */

/** `counts[human][judge]`: how many calls each pair of answers has. */
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

/** Cohen's κ; with `isOrdinal` a miss weighs by the square of its distance. Null if both always give one answer. */
export function cohenKappa(counts: Confusion, isOrdinal = false): number | null {
  const all = sumOf(counts.flat())
  const size = counts.length
  const rows = counts.map(sumOf)
  const columns = counts.map((_, column) => sumOf(counts.map((row) => row[column] as number)))
  let observed = 0
  let expected = 0
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) {
      const weight = isOrdinal ? ((i - j) / (size - 1)) ** 2 : Number(i !== j)
      observed += (weight * ((counts[i] as number[])[j] as number)) / all
      expected += (weight * (rows[i] as number) * (columns[j] as number)) / all ** 2
    }
  }
  return expected > 0 ? 1 - observed / expected : null
}

/** Gwet's AC1, which does not fall when nearly all calls have the same answer. */
export function gwetAc1(counts: Confusion): number | null {
  const all = sumOf(counts.flat())
  const shares = counts.map(
    (row, category) => (sumOf(row) + sumOf(counts.map((other) => other[category] as number))) / (2 * all),
  )
  return ac1(sumOf(counts.map((row, category) => row[category] as number)) / all, shares)
}

/** How often each category was given to one call. */
type Votes = readonly number[]

export function votesOf(categories: readonly number[], size: number): number[] {
  const votes = new Array<number>(size).fill(0)
  for (const category of categories) votes[category] = (votes[category] as number) + 1
  return votes
}

/** Fleiss' κ of calls that equally many raters have rated. */
export function fleissKappa(calls: readonly Votes[]): number | null {
  const { observed, shares } = agreementOf(calls)
  return beyondChance(observed, sumOf(shares.map((share) => share ** 2)))
}

/** The same of calls that equally many raters have rated. */
export function ac1OfVotes(calls: readonly Votes[]): number | null {
  const { observed, shares } = agreementOf(calls)
  return ac1(observed, shares)
}

function ac1(observed: number, shares: readonly number[]): number | null {
  const spread = sumOf(shares.map((share) => share * (1 - share)))
  return beyondChance(observed, spread / (shares.length - 1))
}

function agreementOf(calls: readonly Votes[]) {
  const raters = sumOf(calls[0] ?? [])
  const pairs = raters * (raters - 1)
  const agreeing = calls.map((votes) => sumOf(votes.map((count) => count * (count - 1))) / pairs)
  const shares = (calls[0] ?? []).map(
    (_, category) => sumOf(calls.map((votes) => votes[category] as number)) / (calls.length * raters),
  )
  return { observed: sumOf(agreeing) / calls.length, shares }
}

const beyondChance = (observed: number, expected: number) =>
  expected < 1 ? (observed - expected) / (1 - expected) : null
