import { z } from 'zod'
import { explainedObject, jsonObject, plainText } from '../../domain/fields.ts'
import { constraintFields } from '../generation/constraint-fields.ts'
import { conversationFields, ToolFunction } from '../generation/conversation-fields.ts'
import { refusedChatFields } from '../generation/refused-fields.ts'
import { logprobTokenIds, mostLogprobs, samplingFields } from '../generation/sampling-fields.ts'
import { documented, flag, integer, optIn, streamOptions } from '../generation/scalars.ts'

const none = { effect: 'none' } as const

const NamedTool = explainedObject({
  type: [z.literal('function'), 'Tools are functions.'],
  function: [
    z.object({ name: z.string().max(256).meta({ description: 'The name of a tool.' }) }),
    'The tool.',
  ],
})

const AllowedTools = explainedObject({
  type: [z.literal('allowed_tools'), 'Allows some of the tools.'],
  allowed_tools: [
    explainedObject({
      mode: [z.enum(['auto', 'required']), 'Whether the answer may or must call one of them.'],
      tools: [z.array(NamedTool).max(512), 'The tools that it may call.'],
    }),
    'Which.',
  ],
})

const PredictedPart = explainedObject({
  type: [z.literal('text'), 'Parts are texts.'],
  text: [z.string(), 'A part of the expected content.'],
})

const Prediction = explainedObject({
  type: [z.literal('content'), 'What is predicted.'],
  content: [
    z.union([z.string(), z.array(PredictedPart).max(1_024)], {
      error: 'expected a string or a list of at most 1024 text parts',
    }),
    'The expected content: a text, or text parts.',
  ],
})

const NamedFunction = z.object({ name: z.string().max(256).meta({ description: 'The function to call.' }) })

export const ChatBody = z.object({
  ...conversationFields,

  echo: documented(
    flag().optional(),
    'Prepends the last message to the answer if both have the same role. Without a stream, adds `prompt_logprobs`, as in vLLM.',
    { initial: false },
  ),
  add_special_tokens: documented(
    flag().optional(),
    'Adds the model’s beginning-of-text and similar tokens to the rendered template.',
    { initial: false },
  ),
  include_reasoning: documented(
    flag().optional(),
    'If false, thoughts are left out, with their tokens and log-probabilities. They still count as usage.',
    { initial: true },
  ),

  thinking_token_budget: documented(
    integer(0).nullish(),
    'The most tokens of a thought, which then ends. Needs a template with thoughts.',
  ),

  max_completion_tokens: documented(
    samplingFields.max_tokens,
    'The most tokens of an answer; as many as the context leaves if absent. More is refused.',
  ),
  ...samplingFields,

  prediction: documented(
    Prediction.nullish(),
    'The expected content of the answer, such as the text that it edits: `{"type": "content", "content": …}`, a string or text parts. Tokens are guessed from it (docs/speculation.md), which does not change the answer. Not allowed with `use_beam_search`.',
  ),

  logprobs: documented(optIn(), 'Returns the log-probability of each token, before any sampling setting.'),
  top_logprobs: documented(
    integer(0, mostLogprobs).nullish(),
    'The number of most likely tokens at each position, most likely first. Needs `logprobs`. Without a stream, `n` × `max_tokens` × (`top_logprobs` + 1) is at most 1000000.',
    { initial: 0 },
  ),
  logprob_token_ids: logprobTokenIds,
  prompt_logprobs: documented(
    integer(0, mostLogprobs).nullish(),
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
    '`include_usage` adds a last chunk with the usage and no choices; `continuous_usage_stats` adds the usage so far to each chunk. Both default to false. Needs `stream`.',
  ),
  request_id: documented(
    plainText(256).min(1).optional(),
    'The `id` of the answer is `chatcmpl-` and this value, else the header X-Request-Id of the request, else a random one. The header of the answer repeats that of the request, never this field.',
  ),

  tool_choice: documented(
    z
      .union([z.enum(['none', 'auto', 'required']), NamedTool, AllowedTools], {
        error: 'expected "none", "auto", "required", a function by name, or allowed_tools',
      })
      .nullish(),
    'Whether the answer may call tools (`auto`, the default with tools), must (`required`, a function by name, or `allowed_tools`), or must not (`none`). HEDDLE_TOOL_CHOICE=none refuses all but `none`.',
    { initial: 'none' },
  ),
  parallel_tool_calls: documented(flag().nullish(), 'If false, the answer ends after its first call.', {
    initial: true,
  }),
  functions: documented(
    z.array(ToolFunction).max(512).nullish(),
    'The older form of `tools`: the answer has one `function_call`.',
  ),
  function_call: documented(
    z
      .union([z.enum(['none', 'auto']), NamedFunction], {
        error: 'expected "none", "auto", or the name of a function in an object',
      })
      .nullish(),
    'The older form of `tool_choice`.',
  ),
  ...constraintFields,

  ...refusedChatFields,

  user: documented(z.string().max(1_024).nullish(), 'The caller is identified by its key.', none),
  store: documented(
    flag().nullish(),
    'Whether the answer becomes a call: `false` turns that off; `true` requests it under HEDDLE_RECORD=asked, and is a 400 where nothing is recorded.',
  ),
  metadata: documented(
    jsonObject().nullish(),
    'Up to 16 strings of up to 512 characters, under names of up to 64. Stored in `attributes.heddle.metadata` of the call.',
  ),
  service_tier: documented(z.string().max(64).nullish(), 'There is only one tier.', none),
  kv_transfer_params: documented(jsonObject().nullish(), 'For servers that compute prompts elsewhere.', none),
  mm_processor_kwargs: documented(jsonObject().nullish(), 'For models that accept images.', none),
  engine_xargs: documented(
    jsonObject().nullish(),
    'Strings, numbers and lists of these, for extensions; there are none.',
    none,
  ),
  vllm_xargs: documented(jsonObject().nullish(), 'Another name of `engine_xargs`.', none),
})
export type ChatBody = z.output<typeof ChatBody>
