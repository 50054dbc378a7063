import { refuse } from '../../domain/refusals.ts'
import type { AnswerRequest } from '../model.ts'
import { type KindOfUpstream, withoutEffect } from './kinds.ts'

type Given = Readonly<Record<string, unknown>>

/** Fields that every server accepts under the same name, and that are passed on unchanged. */
const everywhere = [
  'temperature',
  'top_p',
  'frequency_penalty',
  'presence_penalty',
  'stop',
  'response_format',
  'reasoning_effort',
]

const isFalse = (value: unknown) => value === false
const isTrue = (value: unknown) => value === true
const isZero = (value: unknown) => value === 0
const isOne = (value: unknown) => value === 1
const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0
const never = () => false
const isNothing = (content: string | { text: string }[]) =>
  typeof content === 'string' ? content === '' : content.every(({ text }) => text === '')

/** Fields that some servers accept, each with the values that ask for nothing and may be left out. */
const somewhere: Record<string, (value: unknown, isText: boolean) => boolean> = {
  top_k: (value) => typeof value === 'number' && value <= 0,
  min_p: isZero,
  repetition_penalty: isOne,
  bad_words: isEmpty,
  allowed_token_ids: never,
  min_tokens: isZero,
  stop_token_ids: isEmpty,
  ignore_eos: isFalse,
  include_stop_str_in_output: isFalse,
  skip_special_tokens: isTrue,
  spaces_between_special_tokens: isTrue,
  truncate_prompt_tokens: never,
  // Without the field above it asks for nothing.
  truncation_side: () => true,
  logprob_token_ids: never,
  cache_salt: never,
  priority: isZero,
  use_beam_search: isFalse,
  length_penalty: isOne,
  repetition_detection: (value) => !(value as { max_pattern_size?: number }).max_pattern_size,
  return_prompt_text: isFalse,
  add_generation_prompt: isTrue,
  continue_final_message: isFalse,
  add_special_tokens: (value, isText) => value === isText,
  chat_template: never,
  thinking_token_budget: never,
  structured_outputs: never,
  prediction: (value) => isNothing((value as { content: string | { text: string }[] }).content),
}

/** Fields that are answered here from the server's output, which is requested if possible. */
const told: Record<string, (value: unknown) => boolean> = {
  prompt_logprobs: never,
  return_token_ids: isFalse,
  return_tokens_as_token_ids: isFalse,
}

export function refuseUnsupported(...[field, shown, accepted]: Parameters<typeof unsupported>): never {
  throw unsupported(field, shown, accepted)
}

export const unsupported = (field: string, shown: string, accepted: string) =>
  refuse('upstream_lacks', { field, given: shown, accepted })

/** The fields that are passed on unchanged. Fields that the server does not accept are refused by name. */
export function forwardedFields({ body = {} }: AnswerRequest, kind: KindOfUpstream, isText: boolean): Given {
  const passed: Record<string, unknown> = {}
  for (const name of everywhere) if (body[name] != null) passed[name] = body[name]
  for (const name of withoutEffect) if (body[name] != null && kind.takes.has(name)) passed[name] = body[name]
  for (const [name, asksNothing] of Object.entries(somewhere)) {
    const value = body[name]
    if (value == null) continue
    if (kind.takes.has(name)) passed[kind.names[name] ?? name] = value
    else if (!asksNothing(value, isText)) refuseUnsupported(name, 'it', 'nothing: leave it out')
  }
  for (const [name, asksNothing] of Object.entries(told)) {
    const value = body[name]
    if (value != null && !kind.takes.has(name) && !asksNothing(value))
      refuseUnsupported(name, 'it', 'nothing: leave it out')
  }
  return passed
}
