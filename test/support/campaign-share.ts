/**
 * Whether this process runs a file of `npm run test:long`. Such a file is long as a whole, or it imports files of
 * `npm test`, of whose random campaigns and corpora a share runs there, always the same, and here the whole.
 */
export const isWhole = process.argv[1]?.endsWith('.long.test.ts') ?? false

export const sized = (share: number, whole: number): number => (isWhole ? whole : share)

/** How often fast-check tries. The whole is as random as it was; the share has a seed. */
export function tried(
  { share, whole }: { share: number; whole: number },
  seed?: number,
): { numRuns: number; seed?: number } {
  if (isWhole) return { numRuns: whole, ...(seed !== undefined && { seed }) }
  return { numRuns: share, seed: seed ?? 20_261_126 }
}

/** Every fourth of the cases; four runs from 0, 1, 2 and 3 take all of them. */
export function sampled<Case>(cases: readonly Case[], from = 0): readonly Case[] {
  return isWhole ? cases : cases.filter((_, at) => at % 4 === from % 4)
}

/** One of the cases, another for each index. */
export function picked<Case>(cases: readonly Case[], index: number): readonly Case[] {
  return isWhole ? cases : cases.filter((_, at) => at === index % cases.length)
}
