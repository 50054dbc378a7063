import type { Vocabulary } from '../../constraints/index.ts'
import type { Candidate, PromptLogprobs, TokenLogprob } from '../backend.ts'
import type { Candidates, Logits } from './logits.ts'

/** JSON has no number for the logarithm of zero, the probability of tokens that cannot be drawn. */
const minLogprob = -9999

/** A token as answers show it; `logTotal` is the logarithm of the sum at its position. */
export function candidateOf(
  vocabulary: Vocabulary,
  token: number,
  logit: number,
  logTotal: number,
): Candidate {
  return { token, bytes: vocabulary.bytes(token), logprob: Math.max(logit - logTotal, minLogprob) }
}

/** What logprobs are computed from, requested all at once, so that the thread that reads the logits is woken once. */
export function likeliest(logits: Logits, count: number): Promise<[Candidates, number]> {
  return Promise.all([logits.top(Math.max(1, count)), logits.logTotal(1)])
}

/** The logprob of the drawn token and the likeliest tokens, before any sampling setting. */
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

/** The same with named tokens and the drawn one instead of the likeliest. */
export async function namedLogprob(
  logits: Logits,
  token: number,
  named: readonly number[],
  vocabulary: Vocabulary,
): Promise<TokenLogprob> {
  const [values, [logit = -Infinity], total] = await Promise.all([
    logits.of(named),
    logits.of([token]),
    logits.logTotal(1),
  ])
  const drawn = candidateOf(vocabulary, token, logit, total)
  const others = named.map((other, i) => candidateOf(vocabulary, other, values[i] ?? -Infinity, total))
  const listed = [drawn, ...others.filter((other) => other.token !== token)]
  return { ...drawn, top: listed.toSorted((a, b) => b.logprob - a.logprob) }
}

/** The logprob of a token of the prompt at its position, and the likeliest tokens. */
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

/** Most tokens of a prompt are among this many likeliest ones, which cost almost nothing to get. */
const ranked = 128

/** One more than the number of likelier tokens. */
async function rankOf(logits: Logits, logit: number, top: Float32Array): Promise<number> {
  let seen = top
  while (seen.length < logits.vocabulary && (seen.at(-1) ?? -Infinity) > logit) {
    seen = (await logits.top(Math.min(seen.length * 8, logits.vocabulary))).logits
  }
  const index = seen.findIndex((other) => other <= logit)
  return (index < 0 ? seen.length : index) + 1
}
