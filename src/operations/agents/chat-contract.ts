import { z } from 'zod'
import { answer, explained, flag, plainText, projectId, traceId } from '../../domain/fields.ts'
import { page } from './contract.ts'
import { Span, SpanFeedback } from './spans-contract.ts'

export const maxTurns = 50

const flags = {
  include_feedback: flag(false),
  include_model_tool_calls: flag(false).describe(
    'Adds calls of tools that a model asked for and that no span ran.',
  ),
}

export const TraceChatBody = z.strictObject({ project_id: projectId, trace_id: traceId, ...flags })
export type TraceChatBody = z.output<typeof TraceChatBody>

export const ConversationChatBody = z.strictObject({
  project_id: projectId,
  conversation_id: plainText(512).min(1),
  ...page(maxTurns, maxTurns),
  ...flags,
})
export type ConversationChatBody = z.output<typeof ConversationChatBody>

const text = z.string().nullable()
const number = z.number().nullable()
const status = Span.shape.status_code
const payloads = {
  user_message: z.object({ text: z.string(), content_refs: z.array(z.string()) }).optional(),
  assistant_message: z
    .object({
      text: z.string(),
      model: text,
      reasoning_content: text,
      input_tokens: number,
      output_tokens: number,
      total_cost_usd: number,
      input_cost_usd: number,
      output_cost_usd: number,
      duration_ms: number,
      status,
    })
    .optional(),
  tool_call: z
    .object({
      tool_name: z.string(),
      tool_arguments: text,
      tool_result: text,
      duration_ms: number,
      status,
    })
    .optional(),
  agent_start: z.object({ model: text, system_instructions: z.array(z.string()), status }).optional(),
  context_compacted: z
    .object({ compaction_summary: text, items_before: number, items_after: number })
    .optional(),
}
export type ChatType = keyof typeof payloads

const Message = z.object({
  type: z
    .enum(Object.keys(payloads) as ChatType[])
    .describe(
      'Never agent_handoff: no convention says of a span that it is one. The next agent has an agent_start.',
    ),
  span_id: z.string(),
  agent_name: text.describe('Of the span, else of the nearest one above that names one.'),
  agent_version: text,
  status_code: status,
  status_message: text,
  started_at: z.iso.datetime(),
  ...payloads,
})
export type ChatMessage = z.output<typeof Message>

const Turn = z.object({
  trace_id: z.string(),
  ...explained({
    root_span_name: [text, 'The op of the first root.'],
    agent_name: [text, 'The first agent that is named.'],
    agent_version: [text, 'Its version.'],
    status_code: [status, 'Of the root.'],
    started_at: [z.iso.datetime(), 'When the root began.'],
    ended_at: [z.iso.datetime().nullable(), 'When it ended.'],
    wb_user_id: [z.string(), 'Whose key sent it.'],
    total_duration_ms: [number, 'Of the root.'],
    total_cost_usd: [number, 'Each token counted once; null without a price.'],
    total_input_tokens: [z.number(), 'Each counted once.'],
    total_output_tokens: [z.number(), 'Each counted once.'],
  }),
  messages: z.array(Message),
  feedback: z.array(SpanFeedback),
})
export type ChatTurn = z.output<typeof Turn>

export const TraceChatAnswer = Turn.describe('The turn of a trace, as a chat.')

export const ConversationChatAnswer = answer(
  'The newest turns of a conversation, the oldest of them first.',
  {
    conversation_id: z.string(),
    turns: z.array(Turn),
    total_turns: z.int().min(0),
    has_more: z.boolean().describe('There are older turns.'),
    limit: z.int(),
    offset: z.int(),
    total_cost_usd: number.describe('Of all its turns.'),
    feedback: z.array(SpanFeedback).describe('About the whole conversation.'),
  },
)
