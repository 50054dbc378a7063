import { fireForQueues } from '../alerts/queues.ts'
import { queueLock } from '../queues/queues.ts'
import { listOf, type Sql, sql } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'
import type { ErasedCounts } from './progress.ts'

interface ErasedItem {
  id: string
  queue_id: string
  finished_by: number
}

/** Items of these calls, and of pairs with them. */
export const itemsOf = (project: string, calls: readonly string[]): Sql =>
  sql`project_id = ${project} AND id IN (
    SELECT id FROM annotation_queue_items WHERE project_id = ${project} AND call_id IN (${listOf(calls)})
    UNION SELECT id FROM annotation_queue_items WHERE project_id = ${project} AND other_call_id IN (${listOf(calls)}))`

/** Removes items with the states of their annotators, who then have finished fewer. */
export async function eraseItems(
  tx: Transaction,
  project_id: string,
  items: readonly ErasedItem[],
  now: number,
): Promise<Pick<ErasedCounts, 'queue_items' | 'reviews'>> {
  const byQueue = Map.groupBy(items, ({ queue_id }) => queue_id)
  for (const queue_id of [...byQueue.keys()].sort()) await tx.lock(queueLock({ project_id, queue_id }))
  let reviews = 0
  for (const [queue_id, own] of byQueue) {
    const ids = own.map(({ id }) => id)
    const ofItems = sql`project_id = ${project_id} AND item_id IN (${listOf(ids)})`
    const finished = await tx.all<{ annotator: string; items: number }>(
      sql`SELECT annotator, count(*) AS items FROM annotation_progress
          WHERE ${ofItems} AND state IN ('completed', 'skipped') GROUP BY annotator`,
    )
    for (const { annotator, items } of finished) {
      await tx.run(
        sql`UPDATE annotation_finished SET items = items - ${Number(items)}
            WHERE project_id = ${project_id} AND queue_id = ${queue_id} AND annotator = ${annotator}`,
      )
    }
    reviews += await tx.run(sql`DELETE FROM annotation_progress WHERE ${ofItems}`)
    await tx.run(
      sql`DELETE FROM annotation_queue_items WHERE project_id = ${project_id} AND id IN (${listOf(ids)})`,
    )
    tx.changed({ project: project_id, kind: 'item', queue: queue_id, ids })
  }
  const steps = [...byQueue].map(([queue_id, own]) => ({
    queue_id,
    waiting: -own.filter(({ finished_by }) => Number(finished_by) === 0).length,
  }))
  await fireForQueues(tx, project_id, steps, now)
  return { queue_items: items.length, reviews }
}
