import type { Sampling } from '../backend.ts'
import { type Logits, type PositionLogits, remembered, type TokenRule } from '../sampling/logits.ts'
import { isGreedy, type Sampler } from '../sampling/sampler.ts'
import { allowedLogits, exactLogits } from './mask/allowed-logits.ts'

/** How often a draw from all tokens may miss those that are allowed, where these are many. */
const mostMisses = 4

export interface ConstrainedParts {
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
 * min_p) has to know what is allowed before it cuts. How many numbers are drawn depends on nothing but the request and the
 * answer so far, so that a seed repeats them.
 */
export function createConstrainedSampler(parts: ConstrainedParts): PositionSampler {
  const { sampling, sample, rule, narrowed, isPlain } = parts
  const isFree = !isGreedy(sampling) && sampling.topK === 0 && sampling.topP === 1 && sampling.minP === 0

  return async (logits, answer) => {
    const token = await (isFree
      ? freely(remembered(logits), answer)
      : sample(narrowed(allowedLogits(logits, rule)), answer))
    return token !== undefined && rule.allows(token) ? token : undefined
  }

  async function freely(logits: PositionLogits, answer: readonly number[]): Promise<number | undefined> {
    const free = narrowed(logits)
    for (let misses = 0; misses < mostMisses; misses++) {
      const token = await sample(free, answer)
      if (token === undefined || rule.allows(token)) return token
      const few = rule.few()
      if (few === undefined) continue
      if (few.length === 0 || (few.length === 1 && isPlain)) return few[0]
      break
    }
    return sample(narrowed(exactLogits(logits, rule)), answer)
  }
}
