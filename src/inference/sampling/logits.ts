/**
 * The logits of one position, as far as they are asked for: a vocabulary has up to a few hundred thousand tokens,
 * and handing all of them over costs more than drawing the next token does (tens of milliseconds against one or two).
 */
export interface Logits {
  readonly vocabulary: number
  /** The likeliest token, without any further work. */
  best(): Promise<number>
  /** The likeliest tokens, largest logit first; all of them when there are no more. */
  top(count: number): Promise<Candidates>
  /** The logits of these tokens, in their order. A list that was given is not changed afterwards: what is asked for again is prepared once. */
  of(tokens: readonly number[]): Promise<Float32Array>
  /** Logarithm of the sum over the whole vocabulary of exp(logit / temperature). */
  logTotal(temperature: number): Promise<number>
  /** The same, exactly. There only where the sum may be less than what logTotal says, and `top` may give fewer. */
  exactly?(): Logits
  /** That costs no more than to look at the bound first. */
  readonly isExactCheap?: boolean
}

/** The logits of a position of the model, of which a set of tokens can be all that counts. */
export interface PositionLogits extends Logits {
  /** As if each other token had −∞; these come behind all that are in it. What a mask takes is prepared once. */
  masked(mask: TokenMask): Logits
}

export interface Candidates {
  tokens: Uint32Array
  logits: Float32Array
  /** No other token has more; −∞ when there are no others. Absent: no other has more than the last of these. */
  others?: number
}

/** A set of tokens, a bit for each of the vocabulary. An equal set is the same object: see createMasks. */
export interface TokenMask {
  readonly id: number
  readonly bits: Uint32Array
  readonly count: number
}

export function isIn({ bits }: TokenMask, token: number): boolean {
  return (((bits[token >>> 5] ?? 0) >>> (token & 31)) & 1) === 1
}

/** Which tokens may follow. */
export interface TokenRule {
  allows(token: number): boolean
  /** All that are allowed, when they are few: no more than that many, where it is given. */
  few(most?: number): readonly number[] | undefined
  /** All that are allowed, however many. */
  mask(): TokenMask
  /** The mask, where it has been made before and allows most tokens. */
  wideMask?(): TokenMask | undefined
}

/** The same logits; what has been asked for once is not asked for again. */
export function remembered<Of extends Logits>(logits: Of): Of {
  let most: { count: number; candidates: Promise<Candidates> } | undefined
  const totals = new Map<number, Promise<number>>()
  return {
    ...logits,
    async top(count) {
      if (most === undefined || most.count < count) most = { count, candidates: logits.top(count) }
      const { tokens, logits: values } = await most.candidates
      return tokens.length <= count
        ? { tokens, logits: values }
        : { tokens: tokens.subarray(0, count), logits: values.subarray(0, count) }
    },
    logTotal(temperature) {
      const known = totals.get(temperature)
      if (known !== undefined) return known
      const total = logits.logTotal(temperature)
      totals.set(temperature, total)
      return total
    },
  }
}
