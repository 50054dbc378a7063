import type { Vocabulary } from '../../packages/constraints/index.ts'

export interface ListedTokens {
  /** Each token as its text or its bytes. Names in angle brackets are control tokens. */
  tokens: (string | number[])[]
  eos?: number
  ends?: number[]
}

/** A vocabulary that is written out. */
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
  }
}
