import { type AST, RegExpParser, RegExpSyntaxError } from '@eslint-community/regexpp'
import type { Budget } from '../grammar/budget.ts'
import { RegexError } from '../grammar/errors.ts'
import { charClass, complement, type Expr, literal, type Range, united } from '../grammar/expressions.ts'
import {
  type Anchored,
  either,
  endAnchor,
  free,
  inOrder,
  repeated,
  somewhere,
  startAnchor,
  wholeText,
} from './anchored.ts'
import { propertyRanges } from './unicode-properties.ts'

const longest = 32_768
const deepest = 200
const mostProperties = 16
/** What has anchors is followed along each way in which they may hold. */
const mostAnchors = 100
/** Each is looked up among all code points. */
const stepsOfProperty = 15_000

export interface RegexOptions {
  /** A match anywhere in the text is enough, as `pattern` of JSON Schema has it; otherwise the whole text is matched. */
  search: boolean
  budget?: Budget
}

/**
 * A regular expression as a piece of grammar without rules, in the characters of the text that is matched. It is read as
 * ECMAScript reads it with the flag `u`; which of several matches would be found makes no difference to the texts that
 * match, so lazy repetitions are repetitions.
 */
export function compileRegex(source: string, { search, budget }: RegexOptions): Expr {
  const pattern = parse(source, budget)
  const anchored = either(pattern.alternatives.map(compileAlternative))
  return search ? somewhere(anchored) : wholeText(anchored)
}

function parse(source: string, budget: Budget | undefined): AST.Pattern {
  budget?.spend(source.length)
  if (source.length > longest) {
    throw new RegexError('unsupported', `it has ${source.length} characters, at most ${longest} are accepted`)
  }
  const modern = modernSource(source)
  if (depthOf(modern) > deepest) {
    throw new RegexError('unsupported', `groups are nested more than ${deepest} deep`)
  }
  try {
    const pattern = new RegExpParser({ ecmaVersion: 2025 }).parsePattern(modern, 0, modern.length, {
      unicode: true,
    })
    const properties = modern.match(/\\p\{/gi)?.length ?? 0
    if (properties > mostProperties) {
      throw new RegexError(
        'unsupported',
        `it has ${properties} Unicode properties, at most ${mostProperties} are accepted`,
      )
    }
    const anchors = modern.replace(/\\.|\[[^\]]*\]/gsu, '').match(/[$^]/g)?.length ?? 0
    if (anchors > mostAnchors) {
      throw new RegexError('unsupported', `it has ${anchors} anchors, at most ${mostAnchors} are accepted`)
    }
    // Also when it is known already: what is refused is not to depend on what was asked before.
    budget?.spend(properties * stepsOfProperty)
    return pattern
  } catch (error) {
    if (!(error instanceof RegExpSyntaxError)) throw error
    throw new RegexError('invalid', `${reasonOf(error.message)} at character ${error.index + 1}`)
  }
}

/** The parser puts the whole expression before its reason. */
function reasonOf(message: string): string {
  return message.slice(message.lastIndexOf(': ') + 2)
}

function depthOf(source: string): number {
  let depth = 0
  let most = 0
  for (let at = 0; at < source.length; at++) {
    if (source[at] === '\\') at++
    else if (source[at] === '(') most = Math.max(most, ++depth)
    else if (source[at] === ')') depth--
  }
  return most
}

function compileAlternative({ elements }: AST.Alternative): Anchored {
  return inOrder(elements.map(compileElement))
}

function compileElement(element: AST.Element): Anchored {
  switch (element.type) {
    case 'Assertion':
      if (element.kind === 'start') return startAnchor
      if (element.kind === 'end') return endAnchor
      throw new RegexError('unsupported', `${assertions[element.kind]} (${element.raw}) is not supported`)
    case 'Quantifier':
      return repeated(compileElement(element.element), element.min, element.max)
    case 'Group':
      if (element.modifiers) {
        throw new RegexError('unsupported', `flags inside of a group (${element.raw}) are not supported`)
      }
      return either(element.alternatives.map(compileAlternative))
    case 'CapturingGroup':
      return either(element.alternatives.map(compileAlternative))
    case 'Character':
      return free(literal(String.fromCodePoint(element.value)))
    case 'CharacterSet':
      return free(charClass(...rangesOfSet(element)))
    case 'CharacterClass':
      return free(charClass(...rangesOfClass(element)))
    case 'Backreference':
      throw new RegexError('unsupported', `a back-reference (${element.raw}) is not supported`)
    case 'ExpressionCharacterClass':
      throw new RegexError('unsupported', `a set operation (${element.raw}) is not supported`)
  }
}

const assertions = {
  word: 'a word boundary',
  lookahead: 'a look-ahead',
  lookbehind: 'a look-behind',
} as const

function rangesOfClass({ elements, negate }: AST.CharacterClass): readonly Range[] {
  const ranges = united(elements.flatMap(rangesOfMember))
  return negate ? complement(ranges) : ranges
}

function rangesOfMember(member: AST.CharacterClass['elements'][number]): readonly Range[] {
  switch (member.type) {
    case 'Character':
      return [[member.value, member.value]]
    case 'CharacterClassRange':
      return [[member.min.value, member.max.value]]
    case 'CharacterSet':
      return rangesOfSet(member)
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
const lineEnds: readonly Range[] = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
]
const shorthands = { digit: digits, word, space: spaces } as const

function rangesOfSet(set: AST.CharacterSet): readonly Range[] {
  if (set.kind === 'any') return complement(lineEnds)
  const ranges =
    set.kind === 'property'
      ? propertyRanges(`\\p{${set.value === null ? set.key : `${set.key}=${set.value}`}}`)
      : shorthands[set.kind]
  return set.negate ? complement(ranges) : ranges
}

/** Escapes that `u` knows outside of a class; in a class there is the hyphen as well. */
const escapable = '^$\\.*+?()[]{}|/'

/**
 * Expressions are written in many dialects. What cannot be misread is put as ECMAScript wants it with the flag `u`: a
 * needless backslash before punctuation (`\-`, `\_`, `\"`), and `(?P<name>…)` for a named group.
 */
function modernSource(source: string): string {
  let out = ''
  let inClass = false
  for (let at = 0; at < source.length; at++) {
    const character = source[at] ?? ''
    if (character === '\\') {
      const escaped = source[++at] ?? ''
      const needless =
        /^[\s!-/:-@[-`{-~]$/.test(escaped) && !escapable.includes(escaped) && !(inClass && escaped === '-')
      out += needless ? escaped : character + escaped
      continue
    }
    if (character === '[') inClass = true
    else if (character === ']') inClass = false
    else if (character === '(' && !inClass && source.startsWith('(?P<', at)) {
      out += '(?<'
      at += 3
      continue
    }
    // In a class an opening bracket is a character, as it is with `u`.
    out += character
  }
  return out
}
