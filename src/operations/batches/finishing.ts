import { now } from '../../domain/time.ts'
import type { Batch, HeldBatch } from '../../storage/batches/batches.ts'
import { type AnsweredLine, answeredLines } from '../../storage/batches/lines.ts'
import type { NewWireFile } from '../../storage/batches/wire-files.ts'
import type { Database } from '../../storage/database.ts'
import { openWireFile } from '../wire-files/files.ts'
import { requestIdOf } from './asking.ts'

type Ending = 'completed' | 'expired' | 'cancelled'

const unanswered: Record<Ending, { code: string; message: string }> = {
  completed: { code: 'batch_failed', message: 'This request was not asked.' },
  expired: {
    code: 'batch_expired',
    message: 'This request could not be executed before the completion window expired.',
  },
  cancelled: { code: 'batch_cancelled', message: 'This request was not executed: the batch was cancelled.' },
}

/** Writes the files of answers and of errors. They appear together with the end of the batch. */
export async function finishFiles(
  db: Database,
  batch: Batch,
  held: HeldBatch,
  ending: Ending,
  signal: AbortSignal,
): Promise<void> {
  const to = { project: batch.project_id, user: batch.user_name, limit: Number.POSITIVE_INFINITY }
  const [output, errors] = [openWireFile(db, to), openWireFile(db, to)]
  let [answered, wrong] = [0, 0]
  try {
    for await (const row of answeredLines(db, held, signal)) {
      const isError = row.status === null || row.status >= 400
      if (isError) wrong++
      else answered++
      await (isError ? errors : output).add(Buffer.from(`${row.answer ?? unansweredLine(row)}\n`))
    }
    const named = (what: string) => ({
      filename: `${batch.id}_${what}.jsonl`,
      purpose: 'batch_output',
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

  function unansweredLine({ line, custom_id }: AnsweredLine): string {
    return JSON.stringify({
      id: requestIdOf(batch, line),
      custom_id,
      response: null,
      error: unanswered[ending],
    })
  }
}
