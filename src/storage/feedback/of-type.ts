import { sql } from '../sql/sql.ts'
import type { LongReader } from '../transaction.ts'
import type { Feedback } from './feedback.ts'

export type CallFeedback = Pick<Feedback, 'user_id' | 'payload' | 'runnable_ref'> & { call_id: string }

/** The latest feedback of one type on calls, the newest first. */
export function streamFeedbackOfType(
  db: LongReader,
  { project, type, limit }: { project: string; type: string; limit: number },
  signal: AbortSignal,
): AsyncIterable<CallFeedback[]> {
  const statement = sql`SELECT call_id, user_id, payload, runnable_ref FROM feedback
    WHERE project_id = ${project} AND feedback_type = ${type} AND call_id IS NOT NULL AND ${db.dialect.cancellable}
    ORDER BY created_at DESC, id DESC LIMIT ${limit}`
  return db.stream<CallFeedback>(statement, { signal, rows: 500 })
}
