import type { Candidates, Logits } from './logits.ts'
import { createRanked, reserveRanked, settleRanked } from './sorting.ts'
import { logSum } from './weights.ts'

/** These logits as if the vocabulary had only the allowed tokens. No other logits are requested. */
export function onlyAllowed(logits: Logits, allowed: readonly number[]): Logits {
  let asked: Promise<Float32Array> | undefined
  const all = () => {
    asked ??= logits.of(allowed)
    return asked
  }
  return {
    vocabulary: allowed.length,
    async best() {
      const { tokens } = largest(allowed, await all(), 1)
      return tokens[0] as number
    },
    async top(count) {
      return largest(allowed, await all(), count)
    },
    of: (tokens) => logits.of(tokens),
    async logTotal(temperature) {
      return logSum(await all(), temperature)
    },
  }
}

function largest(tokens: readonly number[], logits: Float32Array, count: number): Candidates {
  const ranked = createRanked()
  reserveRanked(ranked, logits.length)
  const least = count < logits.length ? (logits.toSorted().at(-count) ?? -Infinity) : -Infinity
  logits.forEach((logit, i) => {
    if (logit < least) return
    ranked.tokens[ranked.length] = tokens[i] as number
    ranked.logits[ranked.length++] = logit
  })
  settleRanked(ranked)
  const length = Math.min(count, ranked.length)
  return {
    tokens: ranked.tokens.slice(0, length),
    logits: Float32Array.from(ranked.logits.subarray(0, length)),
  }
}
