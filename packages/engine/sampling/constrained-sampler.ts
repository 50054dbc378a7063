import type { TokenRule } from '../../constraints/index.ts'
import type { Sampling } from '../backend.ts'
import { allowedLogits, exactLogits } from './allowed-logits.ts'
import { cachedLogits, type Logits, type PositionLogits } from './logits.ts'
import { isGreedy, type Sampler } from './sampler.ts'

/** How many draws from all tokens may miss before the draw is limited to the allowed ones, if there are many of these. */
const maxMisses = 4
/** For so few tokens, fetching their logits costs less than a draw from all tokens. */
const soFew = 8
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
  /** Leaves only the tokens of allowed_token_ids. */
  narrowed: (logits: Logits) => Logits
  /** The rule alone decides what can be drawn. */
  isPlain: boolean
}

/** Draws the next token of a position; undefined if no token is possible. */
export type PositionSampler = (
  logits: PositionLogits,
  answer: readonly number[],
) => Promise<number | undefined>

/**
 * Draws only what the rule allows, with the probabilities renormalised over the allowed tokens. Without a cut, tokens are
 * drawn from all tokens until one is allowed: the same distribution, for nearly the price of an unconstrained draw. A cut
 * (top_k, top_p, min_p) has to know what is allowed before it cuts. Where the rule leaves one token, the model is not
 * asked. How many random numbers are used depends only on the request and the answer so far, so that a seed reproduces
 * the answer.
 */
export function createConstrainedSampler(options: ConstrainedParts): PositionSampler {
  const { sampling, sample, rule, narrowed, isPlain } = options
  const isLikeliest = isGreedy(sampling)
  const isFree = !isLikeliest && sampling.topK === 0 && sampling.topP === 1 && sampling.minP === 0
  /** How many coming positions skip the unconstrained draw because it failed before, and how many it was last time. */
  const vain = { left: 0, last: 0 }

  return async (logits, answer) => {
    const few = rule.few(soFew)
    if (few?.length === 0 || (few?.length === 1 && isPlain)) return few[0]
    const token = await (few !== undefined && !isLikeliest
      ? exactly(logits, answer)
      : isFree
        ? freely(cachedLogits(logits), answer)
        : sample(narrowed(allowedLogits(logits, rule)), answer))
    return token !== undefined && rule.allows(token) ? token : undefined
  }

  async function freely(logits: PositionLogits, answer: readonly number[]): Promise<number | undefined> {
    if (vain.left > 0) {
      vain.left--
      return exactly(logits, answer)
    }
    const free = narrowed(logits)
    for (let misses = 0; misses < maxMisses; misses++) {
      const token = await sample(free, answer)
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

  function exactly(logits: PositionLogits, answer: readonly number[]): Promise<number | undefined> {
    return sample(narrowed(exactLogits(logits, rule)), answer)
  }
}
