import type { Literal } from '../call-format.ts'
import { isSpace } from './source.ts'

/** The end of a literal at a position; or that it is absent there, or that the text is too short to tell. */
export type Ending = number
export const absent = -1
export const short = -2

export type Matcher = (text: string, at: number) => Ending

const maxSpace = 64
const maxIdLength = 64
const maxCounterDigits = 9

interface Borders {
  isAfterName: boolean
  isBeforeName: boolean
  /** White space is allowed next to punctuation of JSON. */
  isJson: boolean
}

/**
 * Matches a literal with the white space of the template between its marks, with none, and with more, as models write
 * it. White space at its end is not matched, unless a name follows.
 */
export function tolerantly(literal: Literal, { isAfterName, isBeforeName, isJson }: Borders): Matcher {
  const units = literal.flatMap((piece): Literal[number][] =>
    typeof piece === 'string' ? pieces(piece, isJson) : [piece],
  )
  const isBlank = (piece: Literal[number] | undefined) => typeof piece === 'string' && piece.trim() === ''
  if (!isBeforeName) while (isBlank(units.at(-1))) units.pop()
  const steps = units.map((piece, at): Matcher => {
    if (typeof piece !== 'string') return piece.hole === 'id' ? id : counter
    if (!isBlank(piece)) return exactly(piece)
    const before = at === 0 ? isAfterName : isWord(units[at - 1], -1)
    const after = at === units.length - 1 ? isBeforeName : isWord(units[at + 1], 0)
    return before && after ? neededSpace : space
  })
  return inSequence(steps)
}

/** The same for a mark that is followed by a plain value: white space at its end, if present, belongs to the mark. */
export function withExactEnd(text: string): Matcher {
  const body = tolerantly([text], { isAfterName: false, isBeforeName: false, isJson: false })
  const end = exactly(text.slice(text.trimEnd().length))
  return (answer, at) => {
    const behind = body(answer, at)
    if (behind < 0) return behind
    const exact = end(answer, behind)
    return exact === absent ? behind : exact
  }
}

/** Splits into marks and the white space between them. */
function pieces(text: string, isJson: boolean): string[] {
  const spaced = isJson ? text.replace(/(?<=[{}[\]:,])(?=["{}[\]:,])|(?<=")(?=[{}[\]:,])/g, ' ') : text
  return spaced.split(/(\s+)/).filter((piece) => piece !== '')
}

function isWord(piece: Literal[number] | undefined, at: number): boolean {
  return typeof piece !== 'string' ? piece !== undefined : /\w/.test(piece.at(at) ?? '')
}

/** Matches exactly this text. */
export function exactly(literal: string): Matcher {
  return (text, at) => {
    if (text.startsWith(literal, at)) return at + literal.length
    return at + literal.length > text.length && literal.startsWith(text.slice(at)) ? short : absent
  }
}

export function inSequence(steps: readonly Matcher[]): Matcher {
  return (text, at) => {
    let position = at
    for (const step of steps) {
      position = step(text, position)
      if (position < 0) break
    }
    return position
  }
}

/** Whether one of them matches here, even if a longer one might. */
export function anyOf(matchers: readonly Matcher[]): Matcher {
  return (text, at) => {
    const ends = matchers.map((match) => match(text, at))
    const longest = Math.max(...ends)
    return longest < 0 && ends.includes(short) ? short : longest
  }
}

/** The longest match. */
export function greedyOf(matchers: readonly Matcher[]): Matcher {
  return (text, at) => {
    const ends = matchers.map((match) => match(text, at))
    return ends.includes(short) ? short : Math.max(...ends)
  }
}

function run(isOne: (unit: number) => boolean, min: number, max: number): Matcher {
  return (text, at) => {
    let end = at
    while (end < text.length && end - at < max && isOne(text.charCodeAt(end))) end++
    if (end === text.length && end - at < max) return short
    return end - at < min ? absent : end
  }
}

export const space = run(isSpace, 0, maxSpace)
const neededSpace = run(isSpace, 1, maxSpace)
const counter = run(isDigit, 1, maxCounterDigits)
const id = run((unit) => isDigit(unit) || isLetter(unit) || unit === 0x5f || unit === 0x2d, 1, maxIdLength)

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39
}

function isLetter(unit: number): boolean {
  return (unit >= 0x41 && unit <= 0x5a) || (unit >= 0x61 && unit <= 0x7a)
}
