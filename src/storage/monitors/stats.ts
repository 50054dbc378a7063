import { sql } from '../sql/sql.ts'
import { allRows, type BoundReader } from '../transaction.ts'
import type { MonitorKey } from './monitors.ts'

/** The number of judgements of a monitor with the same outcome, by scorer and reason. */
export interface JudgementCount {
  scorer: string
  state: 'pending' | 'judged' | 'skipped' | 'failed'
  reason: string | null
  count: number
  tokens: number
  /** An example of the details. */
  detail: string | null
  /** How many of the pending ones have a score, because they are judged again. */
  again: number
  /** When the longest-waiting call was noted, among those noted as they arrived. */
  oldest: number | null
}

/** Judgements that were noted in a time range. */
interface StatsOfTime extends MonitorKey {
  after: number
  before: number
}

export function countJudgements(
  db: BoundReader,
  { project_id, monitor_id, after, before }: StatsOfTime,
): Promise<JudgementCount[]> {
  const statement = sql`SELECT scorer, state, reason, count(*) AS count, CAST(sum(tokens) AS BIGINT) AS tokens, max(detail) AS detail,
      count(CASE WHEN state = 'pending' THEN feedback_id END) AS again,
      min(CASE WHEN run_id = '' THEN noted_at END) AS oldest
    FROM judgements WHERE project_id = ${project_id} AND monitor_id = ${monitor_id}
      AND noted_at >= ${after} AND noted_at < ${before} AND ${db.dialect.cancellable}
    GROUP BY scorer, state, reason ORDER BY scorer, state, count(*) DESC, reason`
  return allRows<JudgementCount>(db, statement)
}

/** The payloads of the latest scores of a monitor. */
export function streamScores(
  db: BoundReader,
  { project_id, monitor_id, after, before }: StatsOfTime,
  limit: number,
): AsyncIterable<{ scorer: string; payload: string }[]> {
  const statement = sql`SELECT judgements.scorer, feedback.payload FROM judgements
    JOIN feedback ON feedback.project_id = judgements.project_id AND feedback.id = judgements.feedback_id
    WHERE judgements.project_id = ${project_id} AND judgements.monitor_id = ${monitor_id} AND judgements.state IN ('judged', 'pending')
      AND judgements.noted_at >= ${after} AND judgements.noted_at < ${before} AND ${db.dialect.cancellable}
    ORDER BY judgements.ended_at DESC, judgements.call_id, judgements.scorer LIMIT ${limit}`
  return db.stream<{ scorer: string; payload: string }>(statement, { rows: 500 })
}
