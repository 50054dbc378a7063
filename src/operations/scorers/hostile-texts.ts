/** Enough for what doubles with each character to take minutes, and for what grows with the third power to take no time. */
const repeated = 40
const most = 64

/**
 * Texts on which a regular expression that backtracks without end does so: what it names again and again, and then
 * something that it does not name. A sample, no proof: each later run of the pattern has a bound of its own.
 */
export function hostileTexts(pattern: string): string[] {
  const named = new Set([
    'a',
    '0',
    ' ',
    ...(pattern.replace(/\\./g, '').match(/[\p{L}\p{N}\s@.,_-]/gu) ?? []),
  ])
  const words = pattern.match(/[\p{L}\p{N}]{2,}/gu) ?? []
  const units = [...named, ...words].slice(0, most)
  return units.map((unit) => `${unit.repeat(repeated)}\u0001`)
}
