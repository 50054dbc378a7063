import type { Candidate, TokenLogprob } from '../backend.ts'
import type { Vocabulary } from '../vocabulary.ts'
import type { Logits } from './logits.ts'

/** What cannot be drawn has no logarithm that JSON could carry. */
const leastLogprob = -9999

/** A token as answers show it, at a position whose logits have this logarithm of their sum. */
export function candidateOf(
  vocabulary: Vocabulary,
  token: number,
  logit: number,
  logTotal: number,
): Candidate {
  return { token, bytes: vocabulary.bytes(token), logprob: Math.max(logit - logTotal, leastLogprob) }
}

/** How likely the drawn token was and which ones were the likeliest, before any setting had its effect. */
export async function tokenLogprob(
  logits: Logits,
  token: number,
  count: number,
  vocabulary: Vocabulary,
): Promise<TokenLogprob> {
  const top = await logits.top(Math.max(1, count))
  const total = await logits.logTotal(1)
  const place = top.tokens.indexOf(token)
  const [logit] = place === -1 ? await logits.of([token]) : top.logits.subarray(place)
  return {
    ...candidateOf(vocabulary, token, logit ?? -Infinity, total),
    top: Array.from(top.tokens.subarray(0, count), (likely, i) =>
      candidateOf(vocabulary, likely, top.logits[i] ?? -Infinity, total),
    ),
  }
}
