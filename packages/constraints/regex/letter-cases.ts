import type { Range } from '../grammar/expressions.ts'

/** Beyond it no script has letters of two cases. */
const lastLetter = 0x1ffff

let known: Map<number, readonly number[]> | undefined

/** The characters that a case-insensitive regular expression treats as equal to one of these. */
export function otherCases(ranges: readonly Range[]): Range[] {
  known ??= readCases()
  const others: Range[] = []
  for (const [point, same] of known) {
    if (!ranges.some(([first, last]) => first <= point && point <= last)) continue
    for (const other of same) others.push([other, other])
  }
  return others
}

/** As the standard library has it: upper and lower case give the candidates, and its regular expressions decide. */
function readCases(): Map<number, readonly number[]> {
  const groups = new Map<number, Set<number>>()
  for (let point = 0x41; point <= lastLetter; point++) {
    if (point === 0xd800) point = 0xe000
    const text = String.fromCodePoint(point)
    const candidates = [text.toLowerCase(), text.toUpperCase(), text.toUpperCase().toLowerCase()]
      .filter(
        (other) => other !== text && other.length === String.fromCodePoint(other.codePointAt(0) ?? 0).length,
      )
      .map((other) => other.codePointAt(0) ?? 0)
    for (const other of candidates) {
      const group = groups.get(point) ?? groups.get(other) ?? new Set()
      for (const letter of [point, other, ...(groups.get(point) ?? []), ...(groups.get(other) ?? [])]) {
        group.add(letter)
        groups.set(letter, group)
      }
    }
  }
  const cases = new Map<number, readonly number[]>()
  for (const [point, group] of groups) {
    const pattern = new RegExp(`^\\u{${point.toString(16)}}$`, 'iu')
    const same = [...group].filter((other) => other !== point && pattern.test(String.fromCodePoint(other)))
    if (same.length > 0) cases.set(point, same)
  }
  return cases
}
