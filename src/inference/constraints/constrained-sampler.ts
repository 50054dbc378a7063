import type { Sampling } from '../backend.ts'
import { type Logits, type PositionLogits, remembered, type TokenRule } from '../sampling/logits.ts'
import { isGreedy, type Sampler } from '../sampling/sampler.ts'
import { allowedLogits, exactLogits } from './mask/allowed-logits.ts'

/** How often a draw from all tokens may miss those that are allowed, where these are many. */
const mostMisses = 4
/** Their logits alone cost less than a draw from all tokens. */
const soFew = 8
/** A model that is at odds with the rule once is so more often: so many places are drawn from what is allowed at once. */
const mostVain = 15

interface ConstrainedParts {
  sampling: Sampling
  /** Draws from any logits. */
  sample: Sampler
  rule: TokenRule
  /** Leaves only the tokens of allowed_token_ids. */
  narrowed: (logits: Logits) => Logits
  /** Nothing but the rule says what can be drawn. */
  isPlain: boolean
}

/** Draws the next token of a position; undefined when no token is possible. */
export type PositionSampler = (
  logits: PositionLogits,
  answer: readonly number[],
) => Promise<number | undefined>

/**
 * Draws only what the rule allows, with the probabilities that are left when all else has none. Without a cut the draw
 * is from all tokens, until one is allowed: the same distribution, for nearly the price of a free draw. A cut (top_k, top_p,
 * min_p) has to know what is allowed before it cuts. Where the rule leaves one token, the model is not asked. How many numbers
 * are drawn depends on nothing but the request and the answer so far, so that a seed repeats them.
 */
export function createConstrainedSampler(parts: ConstrainedParts): PositionSampler {
  const { sampling, sample, rule, narrowed, isPlain } = parts
  const isLikeliest = isGreedy(sampling)
  const isFree = !isLikeliest && sampling.topK === 0 && sampling.topP === 1 && sampling.minP === 0
  /** Places to come that are not drawn freely first, because that was in vain, and how many it was the last time. */
  const vain = { left: 0, last: 0 }

  return async (logits, answer) => {
    const few = rule.few(soFew)
    if (few?.length === 0 || (few?.length === 1 && isPlain)) return few[0]
    const token = await (few !== undefined && !isLikeliest
      ? exactly(logits, answer)
      : isFree
        ? freely(remembered(logits), answer)
        : sample(narrowed(allowedLogits(logits, rule)), answer))
    return token !== undefined && rule.allows(token) ? token : undefined
  }

  async function freely(logits: PositionLogits, answer: readonly number[]): Promise<number | undefined> {
    if (vain.left > 0) {
      vain.left--
      return exactly(logits, answer)
    }
    const free = narrowed(logits)
    for (let misses = 0; misses < mostMisses; misses++) {
      const token = await sample(free, answer)
      if (token === undefined) return undefined
      if (rule.allows(token)) {
        vain.last = 0
        return token
      }
      if (rule.few() !== undefined) break
    }
    vain.last = Math.min(mostVain, 2 * vain.last + 1)
    vain.left = vain.last
    return exactly(logits, answer)
  }

  function exactly(logits: PositionLogits, answer: readonly number[]): Promise<number | undefined> {
    return sample(narrowed(exactLogits(logits, rule)), answer)
  }
}
