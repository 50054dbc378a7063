import { type CompiledGrammar, nodeKinds, numbersOfNode } from './compiled-grammar.ts'
import { charClass, type Expr } from './expressions.ts'

/**
 * Marks delimit the parts of a grammar in which what was written is remembered, so that nothing in a set is written
 * twice. They are no text: `unique-item-matcher.ts` passes them without reading, and code that only follows the grammar treats
 * each as the empty text. Their code points come after the symbols of control tokens.
 */
const first = 0x120000

const points = {
  /** A set begins, … */
  open: first,
  /** … one of its items begins, … */
  item: first + 1,
  /** … the item ends, and differs from all that were written before, … */
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

/** The mark of a code point beyond all others. */
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
