import {
  alternatives,
  charClass,
  type Expr,
  literal,
  type Range,
  repetition,
  rule,
  sequence,
} from './expressions.ts'

/** A grammar whose rules are read when somebody comes to them: most answers never see most of a large one. */
export interface WrittenGrammar {
  /** Undefined when there is no such rule. */
  rule(name: string): Expr | undefined
}

/** A grammar as writeGbnf writes it, a rule on each line, which has been checked before it was written. */
export function writtenGrammar(text: string): WrittenGrammar {
  const bodies = new Map<string, string>()
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at)
    const next = end < 0 ? text.length : end
    const sign = text.indexOf(' ::= ', at)
    if (sign < 0 || sign > next) throw unexpected(text, at)
    bodies.set(text.slice(at, sign), text.slice(sign + 5, next))
    at = next + 1
  }
  return {
    rule(name) {
      const body = bodies.get(name)
      return body === undefined ? undefined : readBody(body)
    },
  }
}

const backslash = 0x5c
const hyphen = 0x2d

function readBody(text: string): Expr {
  let at = 0

  const point = (): number => {
    const first = text.codePointAt(at) ?? 0
    if (first !== backslash) {
      at += first > 0xffff ? 2 : 1
      return first
    }
    const digits = { x: 2, u: 4, U: 8 }[text[at + 1] ?? ''] ?? 0
    if (digits === 0) throw unexpected(text, at)
    const value = Number.parseInt(text.slice(at + 2, at + 2 + digits), 16)
    at += 2 + digits
    return value
  }

  /** A quote inside of it is written as its number. */
  const quoted = (): Expr => {
    const end = text.indexOf('"', at + 1)
    if (end < 0) throw unexpected(text, at)
    const read = text.slice(at + 1, end)
    at = end + 1
    return literal(read.includes('\\') ? read.replace(escapes, unescaped) : read)
  }

  const characters = (): Expr => {
    const ranges: Range[] = []
    for (at++; text[at] !== ']'; ) {
      if (at >= text.length) throw unexpected(text, at)
      const first = point()
      if (text.charCodeAt(at) === hyphen) at++
      else {
        ranges.push([first, first])
        continue
      }
      ranges.push([first, point()])
    }
    at++
    return charClass(...ranges)
  }

  const one = (): Expr => {
    switch (text[at]) {
      case '"':
        return quoted()
      case '[':
        return characters()
      case '(': {
        at++
        const inside = ways()
        if (text[at] !== ')') throw unexpected(text, at)
        at++
        return inside
      }
      default: {
        const from = at
        while (isOfName(text.charCodeAt(at))) at++
        if (at === from) throw unexpected(text, at)
        return rule(text.slice(from, at))
      }
    }
  }

  const counted = (of: Expr): Expr => {
    switch (text[at]) {
      case '*':
      case '+':
      case '?': {
        const sign = text[at++]
        return repetition(of, sign === '+' ? 1 : 0, sign === '?' ? 1 : undefined)
      }
      case '{': {
        const end = text.indexOf('}', at)
        const [min = 0, max = min] = text
          .slice(at + 1, end)
          .split(',')
          .map(Number)
        at = end + 1
        return repetition(of, min, max)
      }
      default:
        return of
    }
  }

  const parts = (): Expr => {
    const found = [counted(one())]
    while (text[at] === ' ' && text[at + 1] !== '|') {
      at++
      found.push(counted(one()))
    }
    return sequence(...found)
  }

  const ways = (): Expr => {
    const found = [parts()]
    while (text.startsWith(' | ', at)) {
      at += 3
      found.push(parts())
    }
    return alternatives(...found)
  }

  const expr = ways()
  if (at < text.length) throw unexpected(text, at)
  return expr
}

const escapes = /\\(?:x(..)|u(.{4})|U(.{8}))/g

function unescaped(_: string, two?: string, four?: string, eight?: string): string {
  return String.fromCodePoint(Number.parseInt(two ?? four ?? eight ?? '', 16))
}

/** Letters, digits and the hyphen. */
function isOfName(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x30 && code <= 0x39) ||
    code === hyphen
  )
}

/** It was written by a compiler of ours, so this is a fault of ours. */
function unexpected(text: string, at: number): Error {
  return new Error(`a written grammar goes on with ${JSON.stringify(text.slice(at, at + 20))}`)
}
