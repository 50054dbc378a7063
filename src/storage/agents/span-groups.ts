import type { Expression } from '../../domain/expressions/expression.ts'
import { matchingCalls } from '../calls/calls.ts'
import { compileCondition } from '../sql/conditions.ts'
import type { Dialect } from '../sql/dialect.ts'
import { pageOf } from '../sql/rows-in-order.ts'
import { columnOrder } from '../sql/sorting.ts'
import { allOf, emptySql, join, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader } from '../transaction.ts'
import { type AggregateName, aggregateOf } from '../views/aggregates.ts'
import { conversationsOfRoots } from './roots.ts'
import {
  isConversationField,
  numberOfField,
  readingOf,
  type SpanValue,
  spanFields,
  textOfField,
} from './span-fields.ts'
import { costColumns, narrowedSpansQuery, type SpansView } from './spans.ts'

export const groupSums = {
  span_count: 'count(*)',
  invocation_count: "sum(CASE WHEN operation = 'invoke_agent' THEN 1 ELSE 0 END)",
  conversation_count: 'count(DISTINCT thread)',
  total_input_tokens: 'coalesce(sum(input_tokens), 0)',
  total_output_tokens: 'coalesce(sum(output_tokens), 0)',
  total_cache_read_input_tokens: 'coalesce(sum(cache_read_tokens), 0)',
  total_cache_creation_input_tokens: 'coalesce(sum(cache_creation_tokens), 0)',
  total_duration_ms: 'coalesce(sum(took), 0)',
  error_count: "sum(CASE WHEN status = 'error' THEN 1 ELSE 0 END)",
  first_seen: 'min(started_at)',
  last_seen: 'max(coalesce(ended_at, started_at))',
  total_cost_usd: 'sum(cost)',
  total_input_cost_usd: 'sum(input_cost)',
  total_output_cost_usd: 'sum(output_cost)',
} as const
export type GroupSum = keyof typeof groupSums
/** Null of a group without a price. */
export type GroupCost = Extract<GroupSum, `${string}_cost_usd`>
export const groupCosts: readonly GroupCost[] = [
  'total_cost_usd',
  'total_input_cost_usd',
  'total_output_cost_usd',
]

/** Different values of a group, and the columns that have them. */
export const groupLists = {
  agent_names: 'agent',
  agent_versions: 'agent_version',
  request_models: 'asked_model',
} as const
export type GroupList = keyof typeof groupLists

/** One figure of each group. */
export interface GroupMeasure {
  alias: string
  aggregation: AggregateName
  /** Undefined counts spans. */
  value: SpanValue | undefined
  /** Only spans for which it holds. */
  filter: Expression | undefined
  /** How a refusal names it. */
  requestPath: string
}

/** Groups of which a measure is outside of these bounds are left out. */
export interface GroupBounds {
  measure: GroupMeasure
  min: number | undefined
  max: number | undefined
}

interface GroupsView extends SpansView {
  keys: readonly (SpanValue & { name: string })[]
  costs: boolean
  measures: readonly GroupMeasure[]
  bounds: readonly GroupBounds[]
  /** Adds what the attributes say. */
  details?: boolean
  /** Only groups whose first key is one of these. */
  firstKeys?: readonly (string | null)[]
}

export type SpanGroup = Record<`key_${number}`, string | null> &
  Record<Exclude<GroupSum, GroupCost>, number> &
  /** JSON of texts; null of none. */
  Record<GroupList, string | null> &
  Record<GroupCost, number | null> & { total: number } & Record<`measure_${number}`, number | null>

/** What a measure adds up of a span. */
function measured({ aggregation, value, filter, requestPath }: GroupMeasure, dialect: Dialect): Sql {
  const own = () => {
    if (value === undefined) return rawSql('1')
    const reading = readingOf(value, dialect, `${requestPath}.value.key`)
    if (aggregation === 'count_distinct') return textOfField(reading, dialect)
    if (aggregation !== 'count') return numberOfField(reading, dialect)
    return sql`CASE WHEN ${textOfField(reading, dialect)} IS NOT NULL THEN 1 END`
  }
  if (filter === undefined) return own()
  const holds = compileCondition(filter, spanFields(dialect, `${requestPath}.filter`), dialect)
  return sql`CASE WHEN ${holds} THEN ${own()} END`
}

/** Whether the figures of a measure are times, in microseconds. */
export function isTimeMeasure({ aggregation, value }: GroupMeasure, dialect: Dialect): boolean {
  if (value === undefined || value.isAttribute || !/^m(?:in|ax)$/.test(aggregation)) return false
  return spanFields(dialect, '')(value.field).kind === 'time'
}

const isWithin = ({ min, max }: GroupBounds, column: string): Sql[] => [
  ...(min === undefined ? [] : [sql`${rawSql(column)} >= ${min}`]),
  ...(max === undefined ? [] : [sql`${rawSql(column)} <= ${max}`]),
]

function isFirstKey({ firstKeys, keys: [key] }: GroupsView, dialect: Dialect): Sql[] {
  if (firstKeys === undefined || key === undefined) return []
  const text = textOfField(readingOf(key, dialect, 'group_by.0.key'), dialect)
  const named = sql`${text} IN (${listOf(firstKeys.filter((value) => value !== null))})`
  return [firstKeys.includes(null) ? sql`(${named} OR ${text} IS NULL)` : named]
}

const detailFields = ['provider_name', 'conversation_name', 'reasoning_tokens']

function detailsOf(dialect: Dialect): Sql {
  const resolve = spanFields(dialect, '')
  const values = detailFields.map((name) => {
    const value = /_tokens$/.test(name) ? numberOfField : textOfField
    return sql`, ${value(resolve(name), dialect)} AS ${rawSql(name)}`
  })
  return join(values, '')
}

const detailSums = (dialect: Dialect): Sql[] => [
  sql`${dialect.distinctTexts(rawSql('provider_name'))} AS provider_names`,
  sql`${dialect.distinctTexts(rawSql('conversation_name'))} AS conversation_names`,
  rawSql('CAST(coalesce(sum(reasoning_tokens), 0) AS DOUBLE PRECISION) AS total_reasoning_tokens'),
]

/** Sums of the spans that have the same values of these fields; a conversation also has those below its turns. */
export async function readSpanGroups(db: BoundReader, view: GroupsView, now: number): Promise<SpanGroup[]> {
  const { dialect } = db
  const { conditions, ...found } = await narrowedSpansQuery(db, { ...view, sort: [] }, now)
  const query = { ...found, conditions: [...conditions, ...isFirstKey(view, dialect)] }
  const isConversation = ({ field, isAttribute }: SpanValue) => !isAttribute && isConversationField(field)
  const keys = view.keys.map((key, index) => {
    const reading = readingOf(key, dialect, `group_by.${index}.key`)
    return sql`${textOfField(reading, dialect)} AS ${rawSql(`own_${index}`)}`
  })
  const names = view.keys.map((_, index) => `key_${index}`)
  const measures = [...view.measures, ...view.bounds.map(({ measure }) => measure)]
  const values = measures.map(
    (measure, index) => sql`, ${measured(measure, dialect)} AS ${rawSql(`value_${index}`)}`,
  )
  const narrow = sql`SELECT ${join(keys, ', ')}${join(values, '')}${view.details ? detailsOf(dialect) : emptySql}, calls.id AS id, calls.trace_id AS trace_id, calls.operation AS operation,
      nullif(calls.thread_id, '') AS own_thread, agent, agent_version, coalesce(asked_model, model) AS asked_model,
      calls.status AS status, input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens, started_at, ended_at,
      CAST(ended_at - started_at AS DOUBLE PRECISION) / 1000 AS took, ${costColumns(dialect, view.costs)}
    ${matchingCalls(db, query, now)}`
  const thread = 'coalesce(own_thread, turns.thread_id)'
  const shownKeys = view.keys.map(
    (key, index) => `${isConversation(key) ? thread : `own_${index}`} AS key_${index}`,
  )
  const isTrace = sql`trace_id IN (SELECT trace_id FROM narrow WHERE own_thread IS NULL)`
  const own = view.conversations && sql`thread_id IN (${listOf(view.conversations)})`
  const roots = conversationsOfRoots(view.project, allOf([isTrace, ...(own ? [own] : [])]), now)
  const joined = sql`SELECT narrow.*, ${rawSql(shownKeys.join(', '))}, ${rawSql(thread)} AS thread
    FROM narrow LEFT JOIN (${roots}) AS turns ON turns.trace_id = narrow.trace_id`
  const sums = Object.entries(groupSums).map(
    ([name, sum]) => `${/_seen$/.test(name) ? sum : `CAST(${sum} AS DOUBLE PRECISION)`} AS ${name}`,
  )
  const figures = measures.map(({ aggregation }, index) => {
    const figure = aggregateOf(aggregation, `value_${index}`)
    return `CAST(${figure} AS DOUBLE PRECISION) AS measure_${index}`
  })
  const bounded = view.bounds.flatMap((bounds, index) =>
    isWithin(bounds, `measure_${view.measures.length + index}`),
  )
  const filtered = bounded.length === 0 ? emptySql : sql` WHERE ${allOf(bounded)}`
  const lists = Object.entries(groupLists).map(
    ([name, column]) => sql`${dialect.distinctTexts(rawSql(column))} AS ${rawSql(name)}`,
  )
  if (view.details) lists.push(...detailSums(dialect))
  // Missing values come first, on either engine.
  const sortedKeys = names.map((name) => `coalesce(${name}, '')`)
  const columns = {
    ...Object.fromEntries(Object.keys(groupSums).map((name) => [name, name])),
    ...Object.fromEntries(view.keys.map(({ name }, index) => [name, sortedKeys[index] ?? name])),
    ...Object.fromEntries(groupCosts.map((name) => [name, `coalesce(${name}, -1)`])),
    ...Object.fromEntries(
      view.measures.map(({ alias }, index) => [alias, `coalesce(measure_${index}, -1e300)`]),
    ),
  }
  const order = columnOrder(view.sort, columns, ['last_seen DESC'], sortedKeys)
  return allRows<SpanGroup>(
    db,
    sql`WITH narrow AS MATERIALIZED (${narrow}) SELECT found.*, count(*) OVER () AS total FROM (
          SELECT ${rawSql(names.join(', '))}, ${rawSql([...sums, ...figures].join(', '))}, ${join(lists, ', ')} FROM (${joined}) AS joined
          GROUP BY ${rawSql(names.join(', '))}) AS found${filtered}
        ORDER BY ${join(order, ', ')}${pageOf(dialect, view)}`,
  )
}

/** What attributes say of a group: JSON of texts. */
export interface GroupDetails {
  total_reasoning_tokens: number | null
  provider_names: string | null
  conversation_names: string | null
}

/** Spans whose attributes are read for a page of groups. */
export const maxDetailed = 20_000

const keyOf = (row: SpanGroup, keys: GroupsView['keys']) =>
  JSON.stringify(keys.map((_, index) => row[`key_${index}`]))

/** Of the groups of a page, in its order; undefined of spans without a conversation, and if they have too many spans. */
export async function readGroupDetails(
  db: BoundReader,
  view: GroupsView,
  page: readonly SpanGroup[],
  now: number,
): Promise<(GroupDetails | undefined)[]> {
  const spans = page.reduce((sum, { span_count }) => sum + span_count, 0)
  const [key] = view.keys
  if (key === undefined || spans === 0 || spans > maxDetailed) return page.map(() => undefined)
  const values = page.map(({ key_0 }) => key_0 ?? null)
  const isConversation = !key.isAttribute && isConversationField(key.field)
  const own = isConversation
    ? { conversations: values.filter((value) => value !== null) }
    : { firstKeys: values }
  const all = { ...view, ...own, measures: [], bounds: [], sort: [], limit: null, offset: 0 }
  const rows = await readSpanGroups(db, { ...all, costs: false, details: true }, now)
  const found = new Map(rows.map((row) => [keyOf(row, view.keys), row as SpanGroup & GroupDetails]))
  return page.map((row) => found.get(keyOf(row, view.keys)))
}
