import { z } from 'zod'
import { int64, jsonObject, plainText } from '../../domain/fields.ts'
import { biasGiven } from './given-values.ts'
import { documented, flag, integer, number } from './scalars.ts'

/** The fields that say how tokens are drawn and where an answer ends. Chat and text completions share them. */

/** More tokens than any vocabulary or answer has. */
export const mostTokens = 2 ** 31 - 1

/** How many answers one request may ask for; each takes a sequence of the model. */
export const mostChoices = 128

/** Most candidates for each token whose log-probabilities may be asked for. */
export const mostLogprobs = 20

const tokenIds = (most: number) => z.array(integer(0, mostTokens)).max(most)

const stopText = z.string().min(1).max(4_096)

export const samplingFields = {
  frequency_penalty: documented(
    number(z.number().min(-2).max(2)).nullish(),
    'Subtracted from the logit of a token once for each time that it occurs in the answer so far.',
    { initial: 0 },
  ),
  presence_penalty: documented(
    number(z.number().min(-2).max(2)).nullish(),
    'Subtracted once from the logit of each token that occurs in the answer so far.',
    { initial: 0 },
  ),
  repetition_penalty: documented(
    number(z.number().gt(0)).nullish(),
    'Divides positive logits, and multiplies negative ones, of tokens that occur in the prompt or the answer so far.',
    { initial: 1 },
  ),
  temperature: documented(
    number(z.number().min(0)).nullish(),
    '0 takes the likeliest token each time; between 0 and 0.01 it counts as 0.01.',
    { initial: 1 },
  ),
  top_p: documented(
    number(z.number().gt(0).max(1)).nullish(),
    'Draws from the smallest set of likeliest tokens whose probabilities add up to this.',
    { initial: 1 },
  ),
  top_k: documented(
    integer(-1, mostTokens).nullish(),
    'Draws from this many of the likeliest tokens; 0 and -1 mean all.',
    { initial: 0 },
  ),
  min_p: documented(
    number(z.number().min(0).max(1)).nullish(),
    'Draws from tokens that have at least this fraction of the probability of the likeliest one.',
    { initial: 0 },
  ),
  seed: documented(
    int64().nullish(),
    'The same seed repeats the same draws; choice i takes seed + i. -1 is no seed. Beyond the ends of 64 bits, up to ±9223372036854776000 (the ends as doubles write them), it counts as the end.',
  ),
  n: documented(
    integer(1, mostChoices).nullish(),
    'The number of independent answers; must be 1 with temperature 0. With `use_beam_search`, the width of the search.',
    { initial: 1 },
  ),
  logit_bias: documented(
    jsonObject().transform(biasGiven).nullish(),
    'Token ids, each with what is added to its logit. Values beyond ±100 count as ±100. At most 16384 entries.',
  ),
  allowed_token_ids: documented(
    tokenIds(65_536).min(1).nullish(),
    'Only these tokens can be drawn. For the answer to end by itself, the end token must be among them.',
  ),
  bad_words: documented(
    z.array(plainText(1_024).min(1)).max(1_024).optional(),
    'Texts that never appear in the answer, whatever tokens spell them: with or without a space before them, also inside a longer word (`small` bans `smaller` too), case as given. vLLM bans one or two sequences of tokens for each. At most 65536 characters together.',
    { initial: [] },
  ),
  use_beam_search: documented(
    flag().optional(),
    'Searches for the likeliest answers, `n` wide, instead of drawing; penalties, top_*, seed, stop texts and logit_bias have no effect. Not with a constraint or `repetition_detection`.',
    { initial: false },
  ),
  length_penalty: documented(
    number().optional(),
    'In a beam search, the score of an answer is divided by its length to this power.',
    { initial: 1 },
  ),

  max_tokens: documented(
    integer(1, mostTokens).nullish(),
    'Deprecated by OpenAI; `max_completion_tokens` wins. Without either, as many as the context leaves. More than that is refused.',
  ),
  min_tokens: documented(
    integer(0, mostTokens).optional(),
    'Before this many tokens nothing ends the answer: no end token, stop token, stop text or repetition. More than the answer can have is refused.',
    { initial: 0 },
  ),
  stop: documented(
    z
      .union([stopText, z.array(stopText).max(1_024)], {
        error: 'expected a text of 1 to 4096 characters, or a list of at most 1024 such texts',
      })
      .nullish(),
    'The answer ends before the first of these texts. `stop_reason` says which.',
    { initial: [] },
  ),
  stop_token_ids: documented(
    tokenIds(4_096).nullish(),
    'The answer ends at the first of these tokens. `stop_reason` says which.',
  ),
  ignore_eos: documented(flag().optional(), 'The end token of the model does not end the answer.', {
    initial: false,
  }),
  include_stop_str_in_output: documented(
    flag().optional(),
    'The stop text, or the text of the stop token, stays in the answer.',
    { initial: false },
  ),
  repetition_detection: documented(
    z
      .object({
        max_pattern_size: integer(0, mostTokens).optional(),
        min_pattern_size: integer(0, mostTokens).optional(),
        min_count: integer(0, mostTokens).optional(),
      })
      .nullish(),
    'Ends the answer, with `finish_reason` `repetition`, when its last tokens repeat one pattern of `min_pattern_size` to `max_pattern_size` tokens `min_count` times. A `max_pattern_size` of 0 turns it off; `min_count` is at least 2.',
  ),

  skip_special_tokens: documented(flag().optional(), 'Leaves the text of special tokens out of the answer.', {
    initial: true,
  }),
  spaces_between_special_tokens: documented(
    flag().optional(),
    'Puts spaces between special tokens where their text is shown.',
    { initial: true },
  ),
  truncate_prompt_tokens: documented(
    number(
      z
        .number()
        .min(-1)
        .max(2 ** 63)
        .refine(Number.isInteger, 'expected a whole number')
        .meta({ type: 'integer' }),
    ).nullish(),
    'Keeps this many of the last tokens of the prompt; -1 keeps as many as the context leaves beside the answer. Only the end of a long text is tokenized.',
  ),
  cache_salt: documented(
    plainText(256).min(1).nullish(),
    'A cached prompt is reused only for requests with the same salt, or for all requests without one.',
  ),
  priority: documented(
    integer(-(2 ** 31), 2 ** 31 - 1).optional(),
    'Requests with a lower value go first. Anything but 0 is refused unless HEDDLE_PRIORITY=on.',
    { initial: 0 },
  ),
}
export type SamplingFields = z.output<z.ZodObject<typeof samplingFields>>
