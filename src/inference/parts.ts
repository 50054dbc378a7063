/** What a model writes is one text; what it says may be several things: a thought, content, and calls of tools. */
export type Part =
  | { kind: 'content'; text: string }
  | { kind: 'reasoning'; text: string }
  /** A call begins: its name is certain. `index` counts the calls of an answer from 0. */
  | { kind: 'call'; index: number; id: string; name: string }
  /** More of the arguments of a call, as JSON text. */
  | { kind: 'arguments'; index: number; text: string }
  /** The arguments are complete. A call that was cut off has no such end. */
  | { kind: 'callEnd'; index: number }

/**
 * Reads the text of one choice as its pieces come and tells its parts apart. Parts are the same however the text is cut into
 * pieces, and all that was pushed has come out when `end` has answered.
 */
export interface Parser {
  push(text: string): Part[]
  end(): Part[]
  /** What comes next belongs to a thought. */
  readonly isThinking: boolean
}

/** All of the text is what the answer says. */
export const plainText: Parser = {
  push: (text) => (text === '' ? [] : [{ kind: 'content', text }]),
  end: () => [],
  isThinking: false,
}
