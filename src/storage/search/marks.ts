import { batchesOf } from '../../domain/batches.ts'
import { newId } from '../../domain/ids.ts'
import { sql } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'

/** Calls of one mark: a row that stays small. */
const callsOfMark = 50

/**
 * What can be found in these calls may have changed: they are read behind the writes. One narrow row for many calls, so that
 * the write itself hardly pays for it. A mark belongs to one write, as those of evaluation results do.
 */
export async function markForSearch(
  tx: Transaction,
  project: string,
  calls: readonly string[],
): Promise<void> {
  const { text } = tx.dialect
  for (const some of batchesOf(calls, callsOfMark)) {
    await tx.run(
      sql`INSERT INTO search_marks (project_id, mark, call_ids)
          SELECT ${text(project)}, ${text(newId())}, ${text(JSON.stringify(some))}
          WHERE EXISTS (SELECT 1 FROM search_state WHERE is_on = 1)`,
    )
  }
}
