import { z } from 'zod'
import { jsonObject, jsonValue, longList, plainText } from '../../domain/fields.ts'
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

const JsonSchemaFormat = z.object({
  name: z.string().max(256),
  description: z.string().nullish(),
  schema: jsonValue().nullish(),
  strict: flag().nullish(),
})

const constraint = z.string().nullish()

export const ChatBody = z.object({
  messages: longList(Message).meta({ description: 'At least one.' }),
  model: z.string().max(256).nullish(),

  add_generation_prompt: flag().optional(),
  continue_final_message: flag().optional(),
  echo: flag().optional(),
  add_special_tokens: flag().optional(),
  chat_template: z.string().max(131_072).nullish(),
  chat_template_kwargs: jsonObject().nullish(),
  documents: z.array(jsonObject()).max(1_024).nullish(),
  reasoning_effort: z.enum(['low', 'medium', 'high']).nullish(),
  include_reasoning: flag().optional(),

  max_completion_tokens: samplingFields.max_tokens,
  ...samplingFields,

  logprobs: flag().nullish(),
  top_logprobs: integer(0, mostLogprobs).nullish(),
  prompt_logprobs: integer(0, mostLogprobs).nullish(),
  return_token_ids: flag().nullish(),
  return_tokens_as_token_ids: flag().nullish(),

  stream: flag().nullish(),
  stream_options: z
    .object({ include_usage: flag().nullish(), continuous_usage_stats: flag().nullish() })
    .nullish(),
  request_id: plainText(256).min(1).optional(),

  tools: z.array(Tool).max(512).nullish(),
  tool_choice: z
    .union(
      [
        z.string().max(64),
        z.object({ type: z.literal('function'), function: z.object({ name: z.string().max(256) }) }),
      ],
      { error: 'expected a text or the object of a function' },
    )
    .nullish(),
  parallel_tool_calls: flag().nullish(),
  response_format: z
    .object({
      type: z.enum(['text', 'json_object', 'json_schema', 'structural_tag']),
      json_schema: JsonSchemaFormat.nullish(),
    })
    .nullish(),
  structured_outputs: z
    .object({
      json: z
        .union([z.string(), z.looseObject({})], { error: 'expected a JSON Schema or its text' })
        .nullish(),
      regex: constraint,
      choice: z.array(z.string()).max(4_096).nullish(),
      grammar: constraint,
      json_object: flag().nullish(),
      structural_tag: constraint,
      disable_fallback: flag().optional(),
      disable_any_whitespace: flag().optional(),
      disable_additional_properties: flag().optional(),
      whitespace_pattern: constraint,
      _backend: constraint,
      _backend_was_auto: flag().optional(),
    })
    .nullish(),

  user: z.string().max(1_024).nullish(),
  store: flag().nullish(),
  metadata: jsonObject().nullish(),
  service_tier: z.string().max(64).nullish(),
  kv_transfer_params: jsonObject().nullish(),
  mm_processor_kwargs: jsonObject().nullish(),
  engine_xargs: jsonObject().nullish(),
  vllm_xargs: jsonObject().nullish(),
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
export type ChatAnswer = z.output<typeof ChatAnswer>

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
export type ChoiceLogprobs = z.output<typeof Logprobs>
