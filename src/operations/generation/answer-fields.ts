import { jsonObject, plainText } from '../../domain/fields.ts'
import { maxLogprobs, tokenIds } from './sampling-fields.ts'
import { documented, flag, integer, optIn, streamOptions } from './scalars.ts'

/** vLLM's limit. */
const maxNamedTokens = 128

/** The fields that say what an answer shows, how it is sent and what is kept of it. Chat and text completions share them. */
export const answerFields = {
  logprob_token_ids: documented(
    tokenIds(maxNamedTokens).min(1).nullish(),
    'Returns these tokens and the drawn one in `top_logprobs`, in place of the most likely ones. Needs `logprobs`.',
  ),
  prompt_logprobs: documented(
    integer(0, maxLogprobs).nullish(),
    'The same for the prompt, which is then not taken from the cache. Not in a stream.',
  ),
  return_token_ids: documented(
    optIn(),
    'Returns the token ids of the prompt (in the first chunk of a stream) and of the answer.',
  ),
  return_tokens_as_token_ids: documented(optIn(), 'Writes tokens in log-probabilities as `token_id:<id>`.'),

  stream: documented(optIn(), 'Sends the answer as server-sent events.'),
  stream_options: documented(
    streamOptions(),
    '`include_usage` adds a last chunk with the usage and no choices; `continuous_usage_stats` adds the usage so far to each chunk. Needs `stream`.',
  ),
  request_id: documented(
    plainText(256).min(1).optional(),
    'The `id` of the answer ends in this value, else in the header X-Request-Id, else in a random one.',
  ),

  store: documented(
    flag().nullish(),
    'Whether the answer becomes a call: `true` requests it under HEDDLE_RECORD=asked, and is a 400 where nothing is recorded.',
  ),
  metadata: documented(
    jsonObject().nullish(),
    'Up to 16 strings of up to 512 characters, under names of up to 64. Stored in `attributes.heddle.metadata` of the call.',
  ),
}
