import { isLive } from '../calls/calls.ts'
import { rawSql, sql } from '../sql/sql.ts'
import type { BoundReader } from '../transaction.ts'

/** Feedback with the conversation that it is about. */
export interface SignalRow {
  /** Of the feedback, or of its call. */
  thread_id: string | null
  trace_id: string | null
  /** JSON. */
  payload: string
}

/** The largest payload in bytes that is opened. */
const maxPayloadBytes = '65536'

/** Feedback of which payloads may have tags or ratings. */
export function streamSignals(db: BoundReader, project: string, now: number): AsyncIterable<SignalRow[]> {
  const isSmall = sql`${db.dialect.bytes(rawSql('payload'))} <= ${rawSql(maxPayloadBytes)}`
  return db.stream<SignalRow>(
    sql`SELECT coalesce(feedback.thread_id, nullif(calls.thread_id, '')) AS thread_id, calls.trace_id AS trace_id, payload
        FROM feedback LEFT JOIN calls ON calls.project_id = feedback.project_id AND calls.id = feedback.call_id
          AND ${isLive(now)}
        WHERE feedback.project_id = ${project} AND ${isSmall} AND ${db.dialect.cancellable}
        ORDER BY feedback.created_at, feedback.id`,
    { rows: 500 },
  )
}
