import type { Vocabulary } from '../../constraints/index.ts'
import type { Candidate, PromptLogprobs, TokenLogprob } from '../backend.ts'
import { likeliest } from './logits.ts'
import { logSum } from './weights.ts'

/** JSON has no number for the logarithm of zero, the probability of tokens that cannot be drawn. */
const minLogprob = -9999

/** A token as answers show it; `logTotal` is the logarithm of the sum at its position. */
function candidateOf(vocabulary: Vocabulary, token: number, logit: number, logTotal: number): Candidate {
  return { token, bytes: vocabulary.bytes(token), logprob: Math.max(logit - logTotal, minLogprob) }
}

/**
 * The logprobs of tokens that were drawn at a position, before any sampling setting: beside the likeliest ones, or beside
 * named ones and then sorted with these.
 */
export function drawnLogprobs(
  logits: Float32Array,
  { count, named }: { count: number; named: readonly number[] | undefined },
  vocabulary: Vocabulary,
): (token: number) => TokenLogprob {
  const total = logSum(logits, 1)
  const candidate = (token: number) => candidateOf(vocabulary, token, logits[token] as number, total)
  const others = Array.from(named ?? (count === 0 ? [] : likeliest(logits, count).tokens), candidate)
  return (token) => {
    const drawn = candidate(token)
    if (named === undefined) return { ...drawn, top: others }
    const top = [drawn, ...others.filter((other) => other.token !== token)]
    return { ...drawn, top: top.toSorted((a, b) => b.logprob - a.logprob) }
  }
}

/** The logprob of a token of the prompt at its position, and the likeliest tokens. */
export function promptLogprob(
  logits: Float32Array,
  token: number,
  count: number,
  vocabulary: Vocabulary,
): NonNullable<PromptLogprobs[number]> {
  const total = logSum(logits, 1)
  const candidate = (of: number, rank: number) => ({
    ...candidateOf(vocabulary, of, logits[of] as number, total),
    rank,
  })
  const likely =
    count === 0 ? [] : Array.from(likeliest(logits, count).tokens, (of, at) => candidate(of, at + 1))
  if (likely.some((entry) => entry.token === token)) return likely
  return [candidate(token, rankOf(logits, logits[token] as number)), ...likely]
}

/** One more than the number of likelier tokens. */
function rankOf(logits: Float32Array, logit: number): number {
  let rank = 1
  for (let token = 0; token < logits.length; token++) if ((logits[token] as number) > logit) rank++
  return rank
}
