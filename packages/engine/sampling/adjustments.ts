import type { Sampling } from '../backend.ts'

/** What all choices of a request have in common. */
type AdjustmentPlan = NonNullable<ReturnType<typeof planAdjustments>>

/** Undefined when no setting touches any logit. */
export function planAdjustments(options: {
  sampling: Sampling
  vocabulary: number
  minTokens: number
  bannedEnds: readonly number[]
  prompt: readonly number[]
  /** Tokens that are not allowed are not drawn in any case, so they need no adjustments. */
  isPossible: (token: number) => boolean
}) {
  const { sampling, isPossible } = options
  const bias = new Map<number, number>()
  for (const [token, added] of sampling.bias) {
    if (added !== 0 && isPossible(token)) bias.set(token, (bias.get(token) ?? 0) + added)
  }
  const repeats = sampling.repetitionPenalty !== 1
  const counts = sampling.frequencyPenalty !== 0 || sampling.presencePenalty !== 0
  if (bias.size === 0 && options.minTokens === 0 && !repeats && !counts) return undefined
  return {
    ...options,
    bannedEnds: options.bannedEnds.filter(isPossible),
    /** Only tokens to which a penalty applies. */
    prompt: repeats ? [...new Set(options.prompt)].filter(isPossible) : [],
    bias,
    lifted: [...bias.keys()].filter((token) => (bias.get(token) ?? 0) > 0),
  }
}

/** The state of each token, as bits of one byte. */
const biased = 1
const repeated = 2
const counted = 4
const banned = 8
const lifts = 16
const known = 32

export type Adjustments = ReturnType<typeof createAdjustments>

/**
 * The adjustments that a request makes to logits before a draw: bans, bias and penalties. They affect few tokens; all
 * others keep their logits.
 */
export function createAdjustments(plan: AdjustmentPlan) {
  const { lifted, bias, isPossible } = plan
  const { repetitionPenalty, frequencyPenalty, presencePenalty } = plan.sampling
  const repeats = repetitionPenalty !== 1
  const counts = frequencyPenalty !== 0 || presencePenalty !== 0
  const marks = new Uint8Array(plan.vocabulary)
  const times = new Map<number, number>()
  const bans: number[] = []
  let touched = 0
  let topCount = 0

  function mark(token: number, bit: number): void {
    const before = marks[token] ?? 0
    if (!(before & (known | lifts))) touched++
    marks[token] = before | bit | known
  }

  function ban(token: number): void {
    if (!isPossible(token)) return
    bans.push(token)
    mark(token, banned)
  }

  for (const token of lifted) marks[token] = lifts
  for (const token of bias.keys()) mark(token, biased)
  for (const token of plan.prompt) mark(token, repeated)

  return {
    /**
     * Tokens with a positive bias: they must be considered even when they are far from the likeliest. Always the same
     * list.
     */
    lifted,
    /** How many other tokens are affected, at most. */
    get touched() {
      return touched
    },
    /** Whether a negative penalty may raise some of these. */
    canRise: repetitionPenalty < 1 || frequencyPenalty < 0 || presencePenalty < 0,
    /** Called before each draw with the length of the answer in tokens. */
    prepare(length: number): void {
      for (const token of bans) marks[token] = (marks[token] ?? 0) & ~banned
      bans.length = 0
      if (length < plan.minTokens) for (const token of plan.bannedEnds) ban(token)
    },
    isTouched: (token: number) => marks[token] !== 0,
    isLifted: (token: number) => ((marks[token] ?? 0) & lifts) !== 0,
    /** The logit after all adjustments; -Infinity for a banned token. */
    of(token: number, logit: number): number {
      const what = marks[token] ?? 0
      if (what & banned) return -Infinity
      let adjusted = logit
      if (what & biased) adjusted += bias.get(token) ?? 0
      if (what & repeated)
        adjusted = adjusted > 0 ? adjusted / repetitionPenalty : adjusted * repetitionPenalty
      if (what & counted) adjusted -= frequencyPenalty * (times.get(token) ?? 0) + presencePenalty
      return adjusted
    },
    /** Adjusts the logits of the whole vocabulary. */
    apply(logits: Float64Array): void {
      for (let token = 0; token < marks.length; token++)
        if (marks[token] !== 0) logits[token] = this.of(token, logits[token] as number)
    },
    /** The most that a token with at most this logit gets after adjustments, except for the lifted ones. */
    ceiling(logit: number): number {
      let highest = logit
      if (repetitionPenalty < 1) highest = logit > 0 ? logit / repetitionPenalty : logit * repetitionPenalty
      const penalty = frequencyPenalty * (frequencyPenalty < 0 ? topCount : 1) + presencePenalty
      return topCount > 0 && penalty < 0 ? highest - penalty : highest
    },
    /** The answer continues with this token. */
    accept(token: number): void {
      if (!isPossible(token)) return
      if (repeats) mark(token, repeated)
      if (!counts) return
      const count = (times.get(token) ?? 0) + 1
      times.set(token, count)
      topCount = Math.max(topCount, count)
      mark(token, counted)
    },
  }
}
