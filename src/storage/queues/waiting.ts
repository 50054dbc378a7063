import { sql } from '../sql/sql.ts'
import { allRows, type BoundReader, countOf, type Reader } from '../transaction.ts'
import { ofQueue } from './items.ts'
import type { QueueKey } from './queues.ts'

/** The items that nobody has completed or skipped, or `max` if there are more. */
export function countWaiting(db: Reader, key: QueueKey, max: number): Promise<number> {
  const waiting = sql`SELECT 1 AS one FROM annotation_queue_items AS item WHERE ${ofQueue(key)} AND item.finished_by = 0`
  return countOf(db, sql`(${waiting} LIMIT ${max}) AS waiting`)
}

interface Past {
  project: string
  /** Null means all queues of the project. */
  queue_id: string | null
  /** Microseconds. */
  since: number
  /** Changes that are looked at, the newest. */
  limit: number
}

/** How many items of a queue waited before and after something was added or finished. */
interface WaitingChange {
  queue_id: string
  at: number
  before: number
  after: number
}

/**
 * How the number of waiting items has changed, newest first. An item counts as finished when the first annotator was done
 * with it, and as waiting all the time if it was opened again.
 */
export async function waitingBefore(
  db: BoundReader,
  { project, queue_id, since, limit }: Past,
): Promise<{ changes: WaitingChange[]; isComplete: boolean }> {
  const own = queue_id === null ? sql`` : sql` AND queue_id = ${queue_id}`
  const live = sql`project_id = ${project}${own} AND ${db.dialect.cancellable} AND queue_id IN (
    SELECT id FROM annotation_queues AS queue WHERE queue.project_id = ${project} AND queue.deleted_at IS NULL)`
  const now = await allRows<{ queue_id: string; items: number }>(
    db,
    sql`SELECT queue_id, count(*) AS items FROM annotation_queue_items WHERE ${live} AND finished_by = 0 GROUP BY queue_id`,
  )
  const steps = await allRows<{ queue_id: string; at: number; step: number }>(
    db,
    sql`SELECT queue_id, at, sum(step) AS step FROM (
          SELECT queue_id, added_at AS at, 1 AS step FROM annotation_queue_items WHERE ${live} AND added_at >= ${since}
          UNION ALL
          SELECT queue_id, min(updated_at) AS at, -1 AS step FROM annotation_progress
          WHERE ${live} AND state IN ('completed', 'skipped') GROUP BY queue_id, item_id HAVING min(updated_at) >= ${since}
        ) AS steps GROUP BY queue_id, at ORDER BY at DESC, queue_id LIMIT ${limit}`,
  )
  const waiting = new Map(now.map(({ queue_id, items }) => [queue_id, Number(items)]))
  const changes = steps.map(({ queue_id, at, step }) => {
    const after = waiting.get(queue_id) ?? 0
    const before = after - Number(step)
    waiting.set(queue_id, before)
    return { queue_id, at: Number(at), before, after }
  })
  return { changes, isComplete: steps.length < limit }
}
