import { type CompiledGrammar, nodeKinds, numbersOfNode } from './compiled-grammar.ts'
import { charClass, type Expr } from './expressions.ts'

/**
 * Marks stand in a grammar where what was written is remembered, so that nothing in a set is written twice. They are no text:
 * `remembering.ts` passes them by itself, and what only follows the grammar takes each for the empty text. They are behind the
 * symbols of control tokens.
 */
const first = 0x120000

const points = {
  /** A set begins, … */
  open: first,
  /** … one of its items, … */
  item: first + 1,
  /** … which ends, and differs from all that were written before; … */
  done: first + 2,
  /** … and the set ends. */
  close: first + 3,
  /** Within an item: an object begins whose members come in any order, … */
  loose: first + 4,
  /** … and ends. It can always have one more member. */
  tight: first + 5,
} as const

export type Mark = keyof typeof points

const marks = Object.keys(points) as Mark[]

const exprs = Object.fromEntries(
  marks.map((name) => [name, charClass([points[name], points[name]])]),
) as Record<Mark, Expr>

export function mark(name: Mark): Expr {
  return exprs[name]
}

/** Of a code point behind all others. */
export function markOf(point: number): Mark | undefined {
  return marks[point - first]
}

export const lastText = first - 1

export function isMark(point: number): boolean {
  return point >= first
}

export function hasMarks({ nodes, lists }: CompiledGrammar): boolean {
  for (let at = 0; at < nodes.length; at += numbersOfNode) {
    if (nodes[at] === nodeKinds.point && isMark(lists[nodes[at + 1] ?? 0] ?? 0)) return true
  }
  return false
}
