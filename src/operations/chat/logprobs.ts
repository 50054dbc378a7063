import { isUtf8 } from 'node:buffer'
import type { Candidate, PromptLogprobs, TokenLogprob } from '../../inference/backend.ts'
import type { ChatAnswer, ChoiceLogprobs } from './contract.ts'

const decoder = new TextDecoder()

/** Half of a character has no text; its bytes are in the answer beside it. */
export function textOf(bytes: Uint8Array): string {
  const text = decoder.decode(bytes)
  return isUtf8(bytes) ? text : text.replaceAll('\ufffd', '')
}

function shown({ token, bytes, logprob }: Candidate, asIds: boolean) {
  return { token: asIds ? `token_id:${token}` : textOf(bytes), bytes: [...bytes], logprob }
}

/** `asIds` writes tokens as `token_id:<id>`, for what cannot be written as text. */
export function logprobsShown(given: readonly TokenLogprob[], asIds: boolean): ChoiceLogprobs {
  return {
    content: given.map((one) => ({
      ...shown(one, asIds),
      top_logprobs: one.top.map((candidate) => shown(candidate, asIds)),
    })),
  }
}

export function promptLogprobsShown(
  given: PromptLogprobs,
  asIds: boolean,
): NonNullable<ChatAnswer['prompt_logprobs']> {
  return given.map(
    (candidates) =>
      candidates &&
      Object.fromEntries(
        candidates.map((candidate) => {
          const { token, logprob } = shown(candidate, asIds)
          return [String(candidate.token), { logprob, rank: candidate.rank, decoded_token: token }]
        }),
      ),
  )
}
