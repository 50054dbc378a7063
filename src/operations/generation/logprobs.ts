import { isUtf8 } from 'node:buffer'
import type { Candidate, PromptLogprobs, TokenLogprob } from '../../../packages/engine/index.ts'
import { inSteps } from '../../../packages/waiting/index.ts'
import { JsonText } from '../../domain/json/text.ts'
import { wrong } from '../../domain/refusals.ts'
import type { AnswerRequest } from '../../inference/model.ts'

const decoder = new TextDecoder()

/** A token may be half of a character, which has no text; its bytes are given as well. */
export function textOf(bytes: Uint8Array): string {
  const text = decoder.decode(bytes)
  return isUtf8(bytes) ? text : text.replaceAll('\ufffd', '')
}

function shown({ token, bytes, logprob }: Candidate, asIds: boolean) {
  return { token: asIds ? `token_id:${token}` : textOf(bytes), bytes: [...bytes], logprob }
}

/** `asIds` writes tokens as `token_id:<id>`, for tokens that cannot be written as text. */
export function logprobShown(logprob: TokenLogprob, asIds: boolean) {
  return { ...shown(logprob, asIds), top_logprobs: logprob.top.map((candidate) => shown(candidate, asIds)) }
}

/** For one token of the prompt, keyed by the ids of the candidates; the first token has none. */
function promptLogprobShown(candidates: PromptLogprobs[number], asIds: boolean) {
  if (candidates === null) return null
  return Object.fromEntries(
    candidates.map((candidate) => {
      const { token, logprob } = shown(candidate, asIds)
      return [String(candidate.token), { logprob, rank: candidate.rank, decoded_token: token }]
    }),
  )
}

/** Works in steps, because a long prompt has many. */
export async function promptLogprobsWritten(logprobs: PromptLogprobs, asIds: boolean): Promise<JsonText> {
  const texts: string[] = []
  await inSteps(logprobs, (token) => void texts.push(JSON.stringify(promptLogprobShown(token, asIds))))
  return new JsonText(`[${texts.join(',')}]`)
}

/** Some 70 MB of text, and a few times as much memory while it is written. */
const maxCandidates = 1_000_000

/** The token itself, and as many others as the request asked for. */
export const candidatesOfToken = (others: number | null | undefined) => (others == null ? 0 : 1 + others)

/** The field that says which candidates each token of the answer has, and how many these are. */
export function candidatesAsked(
  { logprobs, logprobTokens }: Pick<AnswerRequest, 'logprobs' | 'logprobTokens'>,
  field: string,
): { field: string; ofToken: number } {
  if (logprobTokens === undefined) return { field, ofToken: candidatesOfToken(logprobs) }
  return { field: 'logprob_token_ids', ofToken: candidatesOfToken(1 + logprobTokens.length) }
}

export interface CandidateLimit {
  /** Whether these may still be kept. */
  takes(logprobs: readonly TokenLogprob[]): boolean
  /** Whether some were not kept. */
  readonly isPassed: boolean
}

/** A stream sends all of its log-probabilities; only the recorded copy needs a bound. */
const maxRecorded = 100_000

/** A whole answer with too many is refused; the record of a stream leaves them out. */
export function limitCandidates(field: string, isStream: boolean): CandidateLimit {
  let candidates = 0
  return {
    takes(logprobs) {
      for (const { top } of logprobs) candidates += 1 + top.length
      if (!isStream) checkCandidates(field, candidates)
      return !isStream || candidates <= maxRecorded
    },
    get isPassed() {
      return isStream && candidates > maxRecorded
    },
  }
}

/**
 * A whole answer stays in memory with its log-probabilities until its last choice has ended, and one request could ask
 * for gigabytes of them. A stream sends them as they come.
 */
export function checkCandidates(field: string, candidates: number): void {
  if (candidates <= maxCandidates) return
  throw wrong(
    field,
    `up to ${candidates} candidates in one answer`,
    `up to ${maxCandidates}, counted as tokens of all answers times candidates per token; or a stream`,
  )
}
