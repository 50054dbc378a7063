import { z } from 'zod'

/** What the answers of all generation endpoints have in common. */

export const Usage = z.object({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
  prompt_tokens_details: z.object({ cached_tokens: z.int() }).optional(),
  completion_tokens_details: z
    .object({
      reasoning_tokens: z.int(),
      accepted_prediction_tokens: z.int(),
      rejected_prediction_tokens: z.int(),
    })
    .partial()
    .optional(),
})

export const answerHead = {
  id: z.string(),
  created: z.int(),
  model: z.string(),
  system_fingerprint: z.string(),
}

export const ended = {
  finish_reason: z.enum(['stop', 'length', 'repetition', 'content_filter']),
  stop_reason: z.union([z.string(), z.int(), z.null()]),
}

/** Keyed by the ids of the candidates; the first token of a prompt has none. */
export const PromptLogprobs = z.array(
  z
    .record(z.string(), z.object({ logprob: z.number(), rank: z.int(), decoded_token: z.string() }))
    .nullable(),
)
