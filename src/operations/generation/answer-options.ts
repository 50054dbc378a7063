import type { StreamFields } from './checks.ts'

/** What an answer shows besides its text. */
export interface AnswerOptions {
  tokenIds: boolean
  promptText: boolean
  /** Writes tokens in log-probabilities as `token_id:<id>`. */
  tokensAsIds: boolean
  /** In a stream: `usage` at its end, `runningUsage` with each chunk. */
  usage: boolean
  runningUsage: boolean
}

interface ShownFields extends StreamFields {
  return_token_ids?: boolean | null | undefined
  return_prompt_text?: boolean | null | undefined
  return_tokens_as_token_ids?: boolean | null | undefined
}

export function answerOptions({
  return_token_ids,
  return_prompt_text,
  return_tokens_as_token_ids,
  stream_options,
}: ShownFields): AnswerOptions {
  return {
    tokenIds: return_token_ids ?? false,
    promptText: return_prompt_text ?? false,
    tokensAsIds: return_tokens_as_token_ids ?? false,
    usage: stream_options?.include_usage ?? false,
    runningUsage: stream_options?.continuous_usage_stats ?? false,
  }
}
