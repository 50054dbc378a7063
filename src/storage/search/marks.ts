import { batchesOf } from '../../domain/batches.ts'
import { newId } from '../../domain/ids.ts'
import { sql } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'

/** Calls per mark, so that its row stays small. */
const callsOfMark = 50

/**
 * Marks calls whose searchable texts may have changed; they are indexed later, in the background. One narrow row covers
 * many calls, so that it costs the write almost nothing. A mark belongs to one write, like the marks of evaluation
 * results. Triggers mark the calls of notes.
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
