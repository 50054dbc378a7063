import { kindAttributes, toolRunAttributes } from '../../domain/call-facts/kind.ts'
import { type CallRow, matchingCalls } from '../calls/calls.ts'
import { shownName } from '../calls/columns.ts'
import { statusOfCall } from '../calls/fields.ts'
import type { Dialect } from '../sql/dialect.ts'
import { rowsInOrder } from '../sql/rows-in-order.ts'
import { join, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { BoundReader } from '../transaction.ts'
import { usageOfCall } from './light-calls.ts'

/** A call with what a tree with times shows. Times are microseconds. */
export interface TraceCall
  extends Pick<
    CallRow,
    'id' | 'parent_id' | 'op_name' | 'display_name' | 'started_at' | 'ended_at' | 'storage_size'
  > {
  status: string
  /** What an attribute says the call is, see domain/call-facts/kind.ts. */
  stated_kind: string | null
  /** 1 for a span of OpenTelemetry without inputs and output. */
  bare_span: number
  input_tokens: number | null
  output_tokens: number | null
  usage: string | null
  /** How often something was said about it. */
  feedback: number
}

const shown = rawSql(
  `calls.id, parent_id, op_name, ${shownName} AS display_name, started_at, ended_at, start_bytes + end_bytes AS storage_size, input_tokens, output_tokens`,
)

const feedback = rawSql(
  '(SELECT count(*) FROM feedback WHERE feedback.project_id = calls.project_id AND feedback.call_id = calls.id)',
)

const attributes = rawSql('attributes')

/** Large attributes are not opened. */
const isOpened = (dialect: Dialect) =>
  sql`${dialect.bytes(attributes)} BETWEEN 3 AND ${rawSql(String(maxAttributesBytes))}`

function statedKind(dialect: Dialect): Sql {
  const textAt = (path: readonly string[]) => sql`nullif(${dialect.json(attributes, path).text}, '')`
  const isToolRun = join(
    [
      ...toolRunAttributes.map((path) => sql`${textAt(path)} IS NOT NULL`),
      sql`${textAt(['tool_name'])} = op_name`,
    ],
    ' AND ',
  )
  const texts = [...kindAttributes.map(textAt), sql`CASE WHEN ${isToolRun} THEN 'tool' END`]
  return sql`CASE WHEN ${isOpened(dialect)} THEN coalesce(${join(texts, ', ')}) END`
}

function bareSpan(dialect: Dialect): Sql {
  const isEmpty = sql`${dialect.bytes(rawSql('inputs'))} <= 2 AND coalesce(${dialect.bytes(rawSql('output'))}, 0) <= 4`
  const isSpan = dialect.json(attributes, ['otel_span', 'name']).exists
  return sql`CASE WHEN ${isEmpty} AND ${isOpened(dialect)} AND ${isSpan} THEN 1 ELSE 0 END`
}

const maxAttributesBytes = 64 * 1024

/** Calls read at a time. They are small, so a few large requests to the reader thread cost less than many. */
const callsAtOnce = 1000

/** In the order in which they started, up to `limit`. */
export function streamTrace(
  db: BoundReader,
  { project, trace, limit }: { project: string; trace: string; limit: number },
  now: number,
): AsyncIterable<TraceCall[]> {
  const { dialect } = db
  const page = { limit, offset: 0 }
  const conditions = [sql`trace_id = ${trace}`]
  const statement = rowsInOrder(dialect, {
    table: 'calls',
    // Most calls of a trace use no model, and their summaries are not opened.
    columns: sql`${shown}, ${statusOfCall(dialect)} AS status, ${feedback} AS feedback, ${statedKind(dialect)} AS stated_kind,
      ${bareSpan(dialect)} AS bare_span,
      CASE WHEN status IS NULL OR input_tokens IS NOT NULL OR output_tokens IS NOT NULL THEN ${usageOfCall(dialect)} END AS usage`,
    matching: matchingCalls(db, { projectId: project, conditions, order: [], ...page }, now),
    order: [rawSql('started_at'), rawSql('calls.id')],
    page,
  })
  return db.stream<TraceCall>(statement, { rows: callsAtOnce })
}
