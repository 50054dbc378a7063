import type { Candidate, PromptLogprobs, TokenLogprob } from '../backend.ts'
import type { Vocabulary } from '../vocabulary.ts'
import type { Candidates, Logits } from './logits.ts'

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

/** What log-probabilities are told from, all asked for at once: whoever reads the logits is woken once. */
export function likeliest(logits: Logits, count: number): Promise<[Candidates, number]> {
  return Promise.all([logits.top(Math.max(1, count)), logits.logTotal(1)])
}

/** How likely the drawn token was and which ones were the likeliest, before any setting had its effect. */
export async function tokenLogprob(
  logits: Logits,
  token: number,
  count: number,
  vocabulary: Vocabulary,
): Promise<TokenLogprob> {
  const [top, total] = await likeliest(logits, count)
  const index = top.tokens.indexOf(token)
  const [logit] = index === -1 ? await logits.of([token]) : top.logits.subarray(index)
  return {
    ...candidateOf(vocabulary, token, logit ?? -Infinity, total),
    top: Array.from(top.tokens.subarray(0, count), (likely, i) =>
      candidateOf(vocabulary, likely, top.logits[i] ?? -Infinity, total),
    ),
  }
}

/** How likely a token of the prompt was at its position, and the likeliest ones beside it. */
export async function promptLogprob(
  logits: Logits,
  token: number,
  count: number,
  vocabulary: Vocabulary,
): Promise<NonNullable<PromptLogprobs[number]>> {
  const [top, [logit = -Infinity], total] = await Promise.all([
    logits.top(Math.max(count, ranked)),
    logits.of([token]),
    logits.logTotal(1),
  ])
  const entries = Array.from(top.tokens.subarray(0, count), (likely, i) => ({
    ...candidateOf(vocabulary, likely, top.logits[i] ?? Number.NaN, total),
    rank: i + 1,
  }))
  if (entries.some((entry) => entry.token === token)) return entries
  const rank = await rankOf(logits, logit, top.logits)
  return [{ ...candidateOf(vocabulary, token, logit, total), rank }, ...entries]
}

/** Most tokens of a prompt are among so many likeliest, which cost next to nothing to get. */
const ranked = 128

/** One more than the number of tokens that are likelier. */
async function rankOf(logits: Logits, logit: number, top: Float32Array): Promise<number> {
  let seen = top
  while (seen.length < logits.vocabulary && (seen.at(-1) ?? -Infinity) > logit) {
    seen = (await logits.top(Math.min(seen.length * 8, logits.vocabulary))).logits
  }
  const index = seen.findIndex((other) => other <= logit)
  return (index < 0 ? seen.length : index) + 1
}
