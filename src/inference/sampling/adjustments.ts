import type { Sampling } from '../backend.ts'
import { type BadWords, bannedSequences, createBadWords } from './bad-words.ts'

/**
 * What the settings of a request do to logits before anything is drawn: bans, bias and penalties. They touch few of the
 * tokens; all others keep their logit.
 */
export interface Adjustments {
  /** Tokens whose logit may have grown: they have to be looked at even when they are far from the likeliest. A list that is not changed afterwards. */
  readonly lifted: readonly number[]
  /** The other ones that are touched: their logit is at most what it was. */
  readonly lowered: readonly number[]
  /** Says which tokens are banned after this answer. Before each draw. */
  prepare(answer: readonly number[]): void
  isTouched(token: number): boolean
  isLifted(token: number): boolean
  /** The logit after all adjustments; -Infinity for a token that is banned. */
  of(token: number, logit: number): number
  /** The answer goes on with this token. */
  accept(token: number): void
}

/** What all choices of a request begin with. */
export interface AdjustmentPlan {
  sampling: Sampling
  vocabulary: number
  badWords: BadWords | undefined
  minTokens: number
  bannedEnds: readonly number[]
  /** The tokens of the prompt that a penalty is for. */
  prompt: readonly number[]
  bias: ReadonlyMap<number, number>
  isPossible: (token: number) => boolean
}

/** Undefined when no setting touches any logit. */
export function planAdjustments(parts: {
  sampling: Sampling
  vocabulary: number
  minTokens: number
  bannedEnds: readonly number[]
  prompt: readonly number[]
  tokenize: (text: string) => readonly number[]
  /** Tokens that are not allowed are not drawn anyway, whatever else is done to them. */
  isPossible: (token: number) => boolean
}): AdjustmentPlan | undefined {
  const { sampling, vocabulary, minTokens, isPossible } = parts
  const sequences = bannedSequences(sampling.badWords, parts.tokenize)
  const bias = new Map<number, number>()
  for (const [token, added] of sampling.bias) {
    if (added !== 0 && isPossible(token)) bias.set(token, (bias.get(token) ?? 0) + added)
  }
  const repeats = sampling.repetitionPenalty !== 1
  const counts = sampling.frequencyPenalty !== 0 || sampling.presencePenalty !== 0
  if (sequences.length === 0 && bias.size === 0 && minTokens === 0 && !repeats && !counts) return undefined
  return {
    sampling,
    vocabulary,
    badWords: sequences.length > 0 ? createBadWords(sequences) : undefined,
    minTokens,
    bannedEnds: parts.bannedEnds.filter(isPossible),
    prompt: repeats ? [...new Set(parts.prompt)].filter(isPossible) : [],
    bias,
    isPossible,
  }
}

/** What is known of each token, as bits of one byte. */
const biased = 1
const repeated = 2
const counted = 4
const banned = 8
const inLifted = 16
const inLowered = 32

export function createAdjustments(plan: AdjustmentPlan): Adjustments {
  const { repetitionPenalty, frequencyPenalty, presencePenalty } = plan.sampling
  const marks = new Uint8Array(plan.vocabulary)
  const counts = new Map<number, number>()
  const lifted: number[] = []
  let liftedAsList: readonly number[] | undefined
  const lowered: number[] = []
  const bans: number[] = []

  function mark(token: number, bit: number, lifts: boolean): void {
    const before = marks[token] ?? 0
    const list = lifts || before & inLifted ? inLifted : inLowered
    if (!(before & list)) {
      ;(list === inLifted ? lifted : lowered).push(token)
      if (list === inLifted) liftedAsList = undefined
    }
    marks[token] = before | bit | list
  }

  function ban(token: number): void {
    if (!plan.isPossible(token)) return
    bans.push(token)
    mark(token, banned, false)
  }

  for (const [token, added] of plan.bias) mark(token, biased, added > 0)
  for (const token of plan.prompt) mark(token, repeated, repetitionPenalty < 1)
  const repeats = repetitionPenalty !== 1
  const countsTokens = frequencyPenalty !== 0 || presencePenalty !== 0

  return {
    get lifted() {
      liftedAsList ??= lifted.slice()
      return liftedAsList
    },
    lowered,
    prepare(answer) {
      for (const token of bans) marks[token] = (marks[token] ?? 0) & ~banned
      bans.length = 0
      plan.badWords?.(answer, ban)
      if (answer.length < plan.minTokens) for (const token of plan.bannedEnds) ban(token)
    },
    isTouched: (token) => marks[token] !== 0,
    isLifted: (token) => ((marks[token] ?? 0) & inLifted) !== 0,
    of(token, logit) {
      const touched = marks[token] ?? 0
      if (touched & banned) return -Infinity
      let adjusted = logit
      if (touched & biased) adjusted += plan.bias.get(token) ?? 0
      if (touched & repeated)
        adjusted = adjusted > 0 ? adjusted / repetitionPenalty : adjusted * repetitionPenalty
      if (touched & counted) adjusted -= frequencyPenalty * (counts.get(token) ?? 0) + presencePenalty
      return adjusted
    },
    accept(token) {
      if (!plan.isPossible(token)) return
      if (repeats) mark(token, repeated, repetitionPenalty < 1)
      if (!countsTokens) return
      counts.set(token, (counts.get(token) ?? 0) + 1)
      mark(token, counted, frequencyPenalty < 0 || presencePenalty < 0)
    },
  }
}
