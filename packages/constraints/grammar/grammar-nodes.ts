import { type CompiledGrammar, nodeKinds, numbersOfNode } from './compiled-grammar.ts'
import { isMark } from './marks.ts'

/** A part of a grammar as it is followed; the nodes that it refers to are read when they are needed. */
export type Node =
  | { readonly kind: 'empty' }
  /** The first and the last code point of each range, ascending. */
  | { readonly kind: 'point'; readonly ranges: readonly number[] }
  | { readonly kind: 'pair'; readonly first: number; readonly second: number }
  | { readonly kind: 'any'; readonly of: readonly number[] }
  | Literal
  | Repetition
  | Rule

/** A literal from this position on. */
interface Literal {
  readonly kind: 'literal'
  readonly text: string
  readonly at: number
  /** The literal from the next character on; made when it is needed. */
  further: Literal | undefined
}

interface Repetition {
  readonly kind: 'repetition'
  readonly of: Node
  readonly min: number
  readonly max: number
  /** The same repetition after one has been read; made when it is needed. */
  fewer: Repetition | undefined
}

export interface Rule {
  readonly kind: 'rule'
  readonly body: number
  /** Rules that may begin with others come before them. */
  readonly rank: number
  readonly canBeEmpty: boolean
}

/** An unbounded repetition is its own rest once its minimum has been read. */
export function fewer(node: Repetition): Repetition {
  if (node.min === 0 && node.max === Number.POSITIVE_INFINITY) return node
  node.fewer ??= { ...node, min: Math.max(0, node.min - 1), max: node.max - 1, fewer: undefined }
  return node.fewer
}

export function readNode(
  grammar: CompiledGrammar,
  number: number,
  nodeAt: (number: number) => Node,
  withoutMarks: boolean,
): Node {
  const { nodes, lists, text } = grammar
  const at = numbersOfNode * number
  const [kind, first = 0, second = 0] = nodes.subarray(at, at + numbersOfNode)
  switch (kind) {
    case nodeKinds.empty:
      return { kind: 'empty' }
    case nodeKinds.point:
      if (withoutMarks && isMark(lists[first] ?? 0)) return { kind: 'empty' }
      return { kind: 'point', ranges: Array.from(lists.subarray(first, first + 2 * second)) }
    case nodeKinds.literal:
      return { kind: 'literal', text: text.slice(first, first + second), at: 0, further: undefined }
    case nodeKinds.pair:
      return { kind: 'pair', first, second }
    case nodeKinds.any:
      return { kind: 'any', of: Array.from(lists.subarray(first, first + second)) }
    case nodeKinds.repetition: {
      const [min = 0, max = 0] = lists.subarray(second, second + 2)
      const most = max < 0 ? Number.POSITIVE_INFINITY : max
      return { kind: 'repetition', of: nodeAt(first), min, max: most, fewer: undefined }
    }
    case nodeKinds.rule:
      return { kind: 'rule', body: first, rank: second >> 1, canBeEmpty: second % 2 === 1 }
    default:
      throw new Error(`there is no node ${number} in the grammar`)
  }
}
