import { allHolding, type Expression, textsIn } from '../../domain/expressions/expression.ts'
import { checkPath, splitPath } from '../../domain/expressions/path.ts'
import type { Page, SortBy } from '../../domain/view.ts'
import { type CallsQuery, matchingCalls } from '../calls/calls.ts'
import { costOfCall } from '../calls/cost.ts'
import { valueCandidates } from '../search/candidates.ts'
import { compileCondition } from '../sql/conditions.ts'
import type { Dialect } from '../sql/dialect.ts'
import { rowsInOrder } from '../sql/rows-in-order.ts'
import { sortingOf } from '../sql/sorting.ts'
import { join, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader, type LongReader, onlyRow } from '../transaction.ts'
import { ofConversations } from './roots.ts'
import { isConversationField, spanFields, stepsIn } from './span-fields.ts'

/** The spans that are asked for. Times are microseconds: from, and up to but not including. */
export interface SpansView extends Page {
  project: string
  query: Expression | undefined
  from: number | undefined
  before: number | undefined
  sort: readonly SortBy[]
  /** Only spans of these conversations. */
  conversations?: readonly string[]
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
  input_cost: number | null
  output_cost: number | null
  /** JSON; null where it is too large, or was not asked for. */
  attributes: string | null
  inputs: string | null
  output: string | null
  /** JSON of the values that were asked for. */
  [value: `value_${number}`]: string | null | undefined
}

/** The largest document in bytes that is opened. */
const maxDocumentBytes = 64 * 1024

const small = [
  ...['id', 'trace_id', 'parent_id', 'op_name', 'thread_id', 'started_at', 'ended_at', 'status', 'operation'],
  ...['agent', 'agent_version', 'asked_model', 'model', 'user_id', 'input_tokens', 'output_tokens'],
  ...['cache_read_tokens', 'cache_creation_tokens', 'project_id'],
].map((name) => `calls.${name} AS ${name}`)

interface ShownSpans {
  costs: boolean
  documents: boolean
  /** Paths inside the attributes, whose JSON becomes `value_0` and so on. */
  values?: readonly { key: string; requestPath: string }[]
}

const costSides = [
  [undefined, 'cost'],
  ['input', 'input_cost'],
  ['output', 'output_cost'],
] as const

/** Null unless they are asked for. */
export const costColumns = (dialect: Dialect, isAsked: boolean): Sql =>
  join(
    costSides.map(([side, name]) => {
      const cost = isAsked ? costOfCall(dialect, undefined, side) : rawSql('NULL')
      return sql`CAST(${cost} AS DOUBLE PRECISION) AS ${rawSql(name)}`
    }),
    ', ',
  )

/** What is selected of a span. */
export function spanColumns({ dialect }: LongReader, { costs, documents, values = [] }: ShownSpans): Sql {
  const opened = ['attributes', 'inputs', 'output'].map((name) => {
    const isSmall = sql`${dialect.bytes(rawSql(`calls.${name}`))} <= ${rawSql(String(maxDocumentBytes))}`
    return documents
      ? sql`CASE WHEN ${isSmall} THEN calls.${rawSql(name)} END AS ${rawSql(name)}`
      : rawSql(`NULL AS ${name}`)
  })
  const read = values.map(({ key, requestPath }, index) => {
    checkPath(key, requestPath)
    return sql`${dialect.token(rawSql('calls.attributes'), splitPath(key))} AS ${rawSql(`value_${index}`)}`
  })
  return sql`${rawSql(small.join(', '))}, substr(exception, 1, 2000) AS exception, ${costColumns(dialect, costs)}, ${join([...opened, ...read], ', ')}`
}

/** Validates the query. */
function spansQueryOf({ dialect }: LongReader, view: SpansView, now: number): CallsQuery {
  const { project, query, from, before, sort, limit, offset, conversations: only } = view
  const conditions: Sql[] = only === undefined ? [] : [ofConversations(project, only, now)]
  if (from !== undefined) conditions.push(sql`calls.started_at >= ${from}`)
  if (before !== undefined) conditions.push(sql`calls.started_at < ${before}`)
  for (const condition of allHolding(query)) {
    const conversations = conversationsIn(condition)
    conditions.push(
      conversations === undefined
        ? compileCondition(condition, spanFields(dialect, 'query'), dialect)
        : ofConversations(project, conversations, now),
    )
  }
  const sorting = sortingOf(sort, (path) => spanFields(dialect, path), dialect)
  const order = sort.length === 0 ? [rawSql('started_at DESC')] : sorting.order
  return { projectId: project, conditions, ...sorting, order: [...order, rawSql('id DESC')], limit, offset }
}

/** The same with what the index of values knows of where the spans are. Validates the query at once. */
export async function narrowedSpansQuery(db: BoundReader, view: SpansView, now: number): Promise<CallsQuery> {
  const query = spansQueryOf(db, view, now)
  const candidates = await valueCandidates(db, { ...view, stepsOf: (field) => stepsIn(field, db.dialect) })
  return candidates === undefined ? query : { ...query, conditions: [candidates, ...query.conditions] }
}

/** The conversations that a condition asks for by name; undefined where it asks for something else. */
function conversationsIn(condition: Expression): string[] | undefined {
  const { field = '', values = [] } = textsIn(condition) ?? {}
  return isConversationField(field) && values.every(Boolean) ? values : undefined
}

/** Newest first by default. */
export async function readSpans(
  db: BoundReader,
  view: SpansView,
  shown: ShownSpans,
  now: number,
): Promise<SpanRow[]> {
  const query = await narrowedSpansQuery(db, view, now)
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
  const query = await narrowedSpansQuery(db, { ...view, sort: [] }, now)
  const counted = sql`SELECT count(*) AS count ${matchingCalls(db, query, now)}`
  return Number((await onlyRow<{ count: number }>(db, counted)).count)
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
