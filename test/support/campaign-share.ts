/**
 * How much of a random campaign or of a corpus runs: a share that is always the same in `npm test`, and the whole where a
 * file `*.long.test.ts` imports the tests (`npm run test:long`).
 */
export const isWhole = process.argv[1]?.endsWith('.long.test.ts') ?? false

/** How often fast-check tries. The whole is as random as it was; the share has a seed. */
export function tried(
  { share, whole }: { share: number; whole: number },
  seed?: number,
): { numRuns: number; seed?: number } {
  if (isWhole) return { numRuns: whole, ...(seed !== undefined && { seed }) }
  return { numRuns: share, seed: seed ?? 20_261_126 }
}

/** Every fourth of the cases. */
export function sampled<Case>(cases: readonly Case[]): readonly Case[] {
  return isWhole ? cases : cases.filter((_, at) => at % 4 === 0)
}
