import type { TokenRule } from '../../constraints/index.ts'
import type { Sampling } from '../backend.ts'
import { allowedTokens } from './allowed-tokens.ts'
import { likeliest, type ReadLogits } from './logits.ts'
import { isGreedy, type Sampler } from './sampler.ts'

/** How many draws from all tokens may miss before the draw is limited to the allowed ones. */
const maxMisses = 4
/** Among so few tokens, a draw costs less than one from all. */
const soFew = 8
/** At most positions one of the likeliest tokens is allowed. */
const maxTried = 16
/**
 * A model that violated the rule once tends to do it again, so up to this many positions are drawn from the allowed
 * tokens at once.
 */
const maxVain = 15

interface ConstrainedParts {
  sampling: Sampling
  /** Draws from any logits. */
  sample: Sampler
  rule: TokenRule
  /** The tokens of allowed_token_ids, in ascending order. */
  listed?: Uint32Array | undefined
  /** The rule alone decides what can be drawn. */
  isPlain: boolean
}

/** Draws the next token of a position; undefined if no token is possible. */
export type PositionSampler = (read: ReadLogits, answer: readonly number[]) => Promise<number | undefined>

/**
 * Draws only what the rule allows, with the probabilities renormalised over the allowed tokens. Without a cut, tokens are
 * drawn from all tokens until one is allowed: the same distribution, and what is allowed need not be worked out. A cut
 * (top_k, top_p, min_p) has to know what is allowed before it cuts. Where the rule leaves one token, the model is not
 * asked. How many random numbers are used depends only on the request and the answer so far, so that a seed reproduces
 * the answer.
 */
export function createConstrainedSampler(options: ConstrainedParts): PositionSampler {
  const { sampling, sample, rule, listed, isPlain } = options
  const takesLikeliest = isGreedy(sampling)
  const isUncut = sampling.topK === 0 && sampling.topP === 1 && sampling.minP === 0
  /** How many coming positions skip the unconstrained draw because it failed before, and how many it was last time. */
  const vain = { left: 0, last: 0 }

  return async (read, answer) => {
    const few = rule.few(soFew)
    if (few?.length === 0 || (few?.length === 1 && isPlain)) return few[0]
    const logits = await read()
    if (takesLikeliest) return likeliestAllowed(logits, answer)
    return few === undefined && isUncut ? freely(logits, answer) : exactly(logits, answer)
  }

  function likeliestAllowed(logits: Float32Array, answer: readonly number[]): number | undefined {
    const token = sample(logits, answer, listed)
    if (token === undefined || rule.allows(token)) return token
    const tried = isPlain && rule.few() === undefined ? likeliest(logits, maxTried).tokens : []
    return tried.find((other) => rule.allows(other)) ?? exactly(logits, answer)
  }

  function freely(logits: Float32Array, answer: readonly number[]): number | undefined {
    if (vain.left > 0) {
      vain.left--
      return exactly(logits, answer)
    }
    for (let misses = 0; misses < maxMisses; misses++) {
      const token = sample(logits, answer, listed)
      if (token === undefined) return undefined
      if (rule.allows(token)) {
        vain.last = 0
        return token
      }
      if (rule.few() !== undefined) break
    }
    vain.last = Math.min(maxVain, 2 * vain.last + 1)
    vain.left = vain.last
    return exactly(logits, answer)
  }

  function exactly(logits: Float32Array, answer: readonly number[]): number | undefined {
    return sample(logits, answer, listed?.filter((token) => rule.allows(token)) ?? allowedTokens(rule))
  }
}
