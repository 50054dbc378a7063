import type { Ending, Sampling } from '../../../packages/engine/index.ts'
import { wrong } from '../../domain/refusals.ts'
import type { AnswerRequest, TurnAsked } from '../../inference/model.ts'
import { type GivenBias, maxBiases } from './given-values.ts'
import type { SamplingFields } from './sampling-fields.ts'
import { asNumber } from './scalars.ts'

interface Asked {
  inputs: AnswerRequest['inputs']
  constraint: AnswerRequest['constraint']
  turn?: TurnAsked
  tenant: string
  maxTokens: number | undefined
  /** Number of candidates for each token of the answer, and of the prompt; none if absent. */
  logprobs: number | undefined
  /** Listed with each token of the answer instead of the likeliest. */
  logprobTokens?: readonly number[] | null | undefined
  promptLogprobs: number | undefined
  /** A text that the answer is expected to resemble. */
  prediction?: string
}

/** What the request asks of the turn besides its text: calls, and the limit of a thought. */
export function turnOf(
  calls: TurnAsked['calls'],
  { thinking_token_budget: tokens }: { thinking_token_budget?: number | null | undefined },
): TurnAsked {
  return {
    ...(calls && { calls }),
    ...(tokens != null && { thinkingBudget: { tokens, field: 'thinking_token_budget' } }),
  }
}

/** The fields of a request with the meaning that vLLM gives them, every default filled in. */
export function requestOf(fields: SamplingFields, asked: Asked): AnswerRequest {
  const { inputs, constraint, turn, tenant, maxTokens, logprobs, logprobTokens, promptLogprobs, prediction } =
    asked
  const { truncate_prompt_tokens: truncation, truncation_side: side, cache_salt: salt } = fields
  return {
    inputs,
    tenant,
    body: fields,
    choices: fields.n ?? 1,
    sampling: samplingOf(fields),
    ending: endingOf(fields, maxTokens),
    text: {
      skipSpecial: fields.skip_special_tokens ?? true,
      spaceSpecial: fields.spaces_between_special_tokens ?? true,
    },
    priority: fields.priority ?? 0,
    ...(constraint && { constraint }),
    ...(turn && { turn }),
    ...(truncation != null && { truncate: { tokens: truncation, side: side ?? 'left' } }),
    ...(logprobs !== undefined && { logprobs }),
    ...(logprobTokens && { logprobTokens: [...new Set(logprobTokens)] }),
    ...(promptLogprobs !== undefined && { promptLogprobs }),
    ...(salt != null && { salt }),
    ...(prediction !== undefined && { prediction }),
    ...(fields.use_beam_search && { beam: { lengthPenalty: fields.length_penalty ?? 1 } }),
  }
}

/** Of fields that are absent, with their defaults. */
export function samplingOf(fields: SamplingFields): Sampling {
  const { seed, top_k, allowed_token_ids: allowed } = fields
  return {
    temperature: fields.temperature ?? 1,
    topP: fields.top_p ?? 1,
    topK: Math.max(0, top_k ?? 0),
    minP: fields.min_p ?? 0,
    // -1 means "no seed".
    ...(seed != null && seed !== -1n && { seed }),
    frequencyPenalty: fields.frequency_penalty ?? 0,
    presencePenalty: fields.presence_penalty ?? 0,
    repetitionPenalty: fields.repetition_penalty ?? 1,
    bias: biasOf(fields.logit_bias),
    ...(allowed && { allowed }),
    badWords: fields.bad_words ?? [],
  }
}

export function endingOf(fields: SamplingFields, maxTokens: number | undefined): Ending {
  const { stop, repetition_detection: repetition } = fields
  return {
    ...(maxTokens !== undefined && { maxTokens }),
    minTokens: fields.min_tokens ?? 0,
    stop: stop == null ? [] : [stop].flat(),
    stopTokens: [...new Set(fields.stop_token_ids)],
    ignoreEos: fields.ignore_eos ?? false,
    includeStop: fields.include_stop_str_in_output ?? false,
    ...(repetition?.max_pattern_size && {
      repetition: {
        minPattern: Math.max(1, repetition.min_pattern_size ?? 0),
        maxPattern: repetition.max_pattern_size,
        count: repetition.min_count ?? 0,
      },
    }),
  }
}

const largestBias = 100

/** Token ids, given as texts, each with what is added to its logit. Values beyond the range are clamped. */
function biasOf(bias: GivenBias | null | undefined): [number, number][] {
  const { count, entries } = bias ?? { count: 0, entries: [] }
  if (count > maxBiases) throw wrong('logit_bias', `${count} tokens`, `at most ${maxBiases}`)
  const unknown = entries.map(([id]) => id).filter((id) => !/^\d{1,10}$/.test(id))
  if (unknown.length > 0) {
    const shown = unknown.slice(0, 10).map((id) => JSON.stringify(id.slice(0, 40)))
    throw wrong('logit_bias', shown.join(', '), 'token ids as keys')
  }
  return entries.map(([id, sent]) => {
    const value = asNumber(sent)
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      throw wrong(`logit_bias.${id}`, 'not a number', 'a number from -100 to 100')
    }
    return [Number(id), Math.min(largestBias, Math.max(-largestBias, value))]
  })
}
