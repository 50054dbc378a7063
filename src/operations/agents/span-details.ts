import { conversationOf } from '../../../packages/conversations/index.ts'
import { isObject } from '../../domain/call-facts/brief.ts'
import type { SpanRow } from '../../storage/agents/spans.ts'
import { messagesOf, toolRunOf, wordsOf } from './span-messages.ts'

/** For the reader of conversations. */
export const documentsOf = (row: SpanRow) => ({
  inputs: row.inputs ?? undefined,
  output: row.output ?? undefined,
  attributes: row.attributes ?? undefined,
  name: row.op_name,
})

/** What spans show of OpenTelemetry's attributes, by the names of Weave. */
export const detailTexts = {
  provider_name: 'gen_ai.provider.name',
  response_id: 'gen_ai.response.id',
  agent_id: 'gen_ai.agent.id',
  agent_description: 'gen_ai.agent.description',
  conversation_name: 'gen_ai.conversation.name',
  tool_type: 'gen_ai.tool.type',
  tool_description: 'gen_ai.tool.description',
  error_type: 'error.type',
  output_type: 'gen_ai.output.type',
  server_address: 'server.address',
  compaction_summary: 'weave.compaction.summary',
} as const
export const detailNumbers = {
  reasoning_tokens: 'gen_ai.usage.reasoning.output_tokens',
  request_temperature: 'gen_ai.request.temperature',
  request_max_tokens: 'gen_ai.request.max_tokens',
  request_top_p: 'gen_ai.request.top_p',
  request_frequency_penalty: 'gen_ai.request.frequency_penalty',
  request_presence_penalty: 'gen_ai.request.presence_penalty',
  request_seed: 'gen_ai.request.seed',
  server_port: 'server.port',
  compaction_items_before: 'weave.compaction.items_before',
  compaction_items_after: 'weave.compaction.items_after',
} as const

function valueAt(attributes: unknown, path: string): unknown {
  return path.split('.').reduce((found, step) => (isObject(found) ? found[step] : undefined), attributes)
}

const textsAt = (attributes: unknown, path: string): string[] => {
  const list = valueAt(attributes, path)
  return Array.isArray(list) ? list.filter((text) => typeof text === 'string') : []
}

/** What only Weave's own attributes say of a span: handles of its contents, and that its context was made shorter. */
export function weaveFactsOf({ attributes }: Pick<SpanRow, 'attributes'>) {
  const isSaid = attributes !== null && /"(?:compaction|content_refs)"/.test(attributes)
  const all: unknown = isSaid ? JSON.parse(attributes) : {}
  const number = (name: string) => {
    const value = valueAt(all, `weave.compaction.${name}`)
    return typeof value === 'number' ? value : null
  }
  const summary = valueAt(all, 'weave.compaction.summary')
  const compaction = {
    compaction_summary: typeof summary === 'string' ? summary : null,
    items_before: number('items_before'),
    items_after: number('items_after'),
  }
  const isCompacted = compaction.compaction_summary !== null || (compaction.items_before ?? 0) > 0
  return {
    content_refs: textsAt(all, 'weave.content_refs'),
    ...(isCompacted && { compaction }),
  }
}

export function detailsOf(row: SpanRow) {
  const attributes: unknown = JSON.parse(row.attributes ?? '{}')
  const { otel_span, ...own } = isObject(attributes) ? attributes : {}
  const conversation = conversationOf(documentsOf(row))
  const tool = conversation && toolRunOf(conversation)
  const [asked, answered] = tool || !conversation ? [[], []] : [conversation.asked, conversation.answered]
  const found = (paths: object, type: 'string' | 'number') =>
    Object.entries(paths).map(([name, path]) => {
      const value = valueAt(own, path)
      return [name, typeof value === type ? value : null]
    })
  const systems = asked.filter(({ role }) => role === 'system' || role === 'developer')
  return {
    ...Object.fromEntries([...found(detailTexts, 'string'), ...found(detailNumbers, 'number')]),
    finish_reasons: textsAt(own, 'gen_ai.response.finish_reasons'),
    content_refs: textsAt(own, 'weave.content_refs'),
    system_instructions: systems.map((message) => wordsOf([message], 'text')),
    reasoning_content: wordsOf(answered, 'thought') || null,
    input_messages: messagesOf(asked),
    output_messages: messagesOf(answered),
    tool_name: tool?.name ?? null,
    tool_call_id: tool?.id ?? null,
    tool_call_arguments: tool?.input ?? null,
    tool_call_result: tool?.output ?? null,
    custom_attrs: own,
    raw_span_dump: otel_span ?? null,
  }
}
