/** A model writes one text, which may consist of several parts: a thought, content, and tool calls. */
export type Part =
  | { kind: 'content'; text: string }
  /** A seal comes without text, after its thought. */
  | { kind: 'reasoning'; text: string; seal?: ThoughtSeal }
  /** A call begins: its name is certain. `index` counts the calls of an answer from 0. */
  | { kind: 'call'; index: number; id: string; name: string }
  /** More of the arguments of a call, as JSON text. */
  | { kind: 'arguments'; index: number; text: string }
  /** The arguments are complete. A call that was cut off has no such part. */
  | { kind: 'callEnd'; index: number }

/** What the server of a model needs to take a thought back: its signature, or the thought itself in its cipher. */
export interface ThoughtSeal {
  kind: 'signature' | 'redacted'
  text: string
}

/**
 * Reads the text of one choice piece by piece and tells its parts apart. The parts do not depend on how the text is cut
 * into pieces, and are complete when `end` has returned.
 */
export interface Parser {
  push(text: string): Part[]
  end(): Part[]
  /** Whether the next text belongs to a thought. */
  readonly isThinking: boolean
}

/** Reads all of the text as content. */
export const plainText: Parser = {
  push: (text) => (text === '' ? [] : [{ kind: 'content', text }]),
  end: () => [],
  isThinking: false,
}
