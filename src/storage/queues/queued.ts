import type { ItemCalls } from '../../domain/queues/pairs.ts'
import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { Reader } from '../transaction.ts'
import type { QueueKey } from './queues.ts'

/** Queues that were not deleted, and their items. */
const live = sql`annotation_queue_items AS item JOIN annotation_queues AS queue
  ON queue.project_id = item.project_id AND queue.id = item.queue_id AND queue.deleted_at IS NULL`

/** A condition on a row of `table`: its call is in a queue. */
export const isQueued = (table: Sql): Sql =>
  sql`(EXISTS (SELECT 1 FROM ${live} WHERE item.project_id = ${table}.project_id AND item.call_id = ${table}.call_id)
    OR EXISTS (SELECT 1 FROM ${live} WHERE item.project_id = ${table}.project_id AND item.other_call_id = ${table}.call_id))`

/** Those of the calls that are in a queue. */
export async function queuedCalls(
  db: Reader,
  project: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db.all<{ call_id: string }>(
    sql`SELECT item.call_id FROM ${live} WHERE item.project_id = ${project} AND item.call_id IN (${listOf(ids)})
        UNION SELECT item.other_call_id FROM ${live}
        WHERE item.project_id = ${project} AND item.other_call_id IN (${listOf(ids)})`,
  )
  return new Set(rows.map(({ call_id }) => call_id))
}

/** The references of the questions that the queues of the project ask. */
export async function questionsOf(db: Reader, project: string): Promise<string[]> {
  const rows = await db.all<{ scorer_refs: string }>(
    sql`SELECT ${db.dialect.stored(sql`scorer_refs`, 'always')} AS scorer_refs FROM annotation_queues
        WHERE project_id = ${project} AND deleted_at IS NULL`,
  )
  return rows.flatMap(({ scorer_refs }) => JSON.parse(scorer_refs) as string[])
}

/** Whether these two calls are an item of the queue, in this order. */
export async function hasPair(
  db: Reader,
  { project_id, queue_id }: QueueKey,
  { call_id, other_call_id }: ItemCalls,
): Promise<boolean> {
  const found = await db.get<{ id: string }>(
    sql`SELECT id FROM annotation_queue_items WHERE project_id = ${project_id} AND queue_id = ${queue_id}
        AND call_id = ${call_id} AND other_call_id = ${other_call_id}`,
  )
  return found !== undefined
}

/** So much of what stays of deleted calls is named. */
export const maxLeft = 1_000

/** What stays of deleted calls. */
export interface LeftOfCall {
  kind: 'feedback' | 'queue_item'
  id: string
  queue_id: string | null
}

/** Feedback on the calls, and items of queues that name them: at most `max`. */
export const leftOf = (
  db: Reader,
  project: string,
  ids: readonly string[],
  max: number,
): Promise<LeftOfCall[]> => {
  const items = (column: Sql) =>
    sql`SELECT 'queue_item' AS kind, item.id, item.queue_id FROM ${live}
        WHERE item.project_id = ${project} AND item.${column} IN (${listOf(ids)})`
  return db.all<LeftOfCall>(
    sql`SELECT 'feedback' AS kind, id, NULL AS queue_id FROM feedback
        WHERE project_id = ${project} AND call_id IN (${listOf(ids)})
        UNION ${items(rawSql('call_id'))} UNION ${items(rawSql('other_call_id'))} LIMIT ${max}`,
  )
}
