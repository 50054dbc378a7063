import type { AST } from '@eslint-community/regexpp'
import { LRUCache } from 'lru-cache'
import { RegexError } from '../grammar/errors.ts'
import { complement, type Range, united } from '../grammar/expressions.ts'

/** Above it, each plane is uniform except for its last two code points. */
const lastMixed = 0x3ffff
const tags: Range = [0xe0000, 0xe01ff]
const lastCodePoint = 0x10ffff
const step = 0x2000
const maxKept = 64

const cache = new LRUCache<string, readonly Range[]>({ max: maxKept })

/** The code points that `\p{…}` stands for. Throws a SyntaxError if there is no such property. */
export function propertyRanges(property: string): readonly Range[] {
  const known = cache.get(property)
  if (known !== undefined) return known
  const ranges = united([...scanned(property)])
  cache.set(property, ranges)
  return ranges
}

function* scanned(property: string): Generator<Range> {
  const runs = new RegExp(`${property}+`, 'gu')
  for (let from = 0; from <= lastMixed; from += step) yield* runsIn(from, from + step - 1, runs)
  yield* runsIn(...tags, runs)
  const pattern = new RegExp(`^${property}$`, 'u')
  for (let from = lastMixed + 1; from <= lastCodePoint; from = (from | 0xffff) + 1) {
    const spans: Range[] = [
      [from === tags[0] ? tags[1] + 1 : from, (from | 0xffff) - 2],
      [(from | 0xffff) - 1, from | 0xffff],
    ]
    for (const span of spans) if (pattern.test(String.fromCodePoint(span[0]))) yield span
  }
}

function* runsIn(first: number, last: number, runs: RegExp): Generator<Range> {
  // Half of a surrogate pair is not a character, and would join with its neighbour.
  const points = Array.from({ length: last - first + 1 }, (_, at) => first + at)
  const text = String.fromCodePoint(...points.filter((point) => point < 0xd800 || point > 0xdfff))
  for (const { 0: run } of text.matchAll(runs)) {
    const from = run.codePointAt(0) ?? 0
    const to = lastOf(run)
    if (from < 0xd800 && to > 0xdfff) yield* [[from, 0xd7ff] as const, [0xe000, to] as const]
    else yield [from, to]
  }
}

function lastOf(run: string): number {
  const last = run.codePointAt(run.length - 1) ?? 0
  return last >= 0xdc00 && last <= 0xdfff ? (run.codePointAt(run.length - 2) ?? last) : last
}

/** Beyond it no script has letters of two cases. */
const lastLetter = 0x1ffff

let known: Map<number, readonly number[]> | undefined

/** The characters that a case-insensitive regular expression treats as equal to one of these. */
function otherCases(ranges: readonly Range[]): Range[] {
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

/** The flags in effect for a character: `(?i:…)`, `(?s:…)`, `(?m:…)`. */
export interface Flags {
  readonly ignoreCase: boolean
  readonly dotAll: boolean
  readonly multiline: boolean
}

export const noFlags: Flags = { ignoreCase: false, dotAll: false, multiline: false }

export function flagsWithin(flags: Flags, modifiers: AST.Modifiers | null): Flags {
  const changed = (which: AST.ModifierFlags | null | undefined, to: boolean): Partial<Flags> => ({
    ...(which?.ignoreCase && { ignoreCase: to }),
    ...(which?.dotAll && { dotAll: to }),
    ...(which?.multiline && { multiline: to }),
  })
  return { ...flags, ...changed(modifiers?.add, true), ...changed(modifiers?.remove, false) }
}

function cased(ranges: readonly Range[], { ignoreCase }: Flags): readonly Range[] {
  return ignoreCase ? united([...ranges, ...otherCases(ranges)]) : ranges
}

/** The characters that one element of the expression matches. */
export function rangesOf(
  element: AST.Character | AST.CharacterSet | AST.CharacterClass,
  flags: Flags,
): readonly Range[] {
  switch (element.type) {
    case 'Character':
      return cased([[element.value, element.value]], flags)
    case 'CharacterSet':
      return rangesOfSet(element, flags)
    case 'CharacterClass':
      return rangesOfClass(element, flags)
  }
}

function rangesOfClass({ elements, negate }: AST.CharacterClass, flags: Flags): readonly Range[] {
  const ranges = united(elements.flatMap((member) => rangesOfMember(member, flags)))
  return negate ? complement(ranges) : ranges
}

function rangesOfMember(member: AST.CharacterClass['elements'][number], flags: Flags): readonly Range[] {
  switch (member.type) {
    case 'Character':
      return cased([[member.value, member.value]], flags)
    case 'CharacterClassRange':
      return cased([[member.min.value, member.max.value]], flags)
    case 'CharacterSet':
      return rangesOfSet(member, flags)
    default:
      throw new RegexError('unsupported', `a set operation (${member.raw}) is not supported`)
  }
}

const digits: readonly Range[] = [[0x30, 0x39]]
const word: readonly Range[] = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
]
const spaces: readonly Range[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
]
export const lineEnds: readonly Range[] = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
]
const shorthands = { digit: digits, space: spaces } as const

function rangesOfSet(set: AST.CharacterSet, flags: Flags): readonly Range[] {
  if (set.kind === 'any') return flags.dotAll ? complement([]) : complement(lineEnds)
  if (set.kind === 'word') return set.negate ? complement(wordRanges(flags)) : wordRanges(flags)
  const ranges =
    set.kind === 'property'
      ? propertyRanges(`\\p{${set.value === null ? set.key : `${set.key}=${set.value}`}}`)
      : shorthands[set.kind]
  const own = set.negate ? complement(ranges) : ranges
  return set.kind === 'property' ? cased(own, flags) : own
}

export function wordRanges(flags: Flags): readonly Range[] {
  return cased(word, flags)
}
