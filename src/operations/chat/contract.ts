import { z } from 'zod'
import { answer, jsonObject, plainText } from '../../domain/fields.ts'
import { answerHead, ended, PromptLogprobs, Usage } from '../generation/answer-contract.ts'
import { constraintFields } from '../generation/constraint-fields.ts'
import { conversationFields } from '../generation/conversation-fields.ts'
import { mostLogprobs, samplingFields } from '../generation/sampling-fields.ts'
import { documented, flag, integer, optIn } from '../generation/scalars.ts'

const none = { effect: 'none' } as const

export const ChatBody = z.object({
  ...conversationFields,

  echo: documented(
    flag().optional(),
    'The answer begins with the last message when both have the same role. Without a stream `prompt_logprobs` comes with it, as in vLLM.',
    { initial: false },
  ),
  add_special_tokens: documented(
    flag().optional(),
    'The tokens that the model wants around a text are added to what the template wrote.',
    { initial: false },
  ),
  include_reasoning: documented(
    flag().optional(),
    'Reasoning is not told apart from the answer in this version, so there is none to leave out.',
    { initial: true, effect: 'none' },
  ),

  max_completion_tokens: documented(
    samplingFields.max_tokens,
    'The most tokens of an answer; as many as the context leaves when absent. More than that is refused, never cut.',
  ),
  ...samplingFields,

  logprobs: documented(optIn(), 'Gives each token its log-probability, before any sampling setting.'),
  top_logprobs: documented(
    integer(0, mostLogprobs).nullish(),
    'Gives so many of the likeliest tokens beside each, likeliest first. Needs `logprobs`. Without a stream, `n` times `max_tokens` times one more than this is at most 1000000.',
    { initial: 0 },
  ),
  prompt_logprobs: documented(
    integer(0, mostLogprobs).nullish(),
    'The same for the tokens of the prompt. Not in a stream; the prompt is then read anew.',
  ),
  return_token_ids: documented(
    optIn(),
    'Gives the ids of the prompt (in a stream in the first chunk) and of the answer.',
  ),
  return_tokens_as_token_ids: documented(optIn(), 'Log-probabilities name tokens as `token_id:<id>`.'),

  stream: documented(optIn(), 'The answer comes as server-sent events.'),
  stream_options: documented(
    z.object({ include_usage: optIn(), continuous_usage_stats: optIn() }).nullish(),
    '`include_usage` adds a last chunk with the usage and no choices; with `continuous_usage_stats` each chunk has the usage so far. Both are false unless given. Needs `stream`.',
  ),
  request_id: documented(
    plainText(256).min(1).optional(),
    'The answer’s `id` is `chatcmpl-` and this. The header X-Request-Id wins. Random when neither is there.',
  ),

  tool_choice: documented(
    z
      .union(
        [
          z.string().max(64),
          z.object({ type: z.literal('function'), function: z.object({ name: z.string().max(256) }) }),
        ],
        { error: 'expected "none"' },
      )
      .nullish(),
    '`none`; anything else is refused, because tool calls are not available in this version.',
    { initial: 'none', effect: 'partly' },
  ),
  parallel_tool_calls: documented(flag().nullish(), 'There are no tool calls in this version.', {
    initial: true,
    effect: 'none',
  }),
  ...constraintFields,

  user: documented(z.string().max(1_024).nullish(), 'The caller is known by its key.', none),
  store: documented(optIn(), 'Nothing of a conversation is kept.', none),
  metadata: documented(jsonObject().nullish(), 'For stored completions of OpenAI.', none),
  service_tier: documented(z.string().max(64).nullish(), 'There is one.', none),
  kv_transfer_params: documented(jsonObject().nullish(), 'For servers that read prompts elsewhere.', none),
  mm_processor_kwargs: documented(jsonObject().nullish(), 'For models that take pictures.', none),
  engine_xargs: documented(
    jsonObject().nullish(),
    'Texts, numbers and lists of these, for extensions; there are none.',
    none,
  ),
  vllm_xargs: documented(jsonObject().nullish(), 'Another name of `engine_xargs`.', none),
})
export type ChatBody = z.output<typeof ChatBody>

const Candidate = z.object({ token: z.string(), bytes: z.array(z.int()), logprob: z.number() })

const FunctionCall = z.object({ name: z.string(), arguments: z.string() })

const Logprobs = z.object({ content: z.array(Candidate.extend({ top_logprobs: z.array(Candidate) })) })

/** What the spec has, and what this version never fills in yet. */
const optionalMembers = {
  reasoning: z.string().optional(),
  tool_calls: z
    .array(z.object({ id: z.string(), type: z.literal('function'), function: FunctionCall }))
    .optional(),
  function_call: FunctionCall.optional(),
  annotations: z
    .object({
      type: z.string(),
      url_citation: z.object({
        start_index: z.int(),
        end_index: z.int(),
        title: z.string(),
        url: z.string(),
      }),
    })
    .optional(),
  audio: z
    .object({ id: z.string(), data: z.string(), expires_at: z.int(), transcript: z.string() })
    .optional(),
}

export const ChatAnswer = answer('The conversation goes on with this message.', {
  ...answerHead,
  object: z.literal('chat.completion'),
  choices: z.array(
    z.object({
      index: z.int(),
      message: z.object({
        role: z.string(),
        content: z.string(),
        refusal: z.string().nullable(),
        ...optionalMembers,
      }),
      logprobs: Logprobs.nullable(),
      ...ended,
      token_ids: z.array(z.int()).optional(),
    }),
  ),
  usage: Usage,
  prompt_token_ids: z.array(z.int()).optional(),
  prompt_logprobs: PromptLogprobs.optional(),
  service_tier: z.enum(['auto', 'default', 'flex', 'scale', 'priority']).nullish(),
  kv_transfer_params: z.record(z.string(), z.unknown()).optional(),
})

export const ChatChunk = z.object({
  ...answerHead,
  object: z.literal('chat.completion.chunk'),
  choices: z.array(
    z.object({
      index: z.int(),
      delta: z.object({ role: z.string().optional(), content: z.string().optional() }),
      logprobs: Logprobs.nullable(),
      finish_reason: ended.finish_reason.nullable(),
      stop_reason: ended.stop_reason.optional(),
      token_ids: z.array(z.int()).optional(),
    }),
  ),
  usage: Usage.optional(),
  prompt_token_ids: z.array(z.int()).optional(),
})
export type ChatChunk = z.output<typeof ChatChunk>
