import { z } from 'zod'
import { answer, flag, plainText, projectId, shortList } from '../../domain/fields.ts'

import {
  type GroupCost,
  type GroupList,
  type GroupSum,
  groupCosts,
  groupLists,
  groupSums,
  maxDetailed as maxAttributed,
} from '../../storage/agents/span-groups.ts'
import { query } from '../paging-contract.ts'
import { direction, page, startedRange, unsupported } from './contract.ts'
import { detailNumbers, detailTexts } from './span-details.ts'
import {
  type AttributeType,
  attributeRef,
  attributeSources,
  GroupFilter,
  groupRef,
  Measure,
  SignalFilters,
} from './value-contract.ts'

export const defaultSpans = 100
const maxSpans = 10_000
/** Spans of one page that are shown with what was asked and answered. */
const maxDetailed = 200

const sort = (field: z.ZodType<string>) => z.array(z.strictObject({ field, direction })).max(16).nullish()

export const SpansBody = z
  .strictObject({
    project_id: projectId,
    query: query.describe(
      'Over fields of spans such as agent_name or gen_ai.agent.name; any other name is a path inside the attributes.',
    ),
    group_by: z.array(groupRef).max(5).nullish().describe('Answers groups instead of spans.'),
    sort_by: sort(plainText(1024).min(1)).describe(
      'Fields of spans, the newest first by default; of groups their sums, the last seen first.',
    ),
    ...page(maxSpans, defaultSpans),
    ...startedRange,
    include_details: flag(false).describe(
      `Adds messages, arguments, attributes and the dump of the span, of at most ${maxDetailed} spans.`,
    ),
    include_costs: flag(false),
    measures: z.array(Measure).max(20).nullish().describe('Further figures of groups.'),
    group_filters: z
      .array(GroupFilter)
      .max(20)
      .nullish()
      .describe('Only groups whose measure is within min and max.'),
    group_distributions: unsupported('distributions are not computed'),
    custom_attr_columns: z
      .array(attributeRef)
      .max(50)
      .nullish()
      .describe('Adds these attributes to spans, where they have the type of their source.'),
    insight_filters: unsupported('they need clusters that only Weave computes'),
    signal_filters: SignalFilters.describe(
      'Only conversations with these signals, in feedback since started_after: at most 200,000. Needs group_by.',
    ),
  })
  .refine(({ include_details, limit }) => !include_details || (limit ?? defaultSpans) <= maxDetailed, {
    path: ['limit'],
    error: `expected a number up to ${maxDetailed} with include_details`,
  })
  .refine(({ include_details, group_by }) => !include_details || !group_by?.length, {
    path: ['include_details'],
    error: 'expected no details, because group_by answers groups',
  })
  .refine(({ custom_attr_columns, group_by }) => !custom_attr_columns?.length || !group_by?.length, {
    path: ['custom_attr_columns'],
    error: 'expected none, because group_by answers groups',
  })
  .check((context) => {
    const { group_by, measures, group_filters, signal_filters } = context.value
    if (group_by?.length) return
    const lists = { measures, group_filters, ...signal_filters }
    for (const [name, list] of Object.entries(lists)) {
      if (!list?.length) continue
      const path = name in context.value ? [name] : ['signal_filters', name]
      context.issues.push({ code: 'custom', path, input: list, message: 'expected none without group_by' })
    }
  })
export type SpansBody = z.output<typeof SpansBody>

const text = z.string().nullable()
const number = z.number().nullable()
const attributeMap = z
  .record(z.string(), z.unknown())
  .describe('Those of custom_attr_columns that the span has.')
const message = z.object({ role: z.string(), content: z.string(), finish_reason: text })

const detailed = <Name extends string, Field extends z.ZodType>(paths: Record<Name, string>, field: Field) =>
  Object.fromEntries(
    Object.entries(paths).map(([name, path]) => [
      name,
      field.describe(`${path}; this and what follows only with include_details.`),
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
  total_cost_usd: number.describe('Null without include_costs, and without a price.'),
  input_cost_usd: number.describe('With tokens of a cache. Null where a client states the cost.'),
  output_cost_usd: number,
  ...detailed(detailTexts, text.optional()),
  ...detailed(detailNumbers, number.optional()),
  finish_reasons: z.array(z.string()).optional(),
  content_refs: z.array(z.string()).optional(),
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
  ...(Object.fromEntries(
    Object.values(attributeSources).map((source) => [source, attributeMap.optional()]),
  ) as Record<(typeof attributeSources)[AttributeType], z.ZodOptional<typeof attributeMap>>),
})

const sum = z.number()
const cost = number.describe('Null without include_costs, and without a price.')
const sumNames = Object.keys(groupSums) as GroupSum[]
const seen = z.iso.datetime()
const nameList = z.array(z.string()).describe('At most 100.')
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
  total_reasoning_tokens: number.describe(
    `This and the names of providers and conversations are read from attributes, where the groups of a page have at most ${maxAttributed} spans; else null and empty.`,
  ),
  provider_names: nameList,
  conversation_names: nameList,
  first_message: end.describe('What was asked first; only of groups by conversation_id alone.'),
  last_message: end.describe('What was answered last.'),
  ...(Object.fromEntries(groupCosts.map((name) => [name, cost])) as Record<GroupCost, typeof cost>),
  metrics: z
    .record(z.string(), z.union([z.number(), z.string(), z.null()]))
    .describe('The measures by their aliases.'),
})

export const SpansAnswer = answer('Spans, or groups of them where group_by is given.', {
  spans: z.array(Span),
  groups: z.array(Group),
  total_count: z.int().min(0).describe('Spans or groups of all pages.'),
})

const maxConversations = 10_000
/** Of all conversations. */
export const maxBriefSpans = 100_000

export const ConversationSpansBody = z.strictObject({
  project_id: projectId,
  conversation_ids: shortList(plainText(512), maxConversations).describe(
    `At most ${maxConversations}, with at most ${maxBriefSpans} spans that are shown.`,
  ),
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
        .describe('The first 200 by their start.'),
      spans_feedback: z
        .array(SpanFeedback)
        .describe('What was said about them; trace_id is null of the whole conversation.'),
    }),
  ),
})
