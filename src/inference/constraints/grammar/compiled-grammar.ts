/**
 * A grammar as a value, as it goes from the thread that compiles to the process that follows: flat numbers and one text,
 * which are copied as bytes and read where they lie. A node is three numbers: its kind and two operands.
 */
export interface CompiledGrammar {
  /** Equal for equal grammars only. */
  readonly digest: string
  /** The node of the whole text. */
  readonly start: number
  readonly nodes: Int32Array
  /** What a node has many of. */
  readonly lists: Int32Array
  /** The characters of all literals. */
  readonly text: string
}

/** A node is named by its number, so that its operands are at three times that number. */
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
  /** A node, and where its least and its most count stand in the lists; a most count of -1 is no bound. */
  repetition: 5,
  /** Its body, and twice its rank, plus 1 where it may be the empty text. A rule that may begin with another has the lower rank. */
  rule: 6,
} as const

export function sizeOfGrammar({ nodes, lists, text }: CompiledGrammar): number {
  return nodes.byteLength + lists.byteLength + 2 * text.length
}
