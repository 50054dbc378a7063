import { allHolding, type Expression } from '../../domain/expressions/expression.ts'
import type { Page, SortBy } from '../../domain/view.ts'
import { type CallsQuery, isTurn, matchingCalls } from '../calls/calls.ts'
import { costOfCall } from '../calls/cost.ts'
import { compileCondition } from '../sql/conditions.ts'
import { pageOf, rowsInOrder } from '../sql/rows-in-order.ts'
import { columnOrder, sortingOf } from '../sql/sorting.ts'
import { join, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader, type LongReader, onlyRow } from '../transaction.ts'
import { conversationsOfRoots, ofConversations } from './roots.ts'
import { isConversationField, readingOf, type SpanValue, spanFields, textOfField } from './span-fields.ts'

/** The spans that are asked for. Times are microseconds: from, and up to but not including. */
export interface SpansView extends Page {
  project: string
  query: Expression | undefined
  from: number | undefined
  before: number | undefined
  sort: readonly SortBy[]
}

/** A call as a span. */
export interface SpanRow {
  id: string
  trace_id: string
  parent_id: string | null
  op_name: string
  thread_id: string | null
  started_at: number
  ended_at: number | null
  status: string | null
  exception: string | null
  operation: string | null
  agent: string | null
  agent_version: string | null
  asked_model: string | null
  model: string | null
  user_id: string
  input_tokens: number | null
  output_tokens: number | null
  cache_read_tokens: number | null
  cache_creation_tokens: number | null
  cost: number | null
  /** JSON; null where it is too large, or was not asked for. */
  attributes: string | null
  inputs: string | null
  output: string | null
}

/** The largest document in bytes that is opened. */
const maxDocumentBytes = 64 * 1024

const small = [
  ...['id', 'trace_id', 'parent_id', 'op_name', 'thread_id', 'started_at', 'ended_at', 'status', 'operation'],
  ...['agent', 'agent_version', 'asked_model', 'model', 'user_id', 'input_tokens', 'output_tokens'],
  ...['cache_read_tokens', 'cache_creation_tokens', 'project_id'],
].map((name) => `calls.${name} AS ${name}`)

/** What is selected of a span. */
export function spanColumns(
  { dialect }: LongReader,
  { costs, documents }: { costs: boolean; documents: boolean },
): Sql {
  const opened = ['attributes', 'inputs', 'output'].map((name) => {
    const isSmall = sql`${dialect.bytes(rawSql(`calls.${name}`))} <= ${rawSql(String(maxDocumentBytes))}`
    return documents
      ? sql`CASE WHEN ${isSmall} THEN calls.${rawSql(name)} END AS ${rawSql(name)}`
      : rawSql(`NULL AS ${name}`)
  })
  const cost = costs ? costOfCall(dialect) : rawSql('NULL')
  return sql`${rawSql(small.join(', '))}, substr(exception, 1, 2000) AS exception, ${cost} AS cost, ${join(opened, ', ')}`
}

/** Validates the query. */
export function spansQueryOf({ dialect }: LongReader, view: SpansView, now: number): CallsQuery {
  const { project, query, from, before, sort, limit, offset } = view
  const conditions: Sql[] = []
  if (from !== undefined) conditions.push(sql`calls.started_at >= ${from}`)
  if (before !== undefined) conditions.push(sql`calls.started_at < ${before}`)
  for (const part of allHolding(query)) {
    const conversations = conversationsIn(part)
    conditions.push(
      conversations === undefined
        ? compileCondition(part, spanFields(dialect, 'query'), dialect)
        : ofConversations(project, conversations, now),
    )
  }
  const sorting = sortingOf(sort, (path) => spanFields(dialect, path), dialect)
  const order = sort.length === 0 ? [rawSql('started_at DESC')] : sorting.order
  return { projectId: project, conditions, ...sorting, order: [...order, rawSql('id DESC')], limit, offset }
}

/** The conversations that a condition asks for by name; undefined where it asks for something else. */
function conversationsIn(condition: Expression): string[] | undefined {
  const named = (operand: Expression, values: readonly Expression[]) => {
    if (operand.op !== 'field' || !isConversationField(operand.field)) return undefined
    const texts = values.flatMap((value) =>
      value.op === 'literal' && value.literal.kind === 'text' ? [value.literal.value] : [],
    )
    return texts.length === values.length && texts.every(Boolean) ? texts : undefined
  }
  if (condition.op === 'in') return named(condition.operand, condition.list)
  if (condition.op !== 'compare' || condition.by !== 'eq') return undefined
  const { left, right } = condition
  return named(left, [right]) ?? named(right, [left])
}

/** Newest first by default. */
export async function readSpans(
  db: BoundReader,
  view: SpansView,
  shown: { costs: boolean; documents: boolean },
  now: number,
): Promise<SpanRow[]> {
  const query = spansQueryOf(db, view, now)
  const statement = rowsInOrder(db.dialect, {
    table: 'calls',
    columns: spanColumns(db, shown),
    matching: matchingCalls(db, query, now),
    order: query.order,
    page: query,
  })
  return (await allRows<SpanRow>(db, statement)).map(withSmallDocuments)
}

/** Without documents of cold calls that SQL would have left out. */
export function withSmallDocuments<Row extends Pick<SpanRow, 'inputs' | 'output'>>(row: Row): Row {
  const small = (text: string | null) =>
    text !== null && text.length * 3 > maxDocumentBytes && Buffer.byteLength(text) > maxDocumentBytes
      ? null
      : text
  return { ...row, inputs: small(row.inputs), output: small(row.output) }
}

export async function countSpans(db: BoundReader, view: SpansView, now: number): Promise<number> {
  const query = spansQueryOf(db, { ...view, sort: [] }, now)
  const counted = sql`SELECT count(*) AS count ${matchingCalls(db, query, now)}`
  return Number((await onlyRow<{ count: number }>(db, counted)).count)
}

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
} as const
export type GroupSum = keyof typeof groupSums

/** Different values of a group, and the columns that have them. */
export const groupLists = {
  agent_names: 'agent',
  agent_versions: 'agent_version',
  request_models: 'asked_model',
} as const
export type GroupList = keyof typeof groupLists

export type SpanGroup = Record<`key_${number}`, string | null> &
  Record<Exclude<GroupSum, 'total_cost_usd'>, number> &
  /** JSON of texts; null of none. */
  Record<GroupList, string | null> & { total_cost_usd: number | null; total: number }

/** Sums of the spans that have the same values of these fields; a conversation also has those below its turns. */
export function readSpanGroups(
  db: BoundReader,
  view: SpansView & { keys: readonly (SpanValue & { name: string })[]; costs: boolean },
  now: number,
): Promise<SpanGroup[]> {
  const { dialect } = db
  const query = spansQueryOf(db, { ...view, sort: [] }, now)
  const isConversation = ({ field, isAttribute }: SpanValue) => !isAttribute && isConversationField(field)
  const keys = view.keys.map((key, index) => {
    const reading = readingOf(key, dialect, `group_by.${index}.key`)
    return sql`${textOfField(reading, dialect)} AS ${rawSql(`own_${index}`)}`
  })
  const names = view.keys.map((_, index) => `key_${index}`)
  const cost = view.costs ? costOfCall(dialect) : rawSql('NULL')
  const narrow = sql`SELECT ${join(keys, ', ')}, calls.id AS id, calls.trace_id AS trace_id, calls.operation AS operation,
      nullif(calls.thread_id, '') AS own_thread, agent, agent_version, coalesce(asked_model, model) AS asked_model,
      calls.status AS status, input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens, started_at, ended_at,
      CAST(ended_at - started_at AS DOUBLE PRECISION) / 1000 AS took, CAST(${cost} AS DOUBLE PRECISION) AS cost
    ${matchingCalls(db, query, now)}`
  const thread = 'coalesce(own_thread, turns.thread_id)'
  const shownKeys = view.keys.map(
    (key, index) => `${isConversation(key) ? thread : `own_${index}`} AS key_${index}`,
  )
  const roots = conversationsOfRoots(view.project, isTurn, now)
  const joined = sql`SELECT narrow.*, ${rawSql(shownKeys.join(', '))}, ${rawSql(thread)} AS thread
    FROM (${narrow}) AS narrow LEFT JOIN (${roots}) AS turns ON turns.trace_id = narrow.trace_id`
  const sums = Object.entries(groupSums).map(
    ([name, sum]) => `${/_seen$/.test(name) ? sum : `CAST(${sum} AS DOUBLE PRECISION)`} AS ${name}`,
  )
  const lists = Object.entries(groupLists).map(
    ([name, column]) => sql`${dialect.distinctTexts(rawSql(column))} AS ${rawSql(name)}`,
  )
  // Missing values come first, on either engine.
  const sortedKeys = names.map((name) => `coalesce(${name}, '')`)
  const columns = {
    ...Object.fromEntries(Object.keys(groupSums).map((name) => [name, name])),
    ...Object.fromEntries(view.keys.map(({ name }, index) => [name, sortedKeys[index] ?? name])),
    total_cost_usd: 'coalesce(total_cost_usd, -1)',
  }
  const order = columnOrder(view.sort, columns, ['last_seen DESC'], sortedKeys)
  return allRows<SpanGroup>(
    db,
    sql`SELECT found.*, count(*) OVER () AS total FROM (
          SELECT ${rawSql(names.join(', '))}, ${rawSql(sums.join(', '))}, ${join(lists, ', ')} FROM (${joined}) AS joined
          GROUP BY ${rawSql(names.join(', '))}) AS found
        ORDER BY ${join(order, ', ')}${pageOf(dialect, view)}`,
  )
}

/** The attributes of the spans, the newest first; those that are too large are left out. */
export function streamSpanAttributes(
  db: BoundReader,
  view: SpansView,
  now: number,
): AsyncIterable<{ attributes: string }[]> {
  const query = spansQueryOf(db, { ...view, sort: [] }, now)
  const isSmall = sql`${db.dialect.bytes(rawSql('attributes'))} <= ${rawSql(String(maxDocumentBytes))}`
  const conditions = [isSmall, ...query.conditions]
  return db.stream<{ attributes: string }>(
    sql`SELECT attributes ${matchingCalls(db, { ...query, conditions }, now)}
        ORDER BY calls.started_at DESC, calls.id DESC LIMIT ${view.limit}`,
    { rows: 20 },
  )
}
