import type { Candidate, PromptLogprobs } from '../backend.ts'
import type { Logits } from '../sampling/logits.ts'
import type { Vocabulary } from '../vocabulary.ts'

/** As far as answers go down: what is impossible has no logarithm that JSON could carry. */
const least = -9999

/** How likely a token of the prompt was at its place, and the likeliest ones beside it. */
export async function judgeToken(
  logits: Logits,
  token: number,
  count: number,
  vocabulary: Vocabulary,
): Promise<NonNullable<PromptLogprobs[number]>> {
  const [top, own, total] = await Promise.all([
    logits.top(Math.max(count, ranked)),
    logits.of([token]),
    logits.logTotal(1),
  ])
  const candidate = (id: number, logit: number): Candidate => ({
    token: id,
    bytes: vocabulary.bytes(id),
    logprob: Math.max(logit - total, least),
  })
  const entries = Array.from(top.tokens.subarray(0, count), (id, index) => ({
    ...candidate(id, top.logits[index] ?? Number.NaN),
    rank: index + 1,
  }))
  if (entries.some((entry) => entry.token === token)) return entries
  const logit = own[0] ?? Number.NEGATIVE_INFINITY
  return [{ ...candidate(token, logit), rank: await rankOf(logits, logit, top.logits) }, ...entries]
}

/** Most tokens of a prompt are among so many likeliest, which cost next to nothing to get. */
const ranked = 128

/** One more than the number of tokens that are likelier. */
async function rankOf(logits: Logits, logit: number, top: Float32Array): Promise<number> {
  let seen = top
  while (seen.length < logits.vocabulary && (seen.at(-1) ?? Number.NEGATIVE_INFINITY) > logit) {
    seen = (await logits.top(Math.min(seen.length * 8, logits.vocabulary))).logits
  }
  const place = seen.findIndex((other) => other <= logit)
  return (place < 0 ? seen.length : place) + 1
}
