import { z } from 'zod'
import { int64, jsonObject, plainText } from '../../domain/fields.ts'
import { flag, integer, number } from './scalars.ts'

/** The fields that say how tokens are drawn and where an answer ends. Chat and text completions share them. */

/** As many tokens as any vocabulary or answer has. */
const mostTokens = 2 ** 31 - 1

/** How many answers one request may ask for; each takes a sequence of the model. */
export const mostChoices = 128

/** Candidates beside a token whose logarithms may be asked for. */
export const mostLogprobs = 20

const tokenIds = (most: number) => z.array(integer(0, mostTokens)).max(most)

const stopText = z.string().min(1).max(4_096)

export const samplingFields = {
  frequency_penalty: number(z.number().min(-2).max(2)).nullish(),
  presence_penalty: number(z.number().min(-2).max(2)).nullish(),
  repetition_penalty: number(z.number().gt(0)).nullish(),
  temperature: number(z.number().min(0)).nullish(),
  top_p: number(z.number().gt(0).max(1)).nullish(),
  top_k: integer(-1, mostTokens).nullish(),
  min_p: number(z.number().min(0).max(1)).nullish(),
  seed: int64().nullish(),
  n: integer(1, mostChoices).nullish(),
  logit_bias: jsonObject().nullish(),
  allowed_token_ids: tokenIds(65_536).min(1).nullish(),
  bad_words: z.array(plainText(1_024).min(1)).max(1_024).optional(),
  use_beam_search: flag().optional(),
  length_penalty: number().optional(),

  max_tokens: integer(1, mostTokens).nullish(),
  min_tokens: integer(0, mostTokens).optional(),
  stop: z
    .union([stopText, z.array(stopText).max(1_024)], {
      error: 'expected a text of 1 to 4096 characters, or a list of such texts',
    })
    .nullish(),
  stop_token_ids: tokenIds(4_096).nullish(),
  ignore_eos: flag().optional(),
  include_stop_str_in_output: flag().optional(),
  repetition_detection: z
    .object({
      max_pattern_size: integer(0, mostTokens).optional(),
      min_pattern_size: integer(0, mostTokens).optional(),
      min_count: integer(0, mostTokens).optional(),
    })
    .nullish(),

  skip_special_tokens: flag().optional(),
  spaces_between_special_tokens: flag().optional(),
  truncate_prompt_tokens: number(
    z
      .number()
      .min(-1)
      .max(2 ** 63)
      .refine(Number.isInteger, 'expected a whole number'),
  )
    .nullish()
    .meta({ type: 'integer' }),
  cache_salt: plainText(256).min(1).nullish(),
  priority: integer(-(2 ** 31), 2 ** 31 - 1).optional(),
}
export type SamplingFields = z.output<z.ZodObject<typeof samplingFields>>
