import type { Sampling } from '../backend.ts'

/** What all choices of a request begin with. */
type AdjustmentPlan = NonNullable<ReturnType<typeof planAdjustments>>

/** Undefined when no setting touches any logit. */
export function planAdjustments(parts: {
  sampling: Sampling
  vocabulary: number
  minTokens: number
  bannedEnds: readonly number[]
  prompt: readonly number[]
  /** Tokens that are not allowed are not drawn anyway, whatever else is done to them. */
  isPossible: (token: number) => boolean
}) {
  const { sampling, isPossible } = parts
  const bias = new Map<number, number>()
  for (const [token, added] of sampling.bias) {
    if (added !== 0 && isPossible(token)) bias.set(token, (bias.get(token) ?? 0) + added)
  }
  const repeats = sampling.repetitionPenalty !== 1
  const counts = sampling.frequencyPenalty !== 0 || sampling.presencePenalty !== 0
  if (bias.size === 0 && parts.minTokens === 0 && !repeats && !counts) return undefined
  return {
    ...parts,
    bannedEnds: parts.bannedEnds.filter(isPossible),
    /** Only what a penalty is for. */
    prompt: repeats ? [...new Set(parts.prompt)].filter(isPossible) : [],
    bias,
    lifted: [...bias.keys()].filter((token) => (bias.get(token) ?? 0) > 0),
  }
}

/** What is known of each token, as bits of one byte. */
const biased = 1
const repeated = 2
const counted = 4
const banned = 8
const lifts = 16
const known = 32

export type Adjustments = ReturnType<typeof createAdjustments>

/**
 * What the settings of a request do to logits before anything is drawn: bans, bias and penalties. They touch few of the
 * tokens; all others keep their logit.
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
  let mostTimes = 0

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
    /** Tokens that a bias lifts: they have to be looked at even when they are far from the likeliest. Always the same list. */
    lifted,
    /** How many other tokens are touched, at most. */
    get touched() {
      return touched
    },
    /** Whether a penalty that is a reward lifts some of these. */
    canRise: repetitionPenalty < 1 || frequencyPenalty < 0 || presencePenalty < 0,
    /** Before each draw: how many tokens the answer has. */
    prepare(length: number): void {
      for (const token of bans) marks[token] = (marks[token] ?? 0) & ~banned
      bans.length = 0
      if (length < plan.minTokens) for (const token of plan.bannedEnds) ban(token)
    },
    isTouched: (token: number) => marks[token] !== 0,
    isLifted: (token: number) => ((marks[token] ?? 0) & lifts) !== 0,
    /** The logit after all adjustments; -Infinity for a token that is banned. */
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
    /** No token that has at most this logit gets more than this, but for the lifted ones. */
    ceiling(logit: number): number {
      let highest = logit
      if (repetitionPenalty < 1) highest = logit > 0 ? logit / repetitionPenalty : logit * repetitionPenalty
      const penalty = frequencyPenalty * (frequencyPenalty < 0 ? mostTimes : 1) + presencePenalty
      return mostTimes > 0 && penalty < 0 ? highest - penalty : highest
    },
    /** The answer continues with this token. */
    accept(token: number): void {
      if (!isPossible(token)) return
      if (repeats) mark(token, repeated)
      if (!counts) return
      const count = (times.get(token) ?? 0) + 1
      times.set(token, count)
      mostTimes = Math.max(mostTimes, count)
      mark(token, counted)
    },
  }
}
