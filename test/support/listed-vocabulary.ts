import type { Vocabulary } from '../../src/inference/vocabulary.ts'

export interface ListedTokens {
  /** Each token as its text or its bytes. Names in angle brackets are special tokens. */
  tokens: (string | number[])[]
  eos?: number
  ends?: number[]
}

/** A vocabulary that is written down; a text is read as the longest token each time. */
export function listedVocabulary({ tokens, eos, ends = [] }: ListedTokens): Vocabulary {
  const bytes = tokens.map((token) =>
    typeof token === 'string' ? Buffer.from(token) : Uint8Array.from(token),
  )
  const isSpecial = (token: number) => {
    const text = tokens[token]
    return typeof text === 'string' && /^<.+>$/.test(text)
  }
  return {
    size: tokens.length,
    eos,
    ends: eos === undefined ? ends : [eos, ...ends],
    bytes: (token) => bytes[token] as Uint8Array,
    isSpecial,
    tokenize(text) {
      const found: number[] = []
      for (let rest = text; rest !== ''; ) {
        const fitting = tokens
          .map((token, id) => ({ token, id }))
          .filter(({ token, id }) => typeof token === 'string' && !isSpecial(id) && rest.startsWith(token))
          .sort((a, b) => b.token.length - a.token.length)[0]
        if (fitting === undefined) throw new Error(`No token begins ${JSON.stringify(rest)}`)
        found.push(fitting.id)
        rest = rest.slice(fitting.token.length)
      }
      return found
    },
  }
}
