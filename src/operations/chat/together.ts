import type { JsonText } from '../../domain/json/text.ts'
import { type Refusal, refuse } from '../../domain/refusals.ts'
import type { ChatBody } from './contract.ts'
import type { SamplingFields } from './sampling-fields.ts'

/** What each field allows on its own, but not with the others. */

/** Messages of one request; more than any context holds. */
const mostMessages = 10_000

/** Each is turned to tokens twice, while the engine does nothing else. */
const mostBadLetters = 65_536

function wrong(field: string, given: string, accepted: string): Refusal {
  return refuse('invalid_value', { field, given, accepted })
}

export function checkTogether(body: ChatBody): void {
  const { messages, stream, stream_options, top_logprobs, prompt_logprobs, documents } = body
  if (messages.length === 0) throw wrong('messages', 'an empty list', 'at least one message')
  if (messages.length > mostMessages) {
    throw wrong('messages', `${messages.length} messages`, `at most ${mostMessages}`)
  }
  if (!stream && stream_options && Object.values(stream_options).some((value) => value !== undefined)) {
    throw wrong('stream_options', 'given without `stream`', 'with "stream": true only')
  }
  if (top_logprobs && !body.logprobs) {
    throw wrong('top_logprobs', 'given without `logprobs`', 'with "logprobs": true only')
  }
  if (stream && prompt_logprobs) {
    throw wrong('prompt_logprobs', `${prompt_logprobs} with "stream": true`, '0 in a stream, or no stream')
  }
  if (body.continue_final_message && (body.add_generation_prompt ?? true)) {
    throw wrong(
      'continue_final_message',
      'true together with add_generation_prompt, which is true unless it is given',
      'true only with "add_generation_prompt": false',
    )
  }
  for (const [index, document] of (documents ?? []).entries()) checkDocument(document, index)
  checkExtras('engine_xargs', body.engine_xargs)
  checkExtras('vllm_xargs', body.vllm_xargs)
  checkSampling(body, body.max_completion_tokens ?? body.max_tokens ?? undefined)
}

export function checkSampling(fields: SamplingFields, maxTokens: number | undefined): void {
  const { n, temperature, use_beam_search, min_tokens, repetition_detection, truncate_prompt_tokens } = fields
  if ((n ?? 1) > 1 && !use_beam_search && temperature != null && temperature < 1e-5) {
    throw wrong(
      'n',
      `${n} with temperature ${temperature}`,
      '1 with greedy sampling: all answers would be the same',
    )
  }
  if (min_tokens !== undefined && maxTokens !== undefined && min_tokens > maxTokens) {
    throw wrong('min_tokens', `${min_tokens} with at most ${maxTokens} tokens`, `0 to ${maxTokens}`)
  }
  const letters = (fields.bad_words ?? []).reduce((sum, { length }) => sum + length, 0)
  if (letters > mostBadLetters) {
    throw wrong('bad_words', `${letters} characters together`, `at most ${mostBadLetters}`)
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

function checkDocument(document: JsonText, index: number): void {
  for (const [name, value] of Object.entries(document.value as object)) {
    if (typeof value !== 'string') throw wrong(`documents.${index}.${name}`, 'not a text', 'texts only')
  }
}

const isExtra = (value: unknown) => typeof value === 'string' || typeof value === 'number'

function checkExtras(field: string, extras: JsonText | null | undefined): void {
  for (const [name, value] of Object.entries((extras?.value ?? {}) as object)) {
    if (!isExtra(value) && !(Array.isArray(value) && value.every(isExtra))) {
      throw wrong(`${field}.${name}`, 'another value', 'a text, a number, or a list of these')
    }
  }
}
