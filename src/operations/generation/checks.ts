import { described } from '../../domain/described.ts'
import type { JsonText } from '../../domain/json/text.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import type { GenerationSettings } from './parts.ts'
import type { SamplingFields } from './sampling-fields.ts'

/** Checks of fields that are valid on their own, but not with each other or with the settings. */

/** In characters, all together: each is searched for in the answer. */
const maxBadWordsLength = 65_536

export interface StreamFields {
  stream?: boolean | null | undefined
  stream_options?:
    | { include_usage?: boolean | null | undefined; continuous_usage_stats?: boolean | null | undefined }
    | null
    | undefined
  prompt_logprobs?: number | null | undefined
}

export function checkStream({ stream, stream_options, prompt_logprobs }: StreamFields): void {
  if (!stream && stream_options && Object.values(stream_options).some((value) => value !== undefined)) {
    throw wrong('stream_options', 'given without `stream`', 'only with "stream": true')
  }
  if (stream && prompt_logprobs) {
    throw wrong('prompt_logprobs', `${prompt_logprobs} with "stream": true`, '0 in a stream, or no stream')
  }
}

interface NamedTokens {
  logprobs?: boolean | number | null | undefined
  logprob_token_ids?: readonly number[] | null | undefined
}

/** `accepted` is what asks for log-probabilities. */
export function checkNamedTokens({ logprobs, logprob_token_ids }: NamedTokens, accepted: string): void {
  if (logprob_token_ids == null || (logprobs ?? false) !== false) return
  throw wrong('logprob_token_ids', 'given without `logprobs`', accepted)
}

export function checkPriority({ priority = 0 }: SamplingFields, settings: GenerationSettings): void {
  if (priority !== 0 && !settings.priority) {
    throw refuse('priority_off', { field: 'priority', received: priority })
  }
}

export function checkSampling(fields: SamplingFields, maxTokens: number | undefined): void {
  const { n, temperature, use_beam_search, min_tokens, repetition_detection, truncate_prompt_tokens } = fields
  if ((n ?? 1) > 1 && !use_beam_search && temperature != null && temperature < 1e-5) {
    throw wrong(
      'n',
      `${n} with temperature ${temperature}`,
      '1 with greedy sampling, because all answers would be the same',
    )
  }
  if (min_tokens !== undefined && maxTokens !== undefined && min_tokens > maxTokens) {
    throw wrong('min_tokens', `${min_tokens} with at most ${maxTokens} tokens`, `0 to ${maxTokens}`)
  }
  const letters = (fields.bad_words ?? []).reduce((sum, { length }) => sum + length, 0)
  if (letters > maxBadWordsLength) {
    throw wrong('bad_words', `${letters} characters in all`, `at most ${maxBadWordsLength}`)
  }
  if (truncate_prompt_tokens === 0) {
    throw wrong('truncate_prompt_tokens', '0, which leaves no prompt', '-1, or at least 1')
  }
  if (repetition_detection) {
    const { max_pattern_size = 0, min_pattern_size = 0, min_count = 0 } = repetition_detection
    if (min_pattern_size > max_pattern_size) {
      throw wrong(
        'repetition_detection.min_pattern_size',
        String(min_pattern_size),
        `at most max_pattern_size, ${max_pattern_size}`,
      )
    }
    if (max_pattern_size > 0 && min_count < 2) {
      throw wrong('repetition_detection.min_count', String(min_count), 'at least 2')
    }
  }
}

const maxEntries = 16
const maxNameLength = 64
const maxEntryLength = 512

/** The same limits as OpenAI's. */
export function checkMetadata(metadata: JsonText | null | undefined): void {
  if (metadata == null) return
  const entries = Object.entries(metadata.value as object)
  if (entries.length > maxEntries)
    throw wrong('metadata', `${entries.length} entries`, `at most ${maxEntries}`)
  for (const [name, value] of entries) {
    if (name.length > maxNameLength)
      throw wrong('metadata', 'a longer name', `names of at most ${maxNameLength} characters`)
    if (typeof value === 'string' && value.length <= maxEntryLength) continue
    throw wrong(`metadata.${name}`, 'another value', `a string of at most ${maxEntryLength} characters`)
  }
}

/** A prompt that is sent as the ids of its tokens. */
export function tokenIdsIn(list: unknown[], path: string, maxTokens: number): number[] {
  if (list.length > maxTokens) throw wrong(path, `${list.length} tokens`, `at most ${maxTokens}`)
  const odd = list.findIndex((token) => !Number.isSafeInteger(token) || (token as number) < 0)
  if (odd !== -1) throw wrong(`${path}.${odd}`, described(list[odd]), 'a token id')
  return list as number[]
}
