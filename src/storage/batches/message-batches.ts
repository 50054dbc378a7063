import { sql } from '../sql/sql.ts'
import type { Command } from '../transaction.ts'
import { addBatch, type Batch, batchOfUser, of } from './batches.ts'
import { removeLines } from './lines.ts'
import { dropFile, fileOfProject, keepWireFile, type NewWireFile } from './wire-files.ts'

/** A batch and its requests, which appear together. */
export const addMessageBatch: Command<{ batch: Batch; input: NewWireFile }, void> = async (
  tx,
  { batch, input },
) => {
  await keepWireFile(tx, input)
  await addBatch(tx, batch)
}

/**
 * Removes a batch that is over, with its requests and results: first its lines, some at a time. Returns whether there
 * may be more.
 */
export const dropMessageBatch: Command<{ user: string; id: string }, boolean> = async (tx, { user, id }) => {
  const batch = await batchOfUser(tx, user, id)
  if (batch === undefined) return false
  // A process that removes its lines, too, stops, or is waited for.
  const isOver = await tx.run(
    sql`UPDATE batches SET held_by = NULL WHERE ${of(batch)} AND ended_at IS NOT NULL`,
  )
  if (isOver === 0) return false
  if (await removeLines(tx, batch)) return true
  for (const file of [batch.input_file_id, batch.output_file_id]) {
    const found = file === null ? undefined : await fileOfProject(tx, batch.project_id, file)
    if (found !== undefined) await dropFile(tx, found)
  }
  await tx.run(sql`DELETE FROM batches WHERE ${of(batch)}`)
  return false
}
