import { type CallsView, narrowedQuery } from '../calls/queries.ts'
import { allOf, rawSql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader } from '../transaction.ts'
import { isAboutCallOf } from './feedback-groups.ts'

interface FeedbackBucketsView extends CallsView {
  /** Microseconds. */
  from: number
  step: number
  end: number
  /** How many kinds are counted separately. */
  most: number
}

/** How often something was said in a bucket. Both are null for all kinds together that are not counted separately. */
interface FeedbackPart {
  bucket: number
  feedback_type: string | null
  /** The emoji of a reaction, or the JSON of a short annotation. */
  value: string | null
  count: number
}

/** The longest annotation in bytes that is counted separately. */
const maxValueBytes = 60

/** Counts feedback by its time. If the view selects only some calls, only feedback on those counts. */
export async function readFeedbackBuckets(
  db: BoundReader,
  { from, step, end, most, ...view }: FeedbackBucketsView,
  now: number,
): Promise<FeedbackPart[]> {
  const { dialect } = db
  const payload = rawSql('payload')
  const emoji = dialect.json(payload, ['emoji']).text
  const value = dialect.token(payload, ['value'])
  const isOfCalls = view.filters.length > 0 || view.query !== undefined
  const query = await narrowedQuery(db, { ...view, sort: [] }, now)
  const all = [
    sql`project_id = ${view.project} AND created_at >= ${from} AND created_at < ${end}`,
    ...(isOfCalls ? [isAboutCallOf(query, now)] : []),
    dialect.cancellable,
  ]
  const bucketed = sql`SELECT (created_at - ${rawSql(String(from))}) / ${rawSql(String(step))} AS bucket, feedback_type,
      CASE WHEN feedback_type = 'wandb.reaction.1' THEN ${emoji}
        WHEN ${dialect.position(rawSql('feedback_type'), rawSql("'wandb.annotation.'"))} = 1
          AND ${dialect.bytes(value)} <= ${maxValueBytes} THEN ${value} END AS value
    FROM feedback WHERE ${allOf(all)}`
  return allRows<FeedbackPart>(
    db,
    sql`WITH counted AS (SELECT bucket, feedback_type, coalesce(value, '') AS value, count(*) AS count FROM (${bucketed}) AS said
          GROUP BY bucket, feedback_type, coalesce(value, '')),
        top AS (SELECT feedback_type, value, sum(count) AS total FROM counted GROUP BY feedback_type, value
          ORDER BY total DESC, feedback_type, value LIMIT ${most})
        SELECT bucket, top.feedback_type, nullif(top.value, '') AS value, CAST(sum(count) AS BIGINT) AS count
        FROM counted LEFT JOIN top ON top.feedback_type = counted.feedback_type AND top.value = counted.value
        GROUP BY bucket, top.feedback_type, top.value ORDER BY bucket`,
  )
}
