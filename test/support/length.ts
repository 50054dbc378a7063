/**
 * Whether this process runs a file of `npm run test:long`. Such a file is long as a whole, or it imports a file of
 * `npm test`, whose tests are then done in full.
 */
export const isLong = process.argv[1]?.endsWith('.long.test.ts') ?? false

export const sized = (short: number, long: number): number => (isLong ? long : short)
