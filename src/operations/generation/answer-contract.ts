import { z } from 'zod'
import { explained } from '../../domain/fields.ts'

/** What the answers of all generation endpoints have in common. */

const UsageDetails = z.object(
  explained(
    { reasoning_tokens: z.int(), accepted_prediction_tokens: z.int(), rejected_prediction_tokens: z.int() },
    {
      reasoning_tokens: 'Tokens of thoughts.',
      accepted_prediction_tokens: 'Tokens of `prediction` that came where they were predicted.',
      rejected_prediction_tokens: 'All other tokens of `prediction`.',
    },
  ),
)

const CachedTokens = z.object(
  explained(
    { cached_tokens: z.int() },
    { cached_tokens: 'Tokens of the prompt that were not computed again.' },
  ),
)

export const Usage = z.object(
  explained(
    {
      prompt_tokens: z.int(),
      completion_tokens: z.int(),
      total_tokens: z.int(),
      prompt_tokens_details: CachedTokens.optional(),
      completion_tokens_details: UsageDetails.partial().optional(),
    },
    {
      prompt_tokens: 'Tokens of the prompt, counted once.',
      completion_tokens: 'Tokens of all choices, with the token that ends each.',
      total_tokens: 'The sum of both.',
      prompt_tokens_details: 'About the tokens of the prompt.',
      completion_tokens_details: 'About the tokens of the choices.',
    },
  ),
)

export const answerHead = explained(
  { id: z.string(), created: z.int(), model: z.string(), system_fingerprint: z.string() },
  {
    id: 'The id of the answer, which ends in the `request_id`.',
    created: 'When the answer began, in seconds since 1970.',
    model: 'The first name of the model that answered.',
    system_fingerprint: 'Changes with the version of the server and with its model.',
  },
)

export const ended = explained(
  {
    finish_reason: z.enum(['stop', 'length', 'repetition', 'content_filter']),
    stop_reason: z.union([z.string(), z.int(), z.null()]),
  },
  {
    finish_reason:
      'Why it ended: `stop`, `length` (the limit of tokens, or the end of the context), `repetition`, or `content_filter` of another server.',
    stop_reason: 'The stop text or stop token that ended it, `repetition_detected`, or null.',
  },
)

const PromptLogprob = z.object(
  explained(
    { logprob: z.number(), rank: z.int(), decoded_token: z.string() },
    {
      logprob: 'Its log-probability.',
      rank: 'Its place among all tokens, 1 for the most likely.',
      decoded_token: 'Its text.',
    },
  ),
)

/** Keyed by the ids of the candidates; the first token of a prompt has none. */
export const PromptLogprobs = z.array(z.record(z.string(), PromptLogprob).nullable()).meta({
  description: 'For each token of the prompt but the first, its candidates by their ids.',
})
