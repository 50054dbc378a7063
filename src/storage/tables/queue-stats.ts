import type { AnnotationState, ItemState } from '../../domain/annotation-states.ts'
import { allOf, listOf, type Sql, sql } from '../sql/sql.ts'
import type { Reader } from '../transaction.ts'

/** How many items of a queue are in a state; with an annotator, in a state of that annotator's own. */
export type QueueCount = {
  queue_id: string
  count: number
  /** Of these, those that somebody has completed or skipped. */
  finished: number
} & ({ annotator: null; state: ItemState } | { annotator: string; state: AnnotationState })

/** One statement, so that all counts are of the same moment. A queue that is not there has no row. */
export function selectQueueCounts(db: Reader, projectId: string, queueIds: readonly string[]): Sql {
  const live = sql`queue_id IN (SELECT queue.id FROM annotation_queues AS queue
    WHERE queue.project_id = ${projectId} AND queue.deleted_at IS NULL AND queue.id IN (${listOf(queueIds)}))`
  const counted = allOf([sql`project_id = ${projectId}`, live, db.dialect.going])
  return sql`SELECT queue_id, CAST(NULL AS TEXT) AS annotator, state, count(*) AS count,
      count(CASE WHEN finished_by > 0 THEN 1 END) AS finished
    FROM annotation_queue_items WHERE ${counted} GROUP BY queue_id, state
    UNION ALL
    SELECT queue_id, annotator, state, count(*), 0 FROM annotation_progress
    WHERE ${counted} GROUP BY queue_id, annotator, state`
}
