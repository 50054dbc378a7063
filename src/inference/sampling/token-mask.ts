/** A set of tokens, a bit for each of the vocabulary. Who makes them sees to it that an equal set is the same object. */
export interface TokenMask {
  readonly id: number
  readonly bits: Uint32Array
  readonly count: number
}

export function isIn({ bits }: TokenMask, token: number): boolean {
  return (((bits[token >>> 5] ?? 0) >>> (token & 31)) & 1) === 1
}
