import {
  charClass,
  type Expr,
  marked,
  optional,
  pointsOf,
  type Range,
  repetition,
  sequence,
} from '../../constraints/index.ts'
import type { Literal } from '../call-format.ts'
import { type Path, path } from './paths.ts'

/** A literal of a format, and what is next to it. */
export interface Placed {
  literal: Literal
  isBeforeName: boolean
  isAfterName: boolean
  /** JSON: its punctuation may have white space around it. */
  isJson: boolean
  ids: 'any' | 'nine'
}

type Part =
  | { kind: 'text'; text: string }
  | { kind: 'hole'; hole: 'id' | 'counter' }
  /** White space, as the template writes it. Between words it cannot be left out. */
  | { kind: 'space'; text: string; isNeeded: boolean }

const digits: readonly Range[] = [[0x30, 0x39]]
const ofNine: readonly Range[] = [...digits, [0x41, 0x5a], [0x61, 0x7a]]
const ofAny: readonly Range[] = [[0x2d, 0x2d], ...digits, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]]
const maxIdLength = 64
const maxDigits = 6
const white = [0x20, 0x0a, 0x0d, 0x09]

/** Between thought, content and calls. */
export const space = repetition(charClass([0x09, 0x0a], [0x0d, 0x0d], [0x20, 0x20]), 0, 8)

/** The literal as the template writes it; a JSON literal also without its white space, as many models write it. */
export function literalExpr(placed: Placed): Expr {
  return sequence(
    ...partsOf(placed).map((piece) => {
      if (piece.kind === 'text') return marked(piece.text)
      if (piece.kind === 'hole') return holeExpr(piece.hole, placed.ids)
      return placed.isJson && !piece.isNeeded ? optional(marked(piece.text)) : marked(piece.text)
    }),
  )
}

function holeExpr(hole: 'id' | 'counter', ids: Placed['ids']): Expr {
  if (hole === 'counter') return repetition(charClass(...digits), 1, maxDigits)
  return ids === 'nine'
    ? repetition(charClass(...ofNine), 9, 9)
    : repetition(charClass(...ofAny), 1, maxIdLength)
}

/**
 * The path of a literal that leads to another path, with any white space between its marks: everything that is read as
 * the literal (`tools/reading/literals.ts`) has to be recognised as it.
 */
export function literalPath(placed: Placed, to: Path): Path {
  return partsOf(placed).reduceRight<Path>((next, piece) => {
    if (piece.kind === 'text') return textPath(piece.text, next)
    if (piece.kind === 'hole') return holePath(piece.hole, next, placed.ids)
    const further = path(next.steps)
    for (const point of white) further.steps.set(point, further)
    return piece.isNeeded ? path(white.map((point) => [point, further])) : further
  }, to)
}

export function textPath(text: string, to: Path): Path {
  return pointsOf(text).reduceRight<Path>((next, point) => path([[point, next]]), to)
}

/** A hole ends where the text continues with what follows it. */
function holePath(hole: 'id' | 'counter', next: Path, ids: Placed['ids']): Path {
  const points = pointsIn(hole === 'counter' ? digits : ids === 'nine' ? ofNine : ofAny)
  if (hole === 'id' && ids === 'nine') {
    let behind = next
    for (let left = 9; left > 0; left--) behind = path(points.map((point) => [point, behind]))
    return behind
  }
  const further = path()
  for (const point of points) further.steps.set(point, further)
  for (const [point, target] of next.steps) further.steps.set(point, target)
  return path(points.map((point) => [point, further]))
}

function pointsIn(ranges: readonly Range[]): number[] {
  return ranges.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, at) => first + at))
}

function partsOf({ literal, isBeforeName, isAfterName, isJson }: Placed): Part[] {
  const pieces = literal.flatMap((piece): (string | { hole: 'id' | 'counter' })[] => {
    if (typeof piece !== 'string') return [piece]
    const spaced = isJson ? piece.replace(besidePunctuation, '\0') : piece
    return spaced.split(/(\s+|\0)/).filter((text) => text !== '')
  })
  return pieces.map((piece, at) => {
    if (typeof piece !== 'string') return { kind: 'hole', hole: piece.hole }
    if (piece.trim() !== '' && piece !== '\0') return { kind: 'text', text: piece }
    const before = at === 0 ? isAfterName : isWord(pieces[at - 1], -1)
    const behind = at === pieces.length - 1 ? isBeforeName : isWord(pieces[at + 1], 0)
    return { kind: 'space', text: piece === '\0' ? '' : piece, isNeeded: before && behind }
  })
}

const besidePunctuation = /(?<=[{}[\]:,])(?=["{}[\]:,])|(?<=")(?=[{}[\]:,])/g

function isWord(piece: Literal[number] | undefined, at: number): boolean {
  return typeof piece === 'string' ? /\w/.test(piece.at(at) ?? '') : piece !== undefined
}

export function isWhite(point: number): boolean {
  return white.includes(point)
}

/** With any amount of white space before it. */
export function spaced(target: Path): Path {
  const start = path(target.steps)
  for (const point of white) if (!start.steps.has(point)) start.steps.set(point, start)
  return start
}

/** Without white space at its start. */
export function withoutLead(literal: Literal): Literal {
  const [first, ...others] = literal
  return typeof first === 'string' ? [first.trimStart(), ...others] : literal
}
