import { z } from 'zod'
import { answer, plainText } from '../../domain/fields.ts'
import { listAnswer } from '../paging-contract.ts'

const status = z.enum(['in_progress', 'completed', 'incomplete'])

const Logprob = z.object({ token: z.string(), bytes: z.array(z.int()), logprob: z.number() })

const inputParts = [
  z.object({ type: z.literal('input_text'), text: z.string() }),
  z.object({ type: z.literal('input_image'), image_url: z.string(), detail: z.string() }),
] as const

const Message = z.object({
  id: z.string(),
  type: z.literal('message'),
  role: z.string(),
  status,
  content: z.array(
    z.discriminatedUnion('type', [
      ...inputParts,
      z.object({
        type: z.literal('output_text'),
        text: z.string(),
        annotations: z.array(z.never()),
        logprobs: z.array(Logprob.extend({ top_logprobs: z.array(Logprob) })).optional(),
      }),
      z.object({ type: z.literal('refusal'), refusal: z.string() }),
    ]),
  ),
})

const Reasoning = z.object({
  id: z.string(),
  type: z.literal('reasoning'),
  summary: z.array(z.object({ type: z.literal('summary_text'), text: z.string() })),
  content: z.array(z.object({ type: z.literal('reasoning_text'), text: z.string() })).optional(),
  encrypted_content: z.string().optional(),
  status,
})

const FunctionCall = z.object({
  id: z.string(),
  type: z.literal('function_call'),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
  status,
})

const FunctionCallOutput = z.object({
  id: z.string(),
  type: z.literal('function_call_output'),
  call_id: z.string(),
  output: z.union([z.string(), z.array(z.discriminatedUnion('type', inputParts))]),
  status,
})

const Usage = z.object({
  input_tokens: z.int(),
  input_tokens_details: z.object({
    cached_tokens: z.int(),
    cache_write_tokens: z
      .int()
      .optional()
      .describe('Always 0: caching costs nothing. Answers that 0.2 stored lack it.'),
  }),
  output_tokens: z.int(),
  output_tokens_details: z.object({ reasoning_tokens: z.int() }),
  total_tokens: z.int(),
})

export const ResponseAnswer = answer('The answer of the model.', {
  id: z.string(),
  object: z.literal('response'),
  created_at: z.int(),
  completed_at: z.int().nullable(),
  status: z.enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
  background: z.boolean(),
  conversation: z
    .object({ id: z.string() })
    .nullish()
    .describe('The conversation that it continued. Answers of earlier versions lack it.'),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  incomplete_details: z.object({ reason: z.string() }).nullable(),
  instructions: z.string().nullable(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.int().nullable(),
  model: z.string(),
  output: z.array(z.discriminatedUnion('type', [Message, Reasoning, FunctionCall])),
  parallel_tool_calls: z.boolean(),
  previous_response_id: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
  reasoning: z.object({ effort: z.string().nullable(), summary: z.string().nullable() }),
  safety_identifier: z.string().nullable(),
  service_tier: z.literal('default'),
  store: z.boolean(),
  temperature: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  text: z.object({ format: z.looseObject({ type: z.string() }), verbosity: z.string() }),
  tool_choice: z.union([z.string(), z.looseObject({ type: z.string() })]),
  tools: z.array(z.looseObject({ type: z.literal('function'), name: z.string() })),
  top_logprobs: z.int(),
  top_p: z.number(),
  truncation: z.enum(['auto', 'disabled']),
  usage: Usage.nullable(),
  user: z.string().nullable(),
  metadata: z.record(z.string(), z.string()),
})

export const StreamEvent = z.looseObject({
  type: z
    .string()
    .describe('The first event is `response.created`, the last one is `response.completed` or another end.'),
  sequence_number: z.int(),
  output_index: z.int().optional(),
  item_id: z.string().optional(),
  content_index: z.int().optional(),
  delta: z.string().optional(),
  response: ResponseAnswer.optional(),
})

export const ResponsePath = z.object({ response_id: plainText(256).min(1) })

const queryFlag = z.enum(['true', 'false', '1', '0']).transform((word) => word === 'true' || word === '1')

const include = z
  .union([z.string(), z.array(z.string())])
  .optional()
  .describe('Has no effect: an answer is returned as it was sent.')

/** The SDKs write a list as `include[]`. */
export const ReplayQuery = z.object({
  stream: queryFlag.optional().meta({ default: false, description: 'Sends the events of the answer again.' }),
  starting_after: z.coerce
    .number()
    .int()
    .min(-1)
    .optional()
    .describe('In a stream, the number of the event after which to start.'),
  include_obfuscation: queryFlag.optional().meta({ default: false }),
  include,
  'include[]': include,
})

export const InputItemsQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  order: z.enum(['asc', 'desc']).default('desc'),
  after: plainText(256).min(1).optional().describe('The id of the last item of the previous page.'),
  include,
  'include[]': include,
})

export const AnyItem = z.discriminatedUnion('type', [Message, Reasoning, FunctionCall, FunctionCallOutput])

/** A page of items. */
export const itemsPage = (description: string) => listAnswer(description, AnyItem)

export const InputItems = itemsPage('The input items of the request of an answer.')

export const Deleted = answer('It is deleted.', {
  id: z.string(),
  object: z.literal('response'),
  deleted: z.literal(true),
})

export const InputTokens = answer('The number of tokens that the model would read.', {
  object: z.literal('response.input_tokens'),
  input_tokens: z.int(),
})
