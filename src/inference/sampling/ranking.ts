import type { Adjustments } from './adjustments.ts'
import type { Candidates } from './logits.ts'
import { createRanked, makeRoom, type Ranked, sortRanked } from './sorting.ts'

/**
 * The beginning of the order of all tokens by their adjusted logits, as far as what was asked for makes it certain.
 * Every token that is not in it has at most the logit `bound`.
 */
export interface Ranking {
  readonly known: Ranked
  readonly bound: number
  /** How many tokens are not in it; nothing but impossible ones when it is complete. */
  readonly rest: number
  readonly complete: boolean
  /** At most so many tokens have been lowered whose logit nobody asked for. */
  readonly unseen: number
  /** What the adjustments added to the sum of exp((logit − reference) / temperature), of all tokens but the unseen ones. */
  added(reference: number, temperature: number): number
}

export interface Asked {
  tokens: readonly number[]
  logits: Float32Array
}

export interface Ranker {
  /** `top` is all of the vocabulary or its beginning; `asked` holds the lifted tokens, and the lowered ones too when `allAsked`. */
  rank(top: Candidates, vocabulary: number, asked: Asked | undefined, allAsked: boolean): Ranking
}

/** One ranking at a time: the next one takes the memory of the last. */
export function createRanker(adjustments: Adjustments | undefined): Ranker {
  const known = createRanked()
  /** Touched tokens: what their logits were and are. */
  let before = new Float64Array(64)
  let after = new Float64Array(64)
  let touched = 0

  function remember(logit: number, adjusted: number): void {
    if (touched === before.length) {
      before = grown(before)
      after = grown(after)
    }
    before[touched] = logit
    after[touched++] = adjusted
  }

  return {
    rank(top, vocabulary, asked, allAsked) {
      const { tokens, logits } = top
      const complete = tokens.length >= vocabulary
      const bound = complete ? -Infinity : (logits[logits.length - 1] ?? -Infinity)
      makeRoom(known, tokens.length + (asked?.tokens.length ?? 0))
      touched = 0
      let length = 0
      let inOrder = true
      let lowest = Infinity
      let highest = -1
      const add = (token: number, logit: number) => {
        // A token with the logit of the bound may have its equals among those that were not asked for.
        if (!(logit > bound)) return
        if (logit > lowest || (logit === lowest && token < highest)) inOrder = false
        lowest = logit
        highest = token
        known.tokens[length] = token
        known.logits[length++] = logit
      }
      let seen = 0
      for (let i = 0; i < tokens.length; i++) {
        const token = tokens[i] as number
        const logit = logits[i] as number
        if (adjustments === undefined || !adjustments.isTouched(token)) {
          add(token, logit)
        } else if (!allAsked && !adjustments.isLifted(token)) {
          const adjusted = adjustments.of(token, logit)
          remember(logit, adjusted)
          seen++
          add(token, adjusted)
        }
      }
      if (asked && adjustments) {
        for (let i = 0; i < asked.tokens.length; i++) {
          const token = asked.tokens[i] as number
          const logit = asked.logits[i] as number
          const adjusted = adjustments.of(token, logit)
          remember(logit, adjusted)
          add(token, adjusted)
        }
      }
      known.length = length
      if (!inOrder) sortRanked(known)
      return {
        known,
        bound,
        rest: vocabulary - length,
        complete,
        unseen: adjustments === undefined || allAsked || complete ? 0 : adjustments.lowered.length - seen,
        added(reference, temperature) {
          let sum = 0
          for (let i = 0; i < touched; i++) {
            sum += Math.exp(((after[i] as number) - reference) / temperature)
            sum -= Math.exp(((before[i] as number) - reference) / temperature)
          }
          return sum
        },
      }
    },
  }
}

function grown(values: Float64Array): Float64Array<ArrayBuffer> {
  const more = new Float64Array(2 * values.length)
  more.set(values)
  return more
}
