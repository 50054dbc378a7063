/**
 * Enough for a pattern that doubles with each character to take minutes, and for one with cubic growth to take no time.
 */
const repeated = 40
const most = 64

/**
 * Texts on which a regular expression that can backtrack endlessly is likely to do so: something that it names,
 * repeated, and then something that it does not name. A sample, not a proof: each later run of the pattern is bounded
 * as well.
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
