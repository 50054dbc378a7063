import { matchingCalls } from '../calls/calls.ts'
import { type CallsView, streamMatching } from '../calls/queries.ts'
import { listOf, rawSql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader } from '../transaction.ts'
import { usageOfCall } from './light-calls.ts'
import { asksModel, usesTokens } from './own-usage.ts'

/** What a call used itself. Times are microseconds. */
export interface CallUsage {
  id: string
  trace_id: string | null
  parent_id: string | null
  started_at: number
  ended_at: number | null
  /** JSON, by model; null if it is too large. The sums of all models follow. */
  usage: string | null
  model: string | null
  input_tokens: number | null
  output_tokens: number | null
  /** Billionths. */
  stated_cost: number | null
  asks_model: number
}

const shown = rawSql(
  'calls.id, trace_id, parent_id, started_at, ended_at, coalesce(model, asked_model) AS model, input_tokens, output_tokens, stated_cost',
)

/** Calls read at a time. They are small. */
const callsAtOnce = 1000

/** The calls of the view, in no order: the limit of the view only bounds them. */
export function streamCallUsage(db: BoundReader, view: CallsView, now: number): AsyncIterable<CallUsage[]> {
  const { dialect } = db
  // Most calls of a trace use no model, and their documents are not opened.
  const own = sql`CASE WHEN ${usesTokens} OR status IS NULL THEN ${usageOfCall(dialect)} END AS usage,
    CASE WHEN ${usesTokens} AND ${asksModel(dialect)} THEN 1 ELSE 0 END AS asks_model`
  return streamMatching<CallUsage>(
    db,
    view,
    (query) => sql`SELECT ${shown}, ${own} ${matchingCalls(db, query, now)} LIMIT ${view.limit}`,
    now,
    { rows: callsAtOnce },
  )
}

/** The traces of these calls, each once. */
export async function tracesOfCalls(
  db: BoundReader,
  project: string,
  ids: readonly string[],
): Promise<string[]> {
  const rows = await allRows<{ trace_id: string }>(
    db,
    sql`SELECT DISTINCT trace_id FROM calls WHERE project_id = ${project} AND id IN (${listOf(ids)})
      AND trace_id IS NOT NULL AND ${db.dialect.cancellable} ORDER BY trace_id`,
  )
  return rows.map(({ trace_id }) => trace_id)
}
