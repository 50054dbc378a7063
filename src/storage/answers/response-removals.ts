import { batchesOf } from '../../domain/batches.ts'
import { listOf, type Sql, sql } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'

/** Called when calls are deleted. */
export async function removeResponses(
  tx: Transaction,
  project: string,
  calls: readonly string[],
): Promise<void> {
  for (const some of batchesOf(calls, 100)) {
    await removeAll(tx, sql`responses WHERE project_id = ${project} AND call_id IN (${listOf(some)})`)
  }
}

/** Removes the responses of calls that were swept at this time. */
export async function removeSweptResponses(tx: Transaction, sweptAt: number): Promise<void> {
  await removeAll(
    tx,
    sql`calls CROSS JOIN responses
        WHERE calls.swept_at = ${sweptAt} AND responses.project_id = calls.project_id AND call_id = calls.id`,
  )
}

async function removeAll(tx: Transaction, which: Sql): Promise<void> {
  const keys = sql`SELECT responses.user_name, responses.id FROM ${which}`
  await tx.run(sql`DELETE FROM response_details WHERE (user_name, id) IN (${keys})`)
  await tx.run(sql`DELETE FROM responses WHERE (user_name, id) IN (${keys})`)
}
