import type { AST } from '@eslint-community/regexpp'
import { RegexError } from '../grammar/errors.ts'
import { complement, type Range, united } from '../grammar/expressions.ts'
import { otherCases } from './letter-cases.ts'
import { propertyRanges } from './unicode-properties.ts'

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
