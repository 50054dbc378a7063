import { z } from 'zod'
import { answer, jsonObject, plainText } from '../../domain/fields.ts'
import { answerHead, ended, PromptLogprobs, Usage } from '../generation/answer-contract.ts'
import { constraintFields } from '../generation/constraint-fields.ts'
import { conversationFields, ToolFunction } from '../generation/conversation-fields.ts'
import { refusedChatFields } from '../generation/refused-fields.ts'
import { logprobTokenIds, mostLogprobs, samplingFields } from '../generation/sampling-fields.ts'
import { documented, flag, integer, optIn } from '../generation/scalars.ts'

const none = { effect: 'none' } as const

const NamedTool = z.object({
  type: z.literal('function'),
  function: z.object({ name: z.string().max(256) }),
})

const AllowedTools = z.object({
  type: z.literal('allowed_tools'),
  allowed_tools: z.object({ mode: z.enum(['auto', 'required']), tools: z.array(NamedTool).max(512) }),
})

export const ChatBody = z.object({
  ...conversationFields,

  echo: documented(
    flag().optional(),
    'Prepends the last message to the answer if both have the same role. Without a stream, `prompt_logprobs` is added to the answer, as in vLLM.',
    { initial: false },
  ),
  add_special_tokens: documented(
    flag().optional(),
    'Adds the model’s beginning-of-text and similar tokens to the rendered template.',
    { initial: false },
  ),
  include_reasoning: documented(
    flag().optional(),
    'If false, thoughts of the model are left out of the answer, with their tokens and log-probabilities. They still count as usage.',
    { initial: true },
  ),

  thinking_token_budget: documented(
    integer(0).nullish(),
    'The maximum number of tokens of a thought, which is ended when they are used up. Needs a template with thoughts.',
  ),

  max_completion_tokens: documented(
    samplingFields.max_tokens,
    'The maximum number of tokens of an answer. If absent, as many as the context leaves. More than that is refused.',
  ),
  ...samplingFields,

  prediction: documented(
    z
      .object({
        type: z.literal('content'),
        content: z.union(
          [z.string(), z.array(z.object({ type: z.literal('text'), text: z.string() })).max(1_024)],
          { error: 'expected a string or a list of at most 1024 text parts' },
        ),
      })
      .nullish(),
    'The expected content of the answer, for instance the text that it edits: `{"type": "content", "content": …}`, a string or a list of text parts. Tokens are guessed from it (docs/speculation.md), which does not change the answer. `usage` reports how many of its tokens were right. Not allowed with `use_beam_search`.',
  ),

  logprobs: documented(
    optIn(),
    'Returns the log-probability of each token, before any sampling setting is applied.',
  ),
  top_logprobs: documented(
    integer(0, mostLogprobs).nullish(),
    'Returns this many of the most likely tokens at each position, most likely first. Needs `logprobs`. Without a stream, `n` × `max_tokens` × (`top_logprobs` + 1) is at most 1000000.',
    { initial: 0 },
  ),
  logprob_token_ids: logprobTokenIds,
  prompt_logprobs: documented(
    integer(0, mostLogprobs).nullish(),
    'The same for the tokens of the prompt. Not available in a stream. The prompt is then not taken from the cache.',
  ),
  return_token_ids: documented(
    optIn(),
    'Returns the token ids of the prompt (in the first chunk of a stream) and of the answer.',
  ),
  return_tokens_as_token_ids: documented(optIn(), 'Writes tokens in log-probabilities as `token_id:<id>`.'),

  stream: documented(optIn(), 'Sends the answer as server-sent events.'),
  stream_options: documented(
    z.object({ include_usage: optIn(), continuous_usage_stats: optIn() }).nullish(),
    '`include_usage` adds a last chunk with the usage and no choices; `continuous_usage_stats` adds the usage so far to each chunk. Neither needs the other, both default to false. Needs `stream`.',
  ),
  request_id: documented(
    plainText(256).min(1).optional(),
    'The `id` of the answer is `chatcmpl-` followed by this value; else by the request’s header X-Request-Id, else by a random one. The header `x-request-id` of the answer repeats that of the request and never this field.',
  ),

  tool_choice: documented(
    z
      .union([z.enum(['none', 'auto', 'required']), NamedTool, AllowedTools], {
        error: 'expected "none", "auto", "required", a function by name, or allowed_tools',
      })
      .nullish(),
    'Whether the answer may call tools (`auto`), must (`required`, a function by name, or `allowed_tools`), or must not (`none`). Default: `auto` if there are tools. HEDDLE_TOOL_CHOICE=none refuses all but `none`.',
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
      .union([z.enum(['none', 'auto']), z.object({ name: z.string().max(256) })], {
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
    'Whether the answer is recorded as a call. `false` turns it off; `true` requests it under HEDDLE_RECORD=asked, and is a 400 where nothing is recorded.',
  ),
  metadata: documented(
    jsonObject().nullish(),
    'Up to 16 entries: names of up to 64 characters, with strings of up to 512. Stored with the recorded answer, in `attributes.heddle.metadata` of its call.',
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

const Candidate = z.object({ token: z.string(), bytes: z.array(z.int()), logprob: z.number() })

const FunctionCall = z.object({ name: z.string(), arguments: z.string() })

const ChatFinish = z.enum([...ended.finish_reason.options, 'tool_calls', 'function_call'])
export type ChatFinish = z.output<typeof ChatFinish>

/** The first delta of a call has its id and name; later ones add to its arguments. */
const CallDelta = z.object({
  index: z.int(),
  id: z.string().optional(),
  type: z.literal('function').optional(),
  function: FunctionCall.partial(),
})

const Logprobs = z.object({ content: z.array(Candidate.extend({ top_logprobs: z.array(Candidate) })) })

const turnMembers = {
  reasoning: z.string().optional(),
  /** The older name, which some clients read. */
  reasoning_content: z.string().optional(),
  tool_calls: z
    .array(z.object({ id: z.string(), type: z.literal('function'), function: FunctionCall }))
    .optional(),
  function_call: FunctionCall.optional(),
}

/** Members of the specification that this version never fills in. */
const optionalMembers = {
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

export const ChatAnswer = answer('The next message of the conversation.', {
  ...answerHead,
  object: z.literal('chat.completion'),
  choices: z.array(
    z.object({
      index: z.int(),
      message: z.object({
        role: z.string(),
        content: z.string().nullable(),
        refusal: z.string().nullable(),
        ...turnMembers,
        ...optionalMembers,
      }),
      logprobs: Logprobs.nullable(),
      ...ended,
      finish_reason: ChatFinish,
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
      delta: z.object({
        role: z.string().optional(),
        content: z.string().optional(),
        reasoning: z.string().optional(),
        reasoning_content: z.string().optional(),
        tool_calls: z.array(CallDelta).optional(),
        function_call: FunctionCall.partial().optional(),
      }),
      logprobs: Logprobs.nullable(),
      finish_reason: ChatFinish.nullable(),
      stop_reason: ended.stop_reason.optional(),
      token_ids: z.array(z.int()).optional(),
    }),
  ),
  usage: Usage.optional(),
  prompt_token_ids: z.array(z.int()).optional(),
})
export type ChatChunk = z.output<typeof ChatChunk>
