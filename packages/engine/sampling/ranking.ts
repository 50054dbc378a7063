import type { Adjustments } from './adjustments.ts'
import type { Candidates } from './logits.ts'
import { createRanked, mergeRanked, type Ranked, reserveRanked, settleRanked } from './sorting.ts'

/**
 * The beginning of the order of all tokens by their adjusted logits, as far as the known logits make it certain. Every
 * token outside of it has at most the logit `bound`.
 */
export interface Ranking {
  readonly known: Ranked
  readonly bound: number
  /** How many tokens are outside of it; only impossible ones when it is complete. */
  readonly rest: number
  readonly complete: boolean
  /** At most this many adjusted tokens have an unknown logit. */
  readonly unseen: number
  /** Whether the adjustments may have raised some of these. */
  readonly canRise: boolean
  /** What the adjustments added to the sum of exp((logit − reference) / temperature), of all tokens but the unseen ones. */
  added(reference: number, temperature: number): number
}

/** A ranking is made and drawn from synchronously, so all of them share the same memory, which the next one overwrites. */
const known = createRanked()
/** Adjusted tokens with their adjusted logits. */
const moved = createRanked()
/** The logits of the same tokens before and after, in the order in which they were found. */
let before: Float64Array = new Float64Array(0)
let after: Float64Array = new Float64Array(0)
let touched = 0

/** `top` is all of the vocabulary or its beginning; `lifted` are the logits of the lifted tokens. */
export function rank(
  adjustments: Adjustments | undefined,
  top: Candidates,
  vocabulary: number,
  lifted: Float32Array,
): Ranking {
  const { tokens, logits } = top
  const complete = top.others === -Infinity || tokens.length >= vocabulary
  const last = complete ? -Infinity : (top.others ?? logits[logits.length - 1] ?? -Infinity)
  const bound = adjustments?.ceiling(last) ?? last
  const most = tokens.length + lifted.length
  reserveRanked(known, most)
  reserveRanked(moved, adjustments ? most : 0)
  if (adjustments && before.length < most) {
    before = new Float64Array(most)
    after = new Float64Array(most)
  }
  touched = 0
  let length = 0
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i] as number
    const logit = logits[i] as number
    if (adjustments?.isTouched(token)) {
      if (!adjustments.isLifted(token)) move(token, logit, adjustments.of(token, logit), bound)
    } else if (logit > bound) {
      known.tokens[length] = token
      known.logits[length++] = logit
    }
  }
  known.length = length
  const seen = touched
  for (let i = 0; adjustments && i < lifted.length; i++) {
    const token = adjustments.lifted[i] as number
    const logit = lifted[i] as number
    move(token, logit, adjustments.of(token, logit), bound)
  }
  settleRanked(known)
  if (moved.length > 0) {
    settleRanked(moved)
    mergeRanked(known, moved)
  }
  return {
    known,
    bound,
    rest: vocabulary - known.length,
    complete,
    unseen: adjustments && !complete ? adjustments.touched - seen : 0,
    canRise: adjustments?.canRise ?? false,
    added,
  }
}

/** A token at the bound may have equals among the unknown ones. */
function move(token: number, logit: number, adjusted: number, bound: number): void {
  before[touched] = logit
  after[touched++] = adjusted
  if (!(adjusted > bound)) return
  moved.tokens[moved.length] = token
  moved.logits[moved.length++] = adjusted
}

function added(reference: number, temperature: number): number {
  let sum = 0
  for (let i = 0; i < touched; i++) {
    sum += Math.exp(((after[i] as number) - reference) / temperature)
    sum -= Math.exp(((before[i] as number) - reference) / temperature)
  }
  return sum
}
