import type { TokenMask } from '../../constraints/index.ts'
import type { Adjustments } from './adjustments.ts'

/**
 * The logits of one position, read only as far as needed: a vocabulary has up to a few hundred thousand tokens, and
 * passing all of them on costs more than decoding the next token (tens of milliseconds against one or two).
 */
export interface Logits {
  readonly vocabulary: number
  /** The likeliest token, without adjustments. */
  best(): Promise<number>
  /** The likeliest tokens, largest logit first; all of them when there are no more. */
  top(count: number): Promise<Candidates>
  /**
   * The logits of these tokens, in their order. A list must not be changed afterwards: repeated requests are prepared
   * once.
   */
  of(tokens: readonly number[]): Promise<Float32Array>
  /** Logarithm of the sum over the whole vocabulary of exp(logit / temperature). */
  logTotal(temperature: number): Promise<number>
  /** A draw without cuts, where that costs less than looking at the likeliest first; undefined when no token is possible. */
  tokenAt?(share: number, temperature: number, adjustments?: Adjustments): Promise<number | undefined>
  /** The same logits, exactly. Present only if the sum may be less than `logTotal`, and `top` may return fewer tokens. */
  exactly?(): Logits
  /** Exact logits cost no more than looking at the bound first. */
  readonly isExactCheap?: boolean
}

/** The logits of a position of the model, which can be restricted to a set of tokens. */
export interface PositionLogits extends Logits {
  /** As if each other token had −∞; these come after all that are in the mask. What a mask needs is prepared once. */
  masked(mask: TokenMask): Logits
}

export interface Candidates {
  tokens: Uint32Array
  logits: Float32Array
  /**
   * The largest logit of all other tokens, or an upper bound; −∞ when there are no others. Absent: that of the last of
   * these.
   */
  others?: number
}

/** The same logits, with a cache: nothing is requested twice. */
export function cachedLogits<Of extends Logits>(logits: Of): Of {
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
