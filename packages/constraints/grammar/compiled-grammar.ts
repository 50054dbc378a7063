/**
 * A grammar as a value, as it is sent from the process that compiles to the one that follows it: flat numbers and one
 * text, which are copied as bytes and read in place. A node is three numbers: its kind and two operands.
 */
export interface CompiledGrammar {
  /** Equal for equal grammars only. */
  readonly digest: string
  /** The node of the whole text. */
  readonly start: number
  readonly nodes: Int32Array
  /** The lists that nodes refer to. */
  readonly lists: Int32Array
  /** The characters of all literals. */
  readonly text: string
}

/** A node is identified by its number; its three numbers start at three times that. */
export const numbersOfNode = 3

export const nodeKinds = {
  /** The empty text. */
  empty: 0,
  /** One code point: where its ranges (first and last, ascending) begin in the lists, and how many there are. */
  point: 1,
  /** Where it begins in the text, and its length. */
  literal: 2,
  /** A node, and the node that follows it. */
  pair: 3,
  /** One of several: where their nodes begin in the lists, and how many there are. */
  any: 4,
  /** A node, and where its minimum and maximum count are in the lists; a maximum of -1 means no bound. */
  repetition: 5,
  /**
   * Its body, and twice its rank, plus 1 if it may be the empty text. A rule that may begin with another has the lower
   * rank.
   */
  rule: 6,
} as const

export function sizeOfGrammar({ nodes, lists, text }: CompiledGrammar): number {
  return nodes.byteLength + lists.byteLength + 2 * text.length
}
