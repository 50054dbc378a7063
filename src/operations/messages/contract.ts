import { z } from 'zod'
import { answer, jsonValue } from '../../domain/fields.ts'
import { answerFields } from '../generation/answer-fields.ts'
import { maxTokenCount, samplingFields } from '../generation/sampling-fields.ts'
import { documented, flag, integer } from '../generation/scalars.ts'
import { unusedAnthropicFields } from '../generation/unused-fields.ts'
import { promptField } from '../prompts/contract.ts'
import { sharedFields } from './fields.ts'

const refused = { effect: 'refused' } as const

export const MessagesBody = z.object({
  ...sharedFields,
  prompt: promptField,
  max_tokens: documented(
    integer(1, maxTokenCount),
    'The maximum number of tokens of the answer, thoughts included. It is lowered to what the context leaves; the answer then ends with `model_context_window_exceeded`.',
  ),
  stream: answerFields.stream,
  stop_sequences: documented(
    z.array(z.string().min(1).max(4_096)).max(1_024).nullish(),
    'The answer ends before the first of these texts; `stop_sequence` names it.',
  ),
  temperature: samplingFields.temperature,
  top_p: samplingFields.top_p,
  top_k: samplingFields.top_k,

  store: documented(
    flag().nullish(),
    'Whether the answer is recorded as a call (docs/recording.md): `false` turns it off, `true` requests it under HEDDLE_RECORD=asked. Anthropic has no such field.',
  ),
  metadata: documented(
    z.object({ user_id: z.string().max(1_024).nullish() }).nullish(),
    'A `user_id` that contains a session, as that of Claude Code, names the thread of the call (docs/recording.md).',
  ),
  ...unusedAnthropicFields,
  container: documented(jsonValue().nullish(), 'The server runs no code.', refused),
  thread: documented(
    jsonValue().nullish(),
    'Conversations are not kept between requests: each request contains all of it. The code is `thread_unsupported_request`, on which the tool runner of the SDK continues without threads.',
    refused,
  ),
})
export type MessagesBody = z.output<typeof MessagesBody>

export const CountTokensBody = z.object({ ...sharedFields, ...unusedAnthropicFields })
export type CountTokensBody = z.output<typeof CountTokensBody>

export const CountTokensAnswer = answer('The number of input tokens of a request with these fields.', {
  input_tokens: z.int(),
})

const Usage = z.object({
  input_tokens: z.int().describe('Prompt tokens that were computed.'),
  cache_creation_input_tokens: z.int(),
  cache_read_input_tokens: z.int().describe('Prompt tokens that were cached from an earlier request.'),
  output_tokens: z.int(),
  output_tokens_details: z.object({ thinking_tokens: z.int() }),
  service_tier: z.literal('standard'),
})
export type Usage = z.output<typeof Usage>

const StopReason = z.enum([
  'end_turn',
  'max_tokens',
  'stop_sequence',
  'tool_use',
  'refusal',
  'model_context_window_exceeded',
])
export type StopReason = z.output<typeof StopReason>

const Block = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() }),
  z.object({ type: z.literal('redacted_thinking'), data: z.string() }),
  z.object({
    type: z.literal('tool_use'),
    id: z.string(),
    name: z.string(),
    input: z.record(z.string(), z.unknown()),
    caller: z.object({ type: z.literal('direct') }),
  }),
])

/** How an answer ended; null until then. */
const ended = {
  stop_reason: StopReason.nullable(),
  stop_sequence: z.string().nullable(),
  stop_details: z.null(),
  container: z.null(),
}

const message = {
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: z.array(Block),
  ...ended,
  usage: Usage,
  context_management: z.object({ applied_edits: z.array(z.never()) }).optional(),
}
export const MessageAnswer = answer('The next message of the conversation.', message)
export type MessageAnswer = z.output<typeof MessageAnswer>

const BlockDelta = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text_delta'), text: z.string() }),
  z.object({ type: z.literal('thinking_delta'), thinking: z.string() }),
  z.object({ type: z.literal('signature_delta'), signature: z.string() }),
  z.object({ type: z.literal('input_json_delta'), partial_json: z.string() }),
])

const index = z.int()
const BlockStart = z.object({ type: z.literal('content_block_start'), index, content_block: Block })
const BlockMore = z.object({ type: z.literal('content_block_delta'), index, delta: BlockDelta })
const BlockStop = z.object({ type: z.literal('content_block_stop'), index })
export type BlockEvent = z.output<typeof BlockStart> | z.output<typeof BlockMore> | z.output<typeof BlockStop>

export const MessageEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('message_start'), message: MessageAnswer }),
  BlockStart,
  BlockMore,
  BlockStop,
  z.object({
    type: z.literal('message_delta'),
    delta: z.object(ended),
    usage: Usage,
    context_management: message.context_management,
  }),
  z.object({ type: z.literal('message_stop') }),
  z.object({ type: z.literal('ping') }),
])
export type MessageEvent = z.output<typeof MessageEvent>
