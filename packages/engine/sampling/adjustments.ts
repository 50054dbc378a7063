import type { Sampling } from '../backend.ts'

/** What all choices of a request have in common. */
type AdjustmentPlan = NonNullable<ReturnType<typeof planAdjustments>>

/** Undefined when no setting touches any logit. */
export function planAdjustments(options: {
  sampling: Sampling
  minTokens: number
  bannedEnds: readonly number[]
  prompt: readonly number[]
}) {
  const { sampling } = options
  const bias = new Map<number, number>()
  for (const [token, added] of sampling.bias) {
    if (added !== 0) bias.set(token, (bias.get(token) ?? 0) + added)
  }
  const repeats = sampling.repetitionPenalty !== 1
  const counts = sampling.frequencyPenalty !== 0 || sampling.presencePenalty !== 0
  if (bias.size === 0 && options.minTokens === 0 && !repeats && !counts) return undefined
  return { ...options, bias, repeats, counts }
}

export type Adjustments = ReturnType<typeof createAdjustments>

/** The adjusted logits; a draw is synchronous, so all of them share the same memory. */
let adjusted: Float32Array = new Float32Array(0)
const maxFloat = 3.4e38

/**
 * The adjustments that a request makes to logits before a draw: bans, bias and penalties. They affect few tokens; all
 * others keep their logits.
 */
export function createAdjustments(plan: AdjustmentPlan) {
  const { bias, repeats, counts } = plan
  const { repetitionPenalty, frequencyPenalty, presencePenalty } = plan.sampling
  const repeated = new Set(repeats ? plan.prompt : [])
  const times = new Map<number, number>()

  return {
    /** The logits before the next token of an answer that has this length in tokens, until the next call. */
    applied(logits: Float32Array, length: number): Float32Array {
      if (adjusted.length !== logits.length) adjusted = new Float32Array(logits.length)
      adjusted.set(logits)
      for (const [token, added] of bias) add(token, added)
      for (const token of repeated) {
        const logit = adjusted[token] as number
        const penalized = logit > 0 ? logit / repetitionPenalty : logit * repetitionPenalty
        if (logit !== -Infinity) adjusted[token] = Math.max(-maxFloat, Math.min(penalized, maxFloat))
      }
      for (const [token, count] of times) add(token, -(frequencyPenalty * count + presencePenalty))
      if (length < plan.minTokens) for (const token of plan.bannedEnds) adjusted[token] = -Infinity
      return adjusted
    },
    /** The answer continues with this token. */
    accept(token: number): void {
      if (repeats) repeated.add(token)
      if (counts) times.set(token, (times.get(token) ?? 0) + 1)
    },
  }
}

function add(token: number, added: number): void {
  adjusted[token] = (adjusted[token] as number) + added
}
