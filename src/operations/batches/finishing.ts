import { now } from '../../domain/time.ts'
import { type Batch, type HeldBatch, isOfMessages } from '../../storage/batches/batches.ts'
import { answeredLines } from '../../storage/batches/lines.ts'
import { messageBatchPurpose, type NewWireFile } from '../../storage/batches/wire-files.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { openWireFile } from '../wire-files/files.ts'
import { type Ending, formOf } from './result-lines.ts'

/**
 * Writes the files of answers and of errors; a batch of messages has one file for both. They appear together with the
 * end of the batch.
 */
export async function finishFiles(
  db: BoundDatabase,
  batch: Batch,
  held: HeldBatch,
  ending: Ending,
): Promise<void> {
  const to = { project: batch.project_id, user: batch.user_name, limit: Number.POSITIVE_INFINITY }
  const [output, errors] = [openWireFile(db, to), openWireFile(db, to)]
  const isOneFile = isOfMessages(batch)
  let [answered, wrong] = [0, 0]
  try {
    for await (const row of answeredLines(db, held)) {
      const isError = !isOneFile && (row.status === null || row.status >= 400)
      if (isError) wrong++
      else answered++
      const text = row.answer ?? formOf(batch).unanswered(batch, row, ending)
      await (isError ? errors : output).add(Buffer.from(`${text}\n`))
    }
    const named = (what: string) => ({
      filename: `${batch.id}_${what}.jsonl`,
      purpose: isOneFile ? messageBatchPurpose : 'batch_output',
      seconds: batch.output_seconds,
    })
    const finish = async (ofOutput: NewWireFile | null, ofErrors: NewWireFile | null) => {
      const files = { output: ofOutput, error: ofErrors }
      if (await db.write('finishBatch', { ...held, ...files, status: ending, now: now() })) return
      // Another process has taken over, and writes files of its own.
      await Promise.all([output.drop(), errors.drop()])
    }
    const withErrors = async (ofOutput: NewWireFile | null) => {
      if (wrong === 0) await finish(ofOutput, null)
      else await errors.finish(named('error'), (ofErrors) => finish(ofOutput, ofErrors))
    }
    if (answered === 0) await withErrors(null)
    else await output.finish(named('output'), withErrors)
  } catch (error) {
    // The sweep removes what this fails to remove.
    await Promise.allSettled([output.drop(), errors.drop()])
    throw error
  }
}
