import { z } from 'zod'
import { explained, explainedObject } from '../../domain/fields.ts'

/** What the answers of all generation endpoints have in common. */

const UsageDetails = explainedObject({
  reasoning_tokens: [z.int(), 'Tokens of thoughts.'],
  accepted_prediction_tokens: [z.int(), 'Tokens of `prediction` that came where they were predicted.'],
  rejected_prediction_tokens: [z.int(), 'All other tokens of `prediction`.'],
})

const CachedTokens = explainedObject({
  cached_tokens: [z.int(), 'Tokens of the prompt that were not computed again.'],
})

export const Usage = explainedObject({
  prompt_tokens: [z.int(), 'Tokens of the prompt, counted once.'],
  completion_tokens: [z.int(), 'Tokens of all choices, with the token that ends each.'],
  total_tokens: [z.int(), 'The sum of both.'],
  prompt_tokens_details: [CachedTokens.optional(), 'About the tokens of the prompt.'],
  completion_tokens_details: [UsageDetails.partial().optional(), 'About the tokens of the choices.'],
})

export const answerHead = explained({
  id: [z.string(), 'The id of the answer, which ends in the `request_id`.'],
  created: [z.int(), 'When the answer began, in seconds since 1970.'],
  model: [z.string(), 'The first name of the model that answered.'],
  system_fingerprint: [z.string(), 'Changes with the version of the server and with its model.'],
})

export const ended = explained({
  finish_reason: [
    z.enum(['stop', 'length', 'repetition', 'content_filter']),
    'Why it ended: `stop`, `length` (the limit of tokens, or the end of the context), `repetition`, or `content_filter` of another server.',
  ],
  stop_reason: [
    z.union([z.string(), z.int(), z.null()]),
    'The stop text or stop token that ended it, `repetition_detected`, or null.',
  ],
})

const PromptLogprob = explainedObject({
  logprob: [z.number(), 'Its log-probability.'],
  rank: [z.int(), 'Its place among all tokens, 1 for the most likely.'],
  decoded_token: [z.string(), 'Its text.'],
})

/** Keyed by the ids of the candidates; the first token of a prompt has none. */
export const PromptLogprobs = z
  .array(z.record(z.string(), PromptLogprob).nullable())
  .describe('For each token of the prompt but the first, its candidates by their ids.')
