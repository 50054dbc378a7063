import { z } from 'zod'
import { answer, jsonObject, plainText, shortList } from '../../domain/fields.ts'
import { documented, flag, integer, number, optIn } from '../generation/scalars.ts'

const maxFiles = 128

const ignored = () =>
  documented(integer(-Number.MAX_SAFE_INTEGER).nullish(), 'No effect.', { effect: 'none' })

/** Fields of llama-server's clients that mean nothing here. Those that were sent are named in a header of the answer. */
export const ignoredInfillFields = {
  n_indent: ignored(),
  n_keep: ignored(),
  n_cache_reuse: ignored(),
  repeat_last_n: ignored(),
  samplers: documented(shortList(z.string(), 64).nullish(), 'No effect.', { effect: 'none' }),
  id_slot: ignored(),
  t_max_prompt_ms: ignored(),
  t_max_predict_ms: ignored(),
}

/** As llama-server takes it; the defaults are its own. */
export const InfillBody = z.object({
  model: z.string().max(256).nullish(),
  input_prefix: z.string().nullish().meta({ description: 'The text before the gap.', default: '' }),
  input_suffix: z.string().nullish().meta({ description: 'The text after it.', default: '' }),
  input_extra: shortList(z.object({ filename: z.string().max(4_096).nullish(), text: z.string() }), maxFiles)
    .nullish()
    .describe('Texts of other files, read before the prefix. What does not fit is cut off at its beginning.'),
  prompt: z.string().nullish().describe('What the answer begins with, such as the indentation of its line.'),
  n_predict: integer(-1).nullish().meta({
    description: 'Most tokens of the answer. 0 only reads the prompt; -1 is as many as fit.',
    default: -1,
  }),
  temperature: number(z.number().min(0)).nullish().meta({ default: 0.8 }),
  top_k: integer(0, 2 ** 31 - 1)
    .nullish()
    .meta({ default: 40 }),
  top_p: number(z.number().min(0).max(1)).nullish().meta({ default: 0.95 }),
  min_p: number(z.number().min(0).max(1)).nullish().meta({ default: 0.05 }),
  repeat_penalty: number(z.number().gt(0).max(2)).nullish().meta({ default: 1 }),
  presence_penalty: number(z.number().min(-2).max(2)).nullish().meta({ default: 0 }),
  frequency_penalty: number(z.number().min(-2).max(2)).nullish().meta({ default: 0 }),
  seed: integer(-1, 2 ** 32 - 1)
    .nullish()
    .meta({ default: -1 }),
  stop: shortList(z.string().min(1), 64).nullish().describe('Texts that end the answer.'),
  ignore_eos: optIn(),
  stream: optIn(),
  cache_prompt: documented(flag().nullish(), 'No effect: what was read is always kept while there is room.', {
    initial: true,
    effect: 'none',
  }),
  response_fields: shortList(z.string().max(128), 64)
    .nullish()
    .describe('Only these members of the answer, such as `content` or `timings/prompt_n`.'),
  ...ignoredInfillFields,
  store: flag().nullish().describe('Whether the answer is recorded as a call.'),
  session_id: plainText(512).min(1).nullish().describe('Becomes the conversation of the recorded call.'),
  metadata: jsonObject().nullish().describe('Stored with the recorded answer.'),
})
export type InfillBody = z.output<typeof InfillBody>

const Timings = z.object({
  prompt_n: z.int(),
  prompt_ms: z.number(),
  prompt_per_second: z.number(),
  predicted_n: z.int(),
  predicted_ms: z.number(),
  predicted_per_second: z.number(),
})

/** Of a stream, each chunk; only the last has more than a text. */
export const InfillAnswer = answer('What fills the gap. `response_fields` may leave out any of these.', {
  index: z.literal(0).optional(),
  content: z.string().optional(),
  stop: z.boolean().optional(),
  model: z.string().optional(),
  stop_type: z.enum(['eos', 'limit', 'word']).optional(),
  stopping_word: z.string().optional(),
  tokens_predicted: z.int().optional(),
  tokens_evaluated: z.int().optional(),
  tokens_cached: z.int().optional(),
  truncated: z.boolean().optional(),
  has_new_line: z.boolean().optional(),
  timings: Timings.optional(),
}).catchall(z.number().describe('A member within a member, by its path.'))
