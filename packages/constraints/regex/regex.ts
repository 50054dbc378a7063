import { type AST, RegExpParser, RegExpSyntaxError } from '@eslint-community/regexpp'
import type { Automaton } from '../automaton/automaton.ts'
import type { Budget } from '../grammar/budget.ts'
import { RegexError } from '../grammar/errors.ts'
import { charClass, type Expr, literal } from '../grammar/expressions.ts'
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
import { assertionsAutomaton, unsupported } from './assertions.ts'
import { type Flags, flagsWithin, noFlags, rangesOf } from './characters.ts'
import { leadingLookaheadAutomaton } from './leading-lookaheads.ts'

const longest = 32_768
const deepest = 200
const maxProperties = 16
/** Each way in which the anchors may hold is followed on its own. */
const maxAnchors = 100
/** Each is looked up among all code points. */
const stepsOfProperty = 15_000

interface RegexOptions {
  /** A match anywhere in the text is enough, as for `pattern` in JSON Schema; otherwise the whole text has to match. */
  search: boolean
  budget?: Budget
}

/**
 * A regular expression as a piece of grammar without rules, in the characters of the text to match. It is read as
 * ECMAScript reads it with the flag `u`. Which of several matches would be found does not change which texts match, so
 * lazy repetitions are treated as repetitions.
 */
export function compileRegex(source: string, { search, budget }: RegexOptions): Expr {
  const anchored = either(parse(source, budget).alternatives.map((way) => compileAlternative(way, noFlags)))
  return search ? somewhere(anchored) : wholeText(anchored)
}

/** The same for every regular language: assertions about the surrounding text need an automaton. */
export function regexLanguage(
  source: string,
  { search, budget }: RegexOptions & { budget: Budget },
): { expr: Expr } | { automaton: Automaton } {
  const pattern = parse(source, budget)
  const isPlain = (element: AST.Element) => !looksAround(element, false)
  if (pattern.alternatives.every(({ elements }) => elements.every(isPlain))) {
    return { expr: compileRegex(source, { search, budget }) }
  }
  const leading = leadingLookaheadAutomaton(pattern, {
    search,
    budget,
    compiled: (elements) => inOrder(elements.map((element) => compileElement(element, noFlags))),
    looksAround: (element) => !isPlain(element),
  })
  return { automaton: leading ?? assertionsAutomaton(pattern, search, budget) }
}

/** Whether there is an assertion that needs more than the anchors at the start and the end of the text. */
function looksAround(element: AST.Element, repeats: boolean): boolean {
  switch (element.type) {
    case 'Assertion':
      return repeats || (element.kind !== 'start' && element.kind !== 'end')
    case 'Quantifier':
      return looksAround(element.element, repeats || element.max > 1)
    case 'Group':
    case 'CapturingGroup': {
      const isMultiline = element.type === 'Group' && element.modifiers?.add.multiline === true
      return element.alternatives.some(({ elements }) =>
        elements.some((inner) => looksAround(inner, repeats || isMultiline)),
      )
    }
    default:
      return false
  }
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
    if (properties > maxProperties) {
      throw new RegexError(
        'unsupported',
        `it has ${properties} Unicode properties, at most ${maxProperties} are accepted`,
      )
    }
    const anchors = modern.replace(/\\.|\[[^\]]*\]/gsu, '').match(/[$^]/g)?.length ?? 0
    if (anchors > maxAnchors) {
      throw new RegexError('unsupported', `it has ${anchors} anchors, at most ${maxAnchors} are accepted`)
    }
    // Also spent if it is cached: whether an expression is refused must not depend on earlier requests.
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

function compileAlternative({ elements }: AST.Alternative, flags: Flags): Anchored {
  return inOrder(elements.map((element) => compileElement(element, flags)))
}

function compileElement(element: AST.Element, flags: Flags): Anchored {
  switch (element.type) {
    case 'Assertion':
      if (element.kind === 'start') return startAnchor
      if (element.kind === 'end') return endAnchor
      throw new RegexError('unsupported', `${assertions[element.kind]} (${element.raw}) is not supported`)
    case 'Quantifier':
      return repeated(compileElement(element.element, flags), element.min, element.max)
    case 'Group':
    case 'CapturingGroup': {
      const own = element.type === 'Group' ? flagsWithin(flags, element.modifiers) : flags
      return either(element.alternatives.map((branch) => compileAlternative(branch, own)))
    }
    case 'Character':
      if (!flags.ignoreCase) return free(literal(String.fromCodePoint(element.value)))
      return free(charClass(...rangesOf(element, flags)))
    case 'CharacterSet':
    case 'CharacterClass':
      return free(charClass(...rangesOf(element, flags)))
    default:
      throw unsupported(element)
  }
}

const assertions = {
  word: 'a word boundary',
  lookahead: 'a look-ahead',
  lookbehind: 'a look-behind',
} as const

/** Escapes that `u` knows outside of a class; in a class the hyphen is one as well. */
const escapable = '^$\\.*+?()[]{}|/'

/**
 * Expressions are written in many dialects. What cannot be misread is rewritten as ECMAScript requires it with the flag
 * `u`: a needless backslash before punctuation (`\-`, `\_`, `\"`), braces that count nothing, and `(?P<name>…)` for a
 * named group.
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
      const name = /^[pPuk]$/.test(escaped) ? /^[{<][^}>]*[}>]/.exec(source.slice(at + 1, at + 66)) : null
      if (name === null) continue
      out += name[0]
      at += name[0].length
      continue
    }
    if (character === '[') inClass = true
    else if (character === ']' && inClass) inClass = false
    else if (character === ']') {
      // Without `u` it closes nothing here and is itself, as in zod's pattern of RFC 5322.
      out += '\\]'
      continue
    } else if (character === '(' && !inClass && source.startsWith('(?P<', at)) {
      out += '(?<'
      at += 3
      continue
    } else if ((character === '{' || character === '}') && !inClass) {
      const count = /^\{\d+(?:,\d*)?\}/.exec(source.slice(at, at + 40))
      out += count?.[0] ?? `\\${character}`
      at += (count?.[0].length ?? 1) - 1
      continue
    }
    // In a class an opening bracket is a character, as it is with `u`.
    out += character
  }
  return out
}
