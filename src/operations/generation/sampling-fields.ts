import { z } from 'zod'
import { explained, int64, jsonObject, plainText } from '../../domain/fields.ts'
import { biasGiven } from './given-values.ts'
import { documented, integer, number, switchField } from './scalars.ts'

/** The fields that say how tokens are drawn and where an answer ends. Chat and text completions share them. */

/** More tokens than any vocabulary or answer has. */
export const maxTokenCount = 2 ** 31 - 1

/** How many answers one request may ask for; each takes a sequence of the model. */
export const maxChoices = 128

/** Most candidates for each token whose log-probabilities may be asked for. */
export const maxLogprobs = 20

export const tokenIds = (most: number) => z.array(integer(0, maxTokenCount)).max(most)

const stopText = z.string().min(1).max(4_096)

export const samplingFields = {
  frequency_penalty: documented(
    number(z.number().min(-2).max(2)).nullish(),
    'Subtracted from the logit of a token for each of its occurrences in the answer so far.',
    { initial: 0 },
  ),
  presence_penalty: documented(
    number(z.number().min(-2).max(2)).nullish(),
    'Subtracted once from the logit of each token that occurs in the answer so far.',
    { initial: 0 },
  ),
  repetition_penalty: documented(
    number(z.number().gt(0)).nullish(),
    'Divides positive logits, and multiplies negative ones, of tokens in the prompt or the answer so far.',
    { initial: 1 },
  ),
  temperature: documented(
    number(z.number().min(0)).nullish(),
    '0 always takes the most likely token. Values between 0 and 0.01 count as 0.01.',
    { initial: 1 },
  ),
  top_p: documented(
    number(z.number().gt(0).max(1)).nullish(),
    'Draws from the fewest likely tokens whose probabilities add up to this value.',
    { initial: 1 },
  ),
  top_k: documented(
    integer(-1, maxTokenCount).nullish(),
    'Draws from this many of the most likely tokens; 0 and -1 mean all.',
    { initial: 0 },
  ),
  min_p: documented(
    number(z.number().min(0).max(1)).nullish(),
    'Draws from tokens with at least this fraction of the probability of the most likely token.',
    { initial: 0 },
  ),
  seed: documented(
    int64().nullish(),
    'The same seed repeats the same draws; choice i uses seed + i. -1 means no seed.',
  ),
  n: documented(
    integer(1, maxChoices).nullish(),
    'The number of independent answers; must be 1 with temperature 0. With `use_beam_search`, the width of the search.',
    { initial: 1 },
  ),
  logit_bias: documented(
    jsonObject().transform(biasGiven).nullish(),
    'Maps token ids to values that are added to their logits. Values beyond ±100 count as ±100. At most 16384 entries.',
  ),
  allowed_token_ids: documented(
    tokenIds(65_536).min(1).nullish(),
    'Only these tokens can be drawn. The answer can end by itself only if the end token is among them.',
  ),
  bad_words: documented(
    z.array(plainText(1_024).min(1)).max(1_024).optional(),
    'Texts that never appear in the answer, also inside a longer word (`small` bans `smaller`), case-sensitive. At most 65536 characters in all.',
    { initial: [] },
  ),
  use_beam_search: switchField(
    false,
    'Searches for the most likely answers with `n` beams, at most HEDDLE_PARALLEL. Penalties, top_*, seed, stop texts and logit_bias have no effect. Not allowed with a constraint or `repetition_detection`.',
  ),
  length_penalty: documented(
    number().optional(),
    'In a beam search, the sum of log-probabilities is divided by this power of the length of prompt and answer in tokens.',
    { initial: 1 },
  ),

  max_tokens: documented(
    integer(1, maxTokenCount).nullish(),
    'The older name of `max_completion_tokens`, which takes precedence.',
  ),
  min_tokens: documented(
    integer(0, maxTokenCount).optional(),
    'Nothing ends the answer before this many tokens. More than its maximum is refused.',
    { initial: 0 },
  ),
  stop: documented(
    z
      .union([stopText, z.array(stopText).max(1_024)], {
        error: 'expected a string of 1 to 4096 characters, or a list of at most 1024 such strings',
      })
      .nullish(),
    'The answer ends before the first of these texts. `stop_reason` names it.',
    { initial: [] },
  ),
  stop_token_ids: documented(
    tokenIds(4_096).nullish(),
    'The answer ends at the first of these tokens. `stop_reason` names it.',
  ),
  ignore_eos: switchField(false, 'If true, the end token of the model does not end the answer.'),
  include_stop_str_in_output: switchField(
    false,
    'Keeps the stop text, or the text of the stop token, in the answer.',
  ),
  repetition_detection: documented(
    z
      .object(
        explained({
          max_pattern_size: [
            integer(0, maxTokenCount).optional(),
            'The most tokens of the pattern; 0 turns the detection off.',
          ],
          min_pattern_size: [
            integer(0, maxTokenCount).optional(),
            'The fewest tokens of the pattern; 0 counts as 1.',
          ],
          min_count: [
            integer(0, maxTokenCount).optional(),
            'How often the pattern repeats in a row, at least 2.',
          ],
        }),
      )
      .nullish(),
    'Ends the answer when its last tokens are `min_count` (from 2) times a pattern of `min_pattern_size` to `max_pattern_size` (0: off) tokens.',
  ),

  skip_special_tokens: switchField(true, 'Removes the text of special tokens from the answer.'),
  spaces_between_special_tokens: switchField(
    true,
    'Adds spaces between special tokens when their text is shown.',
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
    'Keeps only so many tokens of the prompt; -1: as many as fit with the answer.',
  ),
  truncation_side: documented(
    z.enum(['left', 'right']).nullish(),
    'The end of the prompt that is cut off: `left` keeps its last tokens, `right` its first.',
    { initial: 'left' },
  ),
  cache_salt: documented(
    plainText(1_024).min(1).nullish(),
    'Among users who share cached prompts (HEDDLE_PROMPT_SHARING), only requests with the same salt, or all without one, share.',
  ),
  session_id: documented(
    plainText(512).min(1).nullish(),
    'The thread of the call, unless the header `x-heddle-thread` names one.',
  ),
  stream_interval: documented(
    integer(1, maxTokenCount).nullish(),
    'The fewest tokens of a chunk, but for the first and the last of a choice.',
    { initial: 1 },
  ),
  priority: documented(
    integer(-(2 ** 31), 2 ** 31 - 1).optional(),
    'A lower value runs first. Only 0 unless HEDDLE_PRIORITY=on.',
    { initial: 0 },
  ),
}
export type SamplingFields = z.output<z.ZodObject<typeof samplingFields>>
