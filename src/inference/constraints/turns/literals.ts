import type { Literal } from '../../tools/call-format.ts'
import { charClass, type Expr, optional, type Range, repetition, sequence } from '../grammar/expressions.ts'
import { ofPoints, pointsOf } from '../grammar/symbols.ts'
import { type Path, path } from './paths.ts'

/**
 * A literal of a format, with its white space as it is (`exact`) or as models write it: each run of white space whole or not
 * at all (`loose`).
 */
export type Spelling = 'exact' | 'loose'

const digits: readonly Range[] = [[0x30, 0x39]]
const ofNine: readonly Range[] = [...digits, [0x41, 0x5a], [0x61, 0x7a]]
const ofAny: readonly Range[] = [
  [0x2d, 0x2e],
  ...digits,
  [0x3a, 0x3a],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
]
const mostOfId = 64
const mostDigits = 6

/** What the holes of literals hold. */
export interface Holes {
  ids: 'any' | 'nine'
}

export function literalExpr(literal: Literal, spelling: Spelling, holes: Holes): Expr {
  return sequence(
    ...literal.map((piece) => {
      if (typeof piece !== 'string') return holeExpr(piece.hole, holes)
      return sequence(
        ...runsOf(piece).map((run) =>
          spelling === 'loose' && isWhite(run[0]) ? optional(ofPoints(run)) : ofPoints(run),
        ),
      )
    }),
  )
}

function holeExpr(hole: 'id' | 'counter', { ids }: Holes): Expr {
  if (hole === 'counter') return repetition(charClass(...digits), 1, mostDigits)
  return ids === 'nine'
    ? repetition(charClass(...ofNine), 9, 9)
    : repetition(charClass(...ofAny), 1, mostOfId)
}

/** The path of a literal that leads to another path. */
export function literalPath(literal: Literal, to: Path, spelling: Spelling, holes: Holes): Path {
  return literal.reduceRight<Path>((next, piece) => {
    if (typeof piece !== 'string') return holePath(piece.hole, next, holes)
    return runsOf(piece).reduceRight<Path>((behind, run) => {
      const through = run.reduceRight<Path>((rest, point) => path([[point, rest]]), behind)
      return spelling === 'loose' && isWhite(run[0]) ? path([...behind.steps, ...through.steps]) : through
    }, next)
  }, to)
}

/** A hole is over where the text goes on with what follows it. */
function holePath(hole: 'id' | 'counter', next: Path, { ids }: Holes): Path {
  const points = pointsIn(hole === 'counter' ? digits : ids === 'nine' ? ofNine : ofAny)
  if (hole === 'id' && ids === 'nine') {
    let behind = next
    for (let left = 9; left > 0; left--) behind = path(points.map((point) => [point, behind] as const))
    return behind
  }
  const further = path()
  for (const point of points) further.steps.set(point, further)
  for (const [point, target] of next.steps) further.steps.set(point, target)
  return path(points.map((point) => [point, further] as const))
}

function pointsIn(ranges: readonly Range[]): number[] {
  return ranges.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, at) => first + at))
}

/** Cut where white space begins and ends. */
function runsOf(text: string): number[][] {
  const runs: number[][] = []
  for (const point of pointsOf(text)) {
    const last = runs.at(-1)
    if (last !== undefined && isWhite(last[0]) === isWhite(point)) last.push(point)
    else runs.push([point])
  }
  return runs
}

export function isWhite(point: number | undefined): boolean {
  return point === 0x20 || point === 0x0a || point === 0x09 || point === 0x0d
}

/** Without white space at its start. */
export function withoutLead(literal: Literal): Literal {
  const [first, ...others] = literal
  return typeof first === 'string' ? [first.trimStart(), ...others] : literal
}
