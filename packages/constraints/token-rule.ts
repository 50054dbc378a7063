/** A set of tokens, one bit for each token of the vocabulary. Equal sets are the same object: see createMasks. */
export interface TokenMask {
  readonly id: number
  readonly bits: Uint32Array
  readonly count: number
}

export function isInMask({ bits }: TokenMask, token: number): boolean {
  return (((bits[token >>> 5] ?? 0) >>> (token & 31)) & 1) === 1
}

/** The tokens that may follow. */
export interface TokenRule {
  allows(token: number): boolean
  /** All that are allowed, if they are few: no more than `most`, if given. */
  few(most?: number): readonly number[] | undefined
  /** All that are allowed, however many. */
  mask(): TokenMask
}
