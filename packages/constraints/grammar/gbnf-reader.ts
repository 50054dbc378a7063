import type { Budget } from './budget.ts'
import { ConstraintError } from './errors.ts'
import {
  alternatives,
  charClass,
  complement,
  type Expr,
  type Grammar,
  literal,
  type Range,
  repetition,
  rule,
  sequence,
  united,
} from './expressions.ts'
import { checkWidth } from './width.ts'

const longest = 256 * 1024
const deepest = 100
const maxRules = 5000
/** In one alternative. */
const maxParts = 20_000
const largestCount = 100_000

/**
 * Reads a grammar in GBNF as the caller sent it. It is parsed here and written anew, because the engine ends its process
 * at deep nesting, ignores upper bounds above 2,000, and gives its reasons in its log only. Underscores in names and line
 * breaks inside rules are accepted, as in other engines that accept this format.
 */
export function givenGrammar(text: string, budget: Budget): Grammar {
  const { rules } = readRules(text, '')
  checkWidth(rules, budget)
  return { rules }
}

/** The same as a piece: its rules are added, with names that begin with the prefix. */
export function givenPiece(text: string, prefix: string, into: Map<string, Expr>): Expr {
  const { rules, start } = readRules(text, prefix)
  for (const [name, expr] of rules) into.set(name, expr)
  return rule(start)
}

function readRules(text: string, prefix: string): { rules: Map<string, Expr>; start: string } {
  if (text.length > longest) {
    throw new ConstraintError(
      'unsupported',
      `it has ${text.length} characters, at most ${longest} are accepted`,
    )
  }
  if (text.trim() === '') throw new ConstraintError('invalid', 'it is empty')
  if (!text.includes('::=')) {
    throw new ConstraintError(
      'unsupported',
      'it has no rule with ::=; grammars are read as GBNF, and Lark is not supported',
    )
  }
  const reader = createReader(text, createNames(prefix))
  const rules = new Map<string, Expr>()
  while (!reader.atEnd()) {
    const { name, written, expr } = reader.rule()
    if (rules.has(name)) throw new ConstraintError('invalid', `the rule ${written} is defined twice`)
    rules.set(name, expr)
    if (rules.size > maxRules) {
      throw new ConstraintError('unsupported', `it has more than ${maxRules} rules`)
    }
  }
  const missing = reader.references().find(({ name }) => !rules.has(name))
  if (missing) throw new ConstraintError('invalid', `there is no rule ${missing.written}`)
  const start = reader.nameOf('root')
  if (!rules.has(start)) throw new ConstraintError('invalid', 'there is no rule named root')
  return { rules, start }
}

/** Maps names to the letters, digits and hyphens that the engine accepts; different names stay different. */
function createNames(prefix: string): (written: string) => string {
  const names = new Map<string, string>()
  const taken = new Set<string>()
  return (written) => {
    const known = names.get(written)
    if (known !== undefined) return known
    const plain = `${prefix}${written.replaceAll('_', '-')}`
    let name = plain
    for (let number = 2; taken.has(name); number++) name = `${plain}-${number}`
    names.set(written, name)
    taken.add(name)
    return name
  }
}

const escapes = new Map([
  ['t', 0x09],
  ['n', 0x0a],
  ['r', 0x0d],
  ...Array.from('\\"[]\'-^/', (character): [string, number] => [character, character.codePointAt(0) ?? 0]),
])
const hexDigits = new Map([
  ['x', 2],
  ['u', 4],
  ['U', 8],
])

function createReader(text: string, nameOf: (written: string) => string) {
  const asked = new Map<string, string>()
  let at = 0
  let depth = 0

  const flawed = (why: string): ConstraintError => {
    const before = text.slice(0, at).split('\n')
    return new ConstraintError(
      'invalid',
      `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}: ${why}`,
    )
  }
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0]
    if (found !== undefined) at += found.length
    return found
  }
  const skip = () => {
    take(/(?:[ \t\r\n]|#[^\r\n]*)*/y)
  }
  const name = () => take(/[A-Za-z0-9_-]+/y)
  const isHead = () => {
    const head = /[A-Za-z0-9_-]+(?:[ \t\r\n]|#[^\r\n]*)*::=/y
    head.lastIndex = at
    return head.test(text)
  }

  const alternates = (): Expr => {
    const ways = [elements()]
    while (take(/\|/y) !== undefined) {
      skip()
      ways.push(elements())
      if (ways.length > maxParts) {
        throw new ConstraintError('unsupported', flawed(`there are more than ${maxParts} alternatives`).why)
      }
    }
    return alternatives(...ways)
  }

  const elements = (): Expr => {
    const found: Expr[] = []
    for (let element = item(); element !== undefined; element = item()) {
      skip()
      for (let counted = count(element); counted !== undefined; counted = count(element)) {
        element = counted
        skip()
      }
      found.push(element)
      if (found.length > maxParts) {
        throw new ConstraintError('unsupported', flawed(`more than ${maxParts} parts follow one another`).why)
      }
    }
    return sequence(...found)
  }

  const item = (): Expr | undefined => {
    const character = text[at]
    if (character === undefined || character === '|' || character === ')') return undefined
    if (character === '"') return quoted()
    if (character === '[') return characters()
    if (character === '.') {
      at++
      return charClass([0, 0x10ffff])
    }
    if (character === '(') return group()
    if (character === '<' || character === '!') {
      throw new ConstraintError('unsupported', flawed('tokens in a grammar are not supported').why)
    }
    if (isHead()) return undefined
    const written = name()
    if (written === undefined) throw flawed(`${JSON.stringify(character)} is not expected here`)
    asked.set(nameOf(written), written)
    return rule(nameOf(written))
  }

  const group = (): Expr => {
    if (++depth > deepest) {
      throw new ConstraintError('unsupported', `parentheses are nested more than ${deepest} deep`)
    }
    at++
    skip()
    const inside = alternates()
    if (text[at] !== ')') throw flawed('a closing parenthesis is missing')
    at++
    depth--
    return inside
  }

  const point = (): number => {
    const character = String.fromCodePoint(text.codePointAt(at) ?? 0)
    at += character.length
    if (character !== '\\') return character.codePointAt(0) ?? 0
    const escaped = text[at++] ?? ''
    const known = escapes.get(escaped)
    if (known !== undefined) return known
    const digits = text.slice(at, at + (hexDigits.get(escaped) ?? 0))
    if (digits === '' || digits.length !== hexDigits.get(escaped) || !/^[0-9A-Fa-f]+$/.test(digits)) {
      throw flawed(`there is no escape \\${escaped}`)
    }
    at += digits.length
    const value = Number.parseInt(digits, 16)
    if (value > 0x10ffff) throw flawed(`\\${escaped}${digits} is not a valid character`)
    return value
  }

  const quoted = (): Expr => {
    const points: number[] = []
    at++
    while (text[at] !== '"') {
      if (at >= text.length) throw flawed('a closing quote is missing')
      const codePoint = point()
      if (codePoint === 0) throw flawed('NUL is not a valid character')
      points.push(codePoint)
    }
    at++
    return literal(points.map((codePoint) => String.fromCodePoint(codePoint)).join(''))
  }

  const characters = (): Expr => {
    at++
    const negated = take(/\^/y) !== undefined
    const ranges: Range[] = []
    while (text[at] !== ']') {
      if (at >= text.length) throw flawed('a closing bracket is missing')
      const first = point()
      if (text[at] !== '-' || text[at + 1] === ']' || at + 1 >= text.length) {
        ranges.push([first, first])
        continue
      }
      at++
      const last = point()
      if (last < first) throw flawed('a range of characters is the wrong way round')
      ranges.push([first, last])
    }
    at++
    return charClass(...(negated ? complement(united(ranges)) : ranges))
  }

  const count = (of: Expr): Expr | undefined => {
    const sign = take(/[*+?]/y)
    if (sign !== undefined) return repetition(of, sign === '+' ? 1 : 0, sign === '?' ? 1 : undefined)
    if (text[at] !== '{') return undefined
    const [, least = '', comma, most] =
      /^\{\s*(\d{1,9})\s*(?:(,)\s*(\d{1,9})?\s*)?\}/.exec(text.slice(at, at + 64)) ?? []
    if (least === '') throw flawed('a count must be {n}, {n,} or {n,m}')
    const min = Number(least)
    const max = comma === undefined ? min : most === undefined ? undefined : Number(most)
    if (Math.max(min, max ?? 0) > largestCount) {
      throw new ConstraintError('unsupported', flawed(`a count is at most ${largestCount}`).why)
    }
    if (max !== undefined && max < min) throw flawed('a count is the wrong way round')
    at = text.indexOf('}', at) + 1
    return repetition(of, min, max)
  }

  skip()
  return {
    nameOf,
    atEnd: () => at >= text.length,
    references: () => Array.from(asked, ([name, written]) => ({ name, written })),
    rule(): { name: string; written: string; expr: Expr } {
      const written = name()
      if (written === undefined) throw flawed('the name of a rule is expected')
      skip()
      if (take(/::=/y) === undefined) throw flawed(`::= is expected after ${written}`)
      skip()
      const expr = alternates()
      if (at < text.length && !isHead()) throw flawed(`${JSON.stringify(text[at])} is not expected here`)
      return { name: nameOf(written), written, expr }
    },
  }
}
