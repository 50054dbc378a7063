import { z } from 'zod'
import { answer, flag, plainText, projectId, shortList } from '../../domain/fields.ts'
import { type GroupList, type GroupSum, groupLists, groupSums } from '../../storage/agents/spans.ts'
import { query } from '../paging-contract.ts'
import { direction, page, signalFilters, startedRange, unsupported } from './contract.ts'
import { detailNumbers, detailTexts } from './span-details.ts'

export const defaultSpans = 100
const maxSpans = 10_000
/** Spans of one page that are shown with what was asked and answered. */
const maxDetailed = 200

const sources = [
  ...['field', 'column', 'custom_attrs_string'],
  ...['custom_attrs_int', 'custom_attrs_float', 'custom_attrs_bool'],
] as const

/** A name of what is answered. */
export const columnName = plainText(128).refine((name) => /^[a-zA-Z_]\w*$/.test(name), {
  error: 'expected a name of letters, digits and _',
})

/** Whether a value is read from the attributes even where a field of spans has its name. */
export const isAttribute = (source: string): boolean => source.startsWith('custom_attrs_')

export const valueRef = z.strictObject({
  source: z.enum(sources as readonly [string, ...string[]]).meta({
    description: 'A field of spans, or a path inside the attributes of calls.',
  }),
  key: plainText(1024).min(1),
  alias: columnName.nullish().meta({ description: 'The name in the answer; default: key.' }),
})

const sort = (field: z.ZodType<string>) => z.array(z.strictObject({ field, direction })).max(16).nullish()

export const SpansBody = z
  .strictObject({
    project_id: projectId,
    query: query.meta({
      description:
        'Over fields of spans such as agent_name or gen_ai.agent.name; any other name is a path inside the attributes.',
    }),
    group_by: z.array(valueRef).max(5).nullish().meta({ description: 'Answers groups instead of spans.' }),
    sort_by: sort(plainText(1024).min(1)).meta({
      description: 'Fields of spans, the newest first by default; of groups their sums, the last seen first.',
    }),
    ...page(maxSpans, defaultSpans),
    ...startedRange,
    include_details: flag(false).meta({
      description: `Adds messages, arguments, attributes and the dump of the span, of at most ${maxDetailed} spans.`,
    }),
    include_costs: flag(false),
    measures: unsupported('groups have fixed sums, and /agents/spans/stats has metrics'),
    group_filters: unsupported('groups are filtered by the query over their spans'),
    group_distributions: unsupported('distributions are not computed'),
    custom_attr_columns: unsupported('include_details shows all attributes'),
    insight_filters: unsupported('they need clusters that only Weave computes'),
    signal_filters: signalFilters,
  })
  .refine(({ include_details, limit }) => !include_details || (limit ?? defaultSpans) <= maxDetailed, {
    path: ['limit'],
    error: `expected a number up to ${maxDetailed} with include_details`,
  })
  .refine(({ include_details, group_by }) => !include_details || !group_by?.length, {
    path: ['include_details'],
    error: 'expected no details, because group_by answers groups',
  })
export type SpansBody = z.output<typeof SpansBody>

const text = z.string().nullable()
const number = z.number().nullable()
const message = z.object({ role: z.string(), content: z.string(), finish_reason: text })

const detailed = <Name extends string, Field extends z.ZodType>(paths: Record<Name, string>, field: Field) =>
  Object.fromEntries(
    Object.entries(paths).map(([name, path]) => [
      name,
      field.meta({ description: `${path}; this and what follows only with include_details.` }),
    ]),
  ) as Record<Name, Field>

export const Span = z.object({
  span_id: z.string(),
  trace_id: z.string(),
  parent_span_id: text,
  span_name: z.string(),
  status_code: z.enum(['UNSET', 'OK', 'ERROR']),
  status_message: text,
  started_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
  duration_ms: number,
  operation_name: text,
  agent_name: text,
  agent_version: text,
  request_model: text,
  response_model: text,
  conversation_id: text,
  wb_user_id: z.string(),
  input_tokens: number,
  output_tokens: number,
  cache_read_input_tokens: number,
  cache_creation_input_tokens: number,
  total_cost_usd: number.meta({ description: 'Null without include_costs, and without a price.' }),
  ...detailed(detailTexts, text.optional()),
  ...detailed(detailNumbers, number.optional()),
  finish_reasons: z.array(z.string()).optional(),
  system_instructions: z.array(z.string()).optional(),
  reasoning_content: text.optional(),
  input_messages: z.array(message).optional(),
  output_messages: z.array(message).optional(),
  tool_name: text.optional(),
  tool_call_id: text.optional(),
  tool_call_arguments: text.optional(),
  tool_call_result: text.optional(),
  custom_attrs: z.record(z.string(), z.unknown()).optional(),
  raw_span_dump: z.record(z.string(), z.unknown()).nullish(),
})

const sum = z.number()
const sumNames = Object.keys(groupSums) as GroupSum[]
const seen = z.iso.datetime()
const nameList = z.array(z.string()).meta({ description: 'At most 100.' })
const end = z.object({ role: z.string(), text: z.string() }).nullable()

const Group = z.object({
  group_keys: z.record(z.string(), text),
  ...(Object.fromEntries(sumNames.map((name) => [name, sum])) as Record<GroupSum, typeof sum>),
  first_seen: seen,
  last_seen: seen,
  ...(Object.fromEntries(Object.keys(groupLists).map((name) => [name, nameList])) as Record<
    GroupList,
    typeof nameList
  >),
  first_message: end.meta({ description: 'What was asked first; only of groups by conversation_id alone.' }),
  last_message: end.meta({ description: 'What was answered last.' }),
  total_cost_usd: number.meta({ description: 'Null without include_costs, and without a price.' }),
})

export const SpansAnswer = answer('Spans, or groups of them where group_by is given.', {
  spans: z.array(Span),
  groups: z.array(Group),
  total_count: z.int().min(0).meta({ description: 'Spans or groups of all pages.' }),
})

const maxConversations = 500

export const ConversationSpansBody = z.strictObject({
  project_id: projectId,
  conversation_ids: shortList(plainText(512), maxConversations).meta({
    description: `At most ${maxConversations}.`,
  }),
  ...startedRange,
})
export type ConversationSpansBody = z.output<typeof ConversationSpansBody>
export { maxConversations }

const rating = z.object({ name: z.string(), value: z.number(), reason: text, confidence: number })

export const SpanFeedback = z.object({
  trace_id: text,
  feedback_type: z.string(),
  tags: z.array(z.string()),
  ratings: z.array(rating),
})

export const ConversationSpansAnswer = answer('The spans of each conversation that has any.', {
  conversations: z.array(
    z.object({
      conversation_id: z.string(),
      spans: z
        .array(
          z.object({
            operation_name: text,
            trace_id: z.string(),
            span_id: z.string(),
            status: z.enum(['UNSET', 'OK', 'ERROR']),
            duration_ms: number,
          }),
        )
        .meta({ description: 'The first 200 by their start.' }),
      spans_feedback: z
        .array(SpanFeedback)
        .meta({ description: 'What was said about them; trace_id is null of the whole conversation.' }),
    }),
  ),
})
