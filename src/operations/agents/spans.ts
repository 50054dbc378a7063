import { inSteps } from '../../../packages/waiting/index.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { jsonList } from '../../domain/json/text.ts'
import { formatTime, formatTimeOrNull, now } from '../../domain/time.ts'
import { viewOf } from '../../domain/view.ts'
import { readConversationsOfTraces } from '../../storage/agents/roots.ts'
import { isConversationField } from '../../storage/agents/span-fields.ts'
import {
  type GroupDetails,
  type GroupList,
  groupLists,
  groupSums,
  isTimeMeasure,
  readGroupDetails,
  readSpanGroups,
  type SpanGroup,
} from '../../storage/agents/span-groups.ts'
import { countSpans, readSpans, type SpanRow, type SpansView } from '../../storage/agents/spans.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { tooMany } from '../totals/call-usage.ts'
import { previewsOfThreads } from '../totals/threads.ts'
import { maxDetailed as maxEnds } from '../totals/threads-contract.ts'
import { boundsOf, measureOf } from './group-measures.ts'
import { conversationsWith } from './signals.ts'
import { attributesIn } from './span-attributes.ts'
import { detailsOf } from './span-details.ts'
import { defaultSpans, type SpansBody } from './spans-contract.ts'
import { spanValueOf } from './value-contract.ts'

export async function querySpans(db: BoundDatabase, caller: Caller, body: SpansBody) {
  requireAccess(caller, body.project_id)
  const view = spansViewOf({ ...body, limit: body.limit ?? defaultSpans })
  const costs = body.include_costs === true
  if (body.group_by?.length) return groupsOf(db, body, body.group_by, view)
  const time = now()
  const documents = body.include_details === true
  const total_count = await countSpans(db, view, time)
  const attributes = body.custom_attr_columns ?? []
  const values = attributes.map(({ key }, index) => ({
    key,
    requestPath: `custom_attr_columns.${index}.key`,
  }))
  const rows = await readSpans(db, view, { costs, documents, values }, time)
  const spans: unknown[] = []
  const unnamed = rows.flatMap(({ thread_id, trace_id }) => (thread_id ? [] : [trace_id]))
  const conversations = await readConversationsOfTraces(db, view.project, unnamed, time)
  await inSteps(rows, (row) => {
    const thread_id = row.thread_id || conversations.get(row.trace_id) || null
    spans.push({
      ...spanOf({ ...row, thread_id }),
      ...(documents && detailsOf(row)),
      ...attributesIn(row, attributes),
    })
  })
  return { spans: await jsonList(spans), groups: [], total_count }
}

type Selection = Pick<SpansBody, 'project_id' | 'query' | 'started_after' | 'started_before'> &
  Partial<Pick<SpansBody, 'limit' | 'offset' | 'sort_by'>>

export function spansViewOf({ sort_by, ...body }: Selection): SpansView {
  const sorts = (sort_by ?? []).map(({ field, direction }) => ({ field, direction: direction ?? 'desc' }))
  return {
    ...viewOf({ ...body, sort_by: sorts }),
    from: body.started_after ?? undefined,
    before: body.started_before ?? undefined,
  }
}

async function groupsOf(
  db: BoundDatabase,
  body: SpansBody,
  refs: NonNullable<SpansBody['group_by']>,
  view: SpansView,
) {
  const names = refs.map(({ key, alias }) => alias ?? key)
  const measures = (body.measures ?? []).map((measure, index) => measureOf(measure, `measures.${index}`))
  checkNames(names, measures)
  const time = now()
  const only = await conversationsWith(db, view.project, view.from, body.signal_filters, time)
  const asked = {
    ...view,
    ...(only !== undefined && { conversations: only }),
    ...{ measures, bounds: boundsOf(body.group_filters, refs) },
    keys: refs.map(({ key, source }, index) => ({
      ...spanValueOf({ key, source }),
      name: names[index] ?? key,
    })),
    costs: body.include_costs === true,
  }
  const rows = await readSpanGroups(db, asked, time)
  const [any] = rows.length > 0 ? rows : await readSpanGroups(db, { ...asked, limit: 1, offset: 0 }, time)
  const details = await readGroupDetails(db, asked, rows, time)
  const isConversations = refs.length === 1 && isConversationRef(refs)
  const ends = isConversations ? await endsOf(db, view.project, rows, time) : new Map()
  const groups = await jsonList(
    rows.map((row, index) => ({
      ...detailsOfGroup(details[index]),
      ...{ ...groupOf(row, names), metrics: metricsOf(row), ...noEnds, ...ends.get(row.key_0) },
    })),
  )
  return { spans: [], groups, total_count: any === undefined ? 0 : Number(any.total) }

  function metricsOf(row: SpanGroup) {
    const figures = measures.map((measure, index): [string, number | string | null] => {
      const figure = row[`measure_${index}`] ?? null
      return [
        measure.alias,
        figure !== null && isTimeMeasure(measure, db.dialect) ? formatTime(figure) : figure,
      ]
    })
    return Object.fromEntries(figures)
  }
}

const isConversationRef = (refs: NonNullable<SpansBody['group_by']>) =>
  refs.every((ref) => !spanValueOf(ref).isAttribute && isConversationField(ref.key))

const noEnds = { first_message: null, last_message: null }
const maxMessage = 280

/** What was asked first and answered last in each of these conversations. */
async function endsOf(db: BoundDatabase, project: string, rows: readonly SpanGroup[], time: number) {
  const threads = rows.slice(0, maxEnds).flatMap(({ key_0 }) => key_0 ?? [])
  const message = (role: string, text: string | null) =>
    text === null ? null : { role, text: text.slice(0, maxMessage) }
  const ends = new Map<string, object>()
  for (const { thread_id, input_preview, output_preview } of await previewsOfThreads(
    db,
    project,
    threads,
    time,
  )) {
    ends.set(thread_id, {
      first_message: message('user_message', input_preview),
      last_message: message('assistant_message', output_preview),
    })
  }
  return ends
}

/** Names in the answer, each once, and none that a group has anyway. */
function checkNames(keys: readonly string[], measures: readonly { alias: string }[]): void {
  const names = [...keys, ...measures.map(({ alias }) => alias)]
  for (const [index, name] of names.entries()) {
    const isTaken = isOfGroups(name) || names.indexOf(name) !== index
    if (!isTaken) continue
    const list = index < keys.length ? `group_by.${index}` : `measures.${index - keys.length}`
    throw takenName(`${list}.alias`, name)
  }
}

/** Refuses a name in the answer that something else has. */
export const takenName = (field: string, name: string) =>
  tooMany(field, `${JSON.stringify(name)}, which something else is named`, 'another alias')

const otherNames = new Set([
  ...['group_keys', 'first_message', 'last_message', 'metrics', 'distributions'],
  ...['provider_names', 'conversation_names', 'total_reasoning_tokens'],
])
const isOfGroups = (name: string) =>
  Object.hasOwn(groupSums, name) || Object.hasOwn(groupLists, name) || otherNames.has(name)
/** Different names that a group shows. */
const maxNames = 100

const namesIn = (json: string | null | undefined) =>
  (JSON.parse(json ?? '[]') as string[]).sort().slice(0, maxNames)

const detailsOfGroup = (details: GroupDetails | undefined) => ({
  total_reasoning_tokens: details?.total_reasoning_tokens ?? null,
  provider_names: namesIn(details?.provider_names),
  conversation_names: namesIn(details?.conversation_names),
})

function groupOf({ total, first_seen, last_seen, ...row }: SpanGroup, names: readonly string[]) {
  const sums = Object.entries(row).filter(([name]) => Object.hasOwn(groupSums, name))
  return {
    group_keys: Object.fromEntries(names.map((name, index) => [name, row[`key_${index}`] ?? null])),
    ...Object.fromEntries(sums),
    ...Object.fromEntries((Object.keys(groupLists) as GroupList[]).map((name) => [name, namesIn(row[name])])),
    first_seen: formatTime(Number(first_seen)),
    last_seen: formatTime(Number(last_seen)),
  }
}

export function statusCodeOf({ ended_at, status }: Pick<SpanRow, 'ended_at' | 'status'>) {
  if (ended_at === null) return 'UNSET' as const
  return status === 'error' ? ('ERROR' as const) : ('OK' as const)
}

export const durationOf = ({ started_at, ended_at }: Pick<SpanRow, 'started_at' | 'ended_at'>) =>
  ended_at === null ? null : (ended_at - started_at) / 1000

const spanOf = (row: SpanRow) => ({
  span_id: row.id,
  trace_id: row.trace_id,
  parent_span_id: row.parent_id,
  span_name: row.op_name,
  status_code: statusCodeOf(row),
  status_message: row.exception,
  started_at: formatTime(row.started_at),
  ended_at: formatTimeOrNull(row.ended_at),
  duration_ms: durationOf(row),
  operation_name: row.operation,
  agent_name: row.agent,
  agent_version: row.agent_version,
  request_model: row.asked_model ?? row.model,
  response_model: row.model ?? row.asked_model,
  conversation_id: row.thread_id || null,
  wb_user_id: row.user_id,
  input_tokens: row.input_tokens,
  output_tokens: row.output_tokens,
  cache_read_input_tokens: row.cache_read_tokens,
  cache_creation_input_tokens: row.cache_creation_tokens,
  total_cost_usd: row.cost,
  input_cost_usd: row.input_cost,
  output_cost_usd: row.output_cost,
})
