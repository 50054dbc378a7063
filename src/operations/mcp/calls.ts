import { z } from 'zod'
import { opNameOf } from '../../domain/refs.ts'
import { parseTime } from '../../domain/time.ts'
import type { CallsAnswer, FacetsAnswer, LightCall } from '../views/contract.ts'
import type { SearchAnswer } from '../views/search-contract.ts'
import { type Asking, ToolError } from './asking.ts'
import { fitting, head, withoutNulls } from './fitting.ts'
import { selectionOf } from './selection.ts'
import { cursor, cut, filter, limit, next, project, rows, since, tool, until } from './tool.ts'

/** A call as lists show it. */
export function callRow(call: LightCall, previewLength: number, columns: readonly string[] = []) {
  const { op_name, exception, input_preview, output_preview, feedback, values } = call
  const preview = (text: string | null) => (text && previewLength > 0 ? head(text, previewLength) : null)
  return withoutNulls({
    id: call.id,
    op: head(opNameOf(op_name), 100),
    name: call.display_name && head(call.display_name, 100),
    started_at: call.started_at,
    status: call.status,
    latency_ms: call.latency_ms,
    model: call.model && head(call.model, 100),
    tokens_in: call.input_tokens,
    tokens_out: call.output_tokens,
    cost: call.cost,
    error: preview(exception),
    asked: preview(input_preview),
    answered: preview(output_preview),
    feedback: feedback.reduce((sum, { count }) => sum + count, 0) || null,
    values: values && Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null])),
  })
}

export const countCalls = tool({
  name: 'count_calls',
  title: 'Count calls',
  description: 'Count calls, in all or by a field. Cheap: look before you fetch.',
  input: z.strictObject({
    project,
    filter,
    since,
    until,
    roots_only: z.boolean().optional(),
    group_by: z
      .string()
      .max(1024)
      .optional()
      .describe('op, model, status, user, origin, feedback or inputs.…'),
  }),
  output: z.object({ total: z.int(), groups: rows.optional(), others: z.int().optional(), cut }),
  async run(asking, args) {
    const selection = selectionOf(args)
    const { count: total } = await asking.post<{ count: number }>('/calls/query_stats', selection)
    if (args.group_by === undefined) return { total }
    const body = { ...selection, fields: [args.group_by] }
    const { facets } = await asking.post<z.output<typeof FacetsAnswer>>('/views/facets', body)
    const [{ values, others, sampled } = { values: [], others: 0, sampled: null }] = facets
    const groups = values.map(({ value, count }) => ({
      value: value === null ? null : head(opNameOf(value), 200),
      count,
    }))
    const shown = fitting(groups, {})
    const left = groups.slice(shown.length).reduce((sum, { count }) => sum + count, others)
    return {
      total,
      groups: shown,
      others: left,
      ...(sampled !== null && { cut: `groups count the newest ${sampled} calls only` }),
    }
  },
})

const orders = {
  newest: ['started_at', 'desc'],
  oldest: ['started_at', 'asc'],
  slowest: ['summary.weave.latency_ms', 'desc'],
  costliest: ['cost', 'desc'],
  most_tokens: ['output_tokens', 'desc'],
} as const

const searchInput = z.strictObject({
  project,
  filter,
  text: z.string().min(1).max(1_000).optional().describe('Words, "a phrase", -without'),
  since,
  until,
  roots_only: z.boolean().optional(),
  sort: z.enum(['newest', 'oldest', 'slowest', 'costliest', 'most_tokens']).optional(),
  fields: z.array(z.string().max(1024)).max(5).optional().describe('Values to add: inputs.question'),
  limit: limit(50, 10),
  cursor,
})
const searchOutput = z.object({ calls: rows, next, cut })
type Search = z.output<typeof searchInput>

export const searchCalls = tool({
  name: 'search_calls',
  title: 'Search calls',
  description:
    'List calls by filter, or with `text` by their words, with short heads of what was asked and answered. get_call reads one.',
  input: searchInput,
  output: searchOutput,
  run: (asking, args) => (args.text === undefined ? listed(asking, args) : found(asking, args)),
})

/** The more rows, the less of each. */
const previewFor = (count: number) => Math.min(200, Math.max(30, Math.floor((5_600 / count - 240) / 2)))

async function listed(asking: Asking, args: Search) {
  const { sort = 'newest', fields = [], cursor: from } = args
  const [field, direction] = orders[sort]
  const isInTime = field === 'started_at'
  const offset = isInTime ? undefined : offsetOf(from)
  const { calls } = await asking.post<z.output<typeof CallsAnswer>>('/views/calls', {
    ...selectionOf(args),
    sort_by: [{ field, direction }],
    limit: args.limit + 1,
    count_up_to: 0,
    ...(fields.length > 0 && { columns: fields }),
    ...(isInTime ? from !== undefined && { after: from } : { offset }),
  })
  const few = calls.slice(0, args.limit)
  const shown = fitting(
    few.map((call) => callRow(call, previewFor(few.length), fields)),
    {},
  )
  const last = few[shown.length - 1]
  if (last === undefined || shown.length === calls.length) return { calls: shown }
  const position = isInTime
    ? `${parseTime(last.started_at)}.${last.id}`
    : String((offset ?? 0) + shown.length)
  return { calls: shown, next: position, ...(shown.length < few.length && { cut: 'fewer calls, to fit' }) }
}

function offsetOf(from: string | undefined): number {
  if (from === undefined) return 0
  if (!/^\d{1,9}$/.test(from)) {
    throw new ToolError(
      `cursor: given ${JSON.stringify(from)}; accepted: next of an answer with the same sort`,
    )
  }
  return Number(from)
}

async function found(asking: Asking, args: Search): Promise<z.input<typeof searchOutput>> {
  if (args.sort !== undefined || args.fields !== undefined) {
    throw new ToolError('sort and fields do not go with text, whose order is that of arrival: leave them out')
  }
  const count = Math.min(args.limit, 20)
  const answer = await asking.post<z.output<typeof SearchAnswer>>('/views/search', {
    ...selectionOf(args),
    text: args.text,
    limit: count,
    ...(args.cursor !== undefined && { after: args.cursor }),
  })
  const calls = answer.found.map(({ call, snippets }) => ({
    ...callRow(call, previewFor(2 * count)),
    found: snippets.map(({ field, text }) => ({ in: field, text: head(text, previewFor(2 * count)) })),
  }))
  const besides = answer.searchable ? { cut: 'not all calls are in the index yet' } : {}
  const shown = fitting(calls, besides)
  // The index knows only where its own pages end.
  if (shown.length < calls.length) return found(asking, { ...args, limit: shown.length })
  return {
    calls,
    ...besides,
    ...(answer.next !== null && { next: answer.next }),
  }
}
