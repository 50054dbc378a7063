/**
 * What a model writes is one text; what an answer shows may be several things. A parser reads the text of one choice as its
 * pieces come and tells its parts apart. Parts are the same however the text is cut into pieces, and all that was pushed has
 * come out when `end` has answered.
 */
export interface Parser {
  push(text: string): Part[]
  end(): Part[]
}

export type Part = { kind: 'content'; text: string }

/** All of the text is what the answer says. */
export const plainText: Parser = {
  push: (text) => (text === '' ? [] : [{ kind: 'content', text }]),
  end: () => [],
}
