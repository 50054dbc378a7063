import { z } from 'zod'
import { jsonObject, jsonValue, longList, plainText } from '../../domain/fields.ts'
import { constraintFields } from './constraint-fields.ts'
import { mostLogprobs, samplingFields } from './sampling-fields.ts'
import { flag, integer } from './scalars.ts'

/** Pictures, sounds and files are recognised, so that a refusal can name them; their content is never read. */
const media = () => jsonValue().nullish()

const Part = z.looseObject({
  type: z.string().max(64).nullish(),
  text: z.string().nullish(),
  refusal: z.string().nullish(),
  thinking: z.string().nullish(),
  image_url: media(),
  input_image: media(),
  input_audio: media(),
  audio_url: media(),
  video_url: media(),
  file: media(),
})

const ToolCall = z.object({
  id: z.string().max(256).nullish(),
  type: z.string().max(64).nullish(),
  function: z.object({ name: plainText(256).min(1), arguments: z.string().nullish() }),
})

const Message = z.object({
  role: plainText(64).min(1),
  content: z
    .union(
      [z.string(), z.array(z.union([z.string(), Part], { error: 'expected a text or a part' })).max(1_024)],
      {
        error: 'expected a text or a list of at most 1024 parts',
      },
    )
    .nullish(),
  name: z.string().max(256).nullish(),
  tool_calls: z.array(ToolCall).max(128).nullish(),
  tool_call_id: z.string().max(256).nullish(),
  reasoning: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  refusal: z.string().nullish(),
})
export type MessageGiven = z.output<typeof Message>

const Tool = z.object({
  type: z.literal('function').optional(),
  function: z.object({
    name: plainText(256).min(1),
    description: z.string().nullish(),
    parameters: jsonObject().nullish(),
    strict: flag().nullish(),
  }),
})
export type ToolGiven = z.output<typeof Tool>

/** What the tables in docs say of a field. `none`: its type is checked, and that is all. */
type Effect = 'honoured' | 'partly' | 'none' | 'refused'

const said = <Schema extends z.ZodType>(
  schema: Schema,
  description: string,
  { initial, effect = 'honoured' }: { initial?: unknown; effect?: Effect } = {},
) =>
  schema.meta({
    description,
    ...(initial !== undefined && { 'x-default': initial }),
    ...(effect !== 'honoured' && { 'x-effect': effect }),
  })

const none = { effect: 'none' } as const

export const ChatBody = z.object({
  messages: said(
    longList(Message),
    'The conversation, at least one message and at most 10000. Any role; `developer` becomes `system` where the template does not know it. Content is a text or a list of text parts; pictures, sounds and files are refused by their type. Arguments of `tool_calls` are the text of a JSON object.',
  ),
  model: said(
    z.string().max(256).nullish(),
    'A served name; the first one answers when it is null or empty.',
  ),

  add_generation_prompt: said(
    flag().optional(),
    'The template opens the turn of the assistant. When false, the answer has the role of the last message.',
    { initial: true },
  ),
  continue_final_message: said(
    flag().optional(),
    'The last message stays open and the answer goes on with it. Needs `"add_generation_prompt": false`.',
    { initial: false },
  ),
  echo: said(
    flag().optional(),
    'The answer begins with the last message when both have the same role. Without a stream `prompt_logprobs` comes with it, as in vLLM.',
    { initial: false },
  ),
  add_special_tokens: said(
    flag().optional(),
    'The tokens that the model wants around a text are added to what the template wrote.',
    { initial: false },
  ),
  chat_template: said(
    z.string().max(131_072).nullish(),
    'A Jinja template instead of the model’s own, with one second and a bounded size for its texts and lists. HEDDLE_REQUEST_TEMPLATES=off refuses it.',
  ),
  chat_template_kwargs: said(
    jsonObject().nullish(),
    'Variables for the template. Fields of the request win over those of the same name, unless they are null. `chat_template` and `tokenize` are refused here.',
  ),
  documents: said(
    z.array(jsonObject()).max(1_024).nullish(),
    'Objects of texts, for templates that show documents.',
  ),
  reasoning_effort: said(
    z.enum(['low', 'medium', 'high']).nullish(),
    'A variable for templates that know it.',
  ),
  include_reasoning: said(
    flag().optional(),
    'Reasoning is not told apart from the answer in this version, so there is none to leave out.',
    { initial: true, effect: 'none' },
  ),

  max_completion_tokens: said(
    samplingFields.max_tokens,
    'The most tokens of an answer; as many as the context leaves when absent. More than that is refused, never cut.',
  ),
  ...samplingFields,

  logprobs: said(flag().nullish(), 'Gives each token its log-probability, before any sampling setting.', {
    initial: false,
  }),
  top_logprobs: said(
    integer(0, mostLogprobs).nullish(),
    'Gives so many of the likeliest tokens beside each, likeliest first. Needs `logprobs`. Without a stream, `n` times `max_tokens` times one more than this is at most 1000000.',
    { initial: 0 },
  ),
  prompt_logprobs: said(
    integer(0, mostLogprobs).nullish(),
    'The same for the tokens of the prompt. Not in a stream; the prompt is then read anew.',
  ),
  return_token_ids: said(
    flag().nullish(),
    'Gives the ids of the prompt (in a stream in the first chunk) and of the answer.',
  ),
  return_tokens_as_token_ids: said(flag().nullish(), 'Log-probabilities name tokens as `token_id:<id>`.'),

  stream: said(flag().nullish(), 'The answer comes as server-sent events.', { initial: false }),
  stream_options: said(
    z.object({ include_usage: flag().nullish(), continuous_usage_stats: flag().nullish() }).nullish(),
    '`include_usage` adds a last chunk with the usage and no choices; with `continuous_usage_stats` each chunk has the usage so far. Both are false unless given. Needs `stream`.',
  ),
  request_id: said(
    plainText(256).min(1).optional(),
    'The answer’s `id` is `chatcmpl-` and this. The header X-Request-Id wins. Random when neither is there.',
  ),

  tools: said(
    z.array(Tool).max(512).nullish(),
    'Shown to the model by templates that show tools. What it says about them comes as text.',
    { effect: 'partly' },
  ),
  tool_choice: said(
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
  parallel_tool_calls: said(flag().nullish(), 'There are no tool calls in this version.', {
    initial: true,
    effect: 'none',
  }),
  ...constraintFields,

  user: said(z.string().max(1_024).nullish(), 'The caller is known by its key.', none),
  store: said(flag().nullish(), 'Nothing of a conversation is kept.', none),
  metadata: said(jsonObject().nullish(), 'For stored completions of OpenAI.', none),
  service_tier: said(z.string().max(64).nullish(), 'There is one.', none),
  kv_transfer_params: said(jsonObject().nullish(), 'For servers that read prompts elsewhere.', none),
  mm_processor_kwargs: said(jsonObject().nullish(), 'For models that take pictures.', none),
  engine_xargs: said(
    jsonObject().nullish(),
    'Texts, numbers and lists of these, for extensions; there are none.',
    none,
  ),
  vllm_xargs: said(jsonObject().nullish(), 'Another name of `engine_xargs`.', none),
})
export type ChatBody = z.output<typeof ChatBody>

const Candidate = z.object({ token: z.string(), bytes: z.array(z.int()), logprob: z.number() })

const Logprobs = z.object({ content: z.array(Candidate.extend({ top_logprobs: z.array(Candidate) })) })

export const Usage = z.object({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
  prompt_tokens_details: z.object({ cached_tokens: z.int() }).optional(),
})

const common = {
  id: z.string(),
  created: z.int(),
  model: z.string(),
  system_fingerprint: z.string(),
}

const ended = {
  finish_reason: z.enum(['stop', 'length', 'repetition']),
  stop_reason: z.union([z.string(), z.int(), z.null()]),
}

export const ChatAnswer = z.object({
  ...common,
  object: z.literal('chat.completion'),
  choices: z.array(
    z.object({
      index: z.int(),
      message: z.object({ role: z.string(), content: z.string(), refusal: z.null() }),
      logprobs: Logprobs.nullable(),
      ...ended,
      token_ids: z.array(z.int()).optional(),
    }),
  ),
  usage: Usage,
  prompt_token_ids: z.array(z.int()).optional(),
  prompt_logprobs: z
    .array(
      z
        .record(z.string(), z.object({ logprob: z.number(), rank: z.int(), decoded_token: z.string() }))
        .nullable(),
    )
    .optional(),
})

export const ChatChunk = z.object({
  ...common,
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
