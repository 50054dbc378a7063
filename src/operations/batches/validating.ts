import { createYieldToLoop } from '../../../packages/waiting/index.ts'
import { now } from '../../domain/time.ts'
import type { Batch, HeldBatch } from '../../storage/batches/batches.ts'
import type { BatchLine } from '../../storage/batches/lines.ts'
import type { WireFile } from '../../storage/batches/wire-files.ts'
import type { Database } from '../../storage/database.ts'
import { piecesOf } from '../../storage/objects/files.ts'
import { createLineCheck, type InputError, linesOf } from './input.ts'

/** Lines of the input that are written at once. */
const linesAtOnce = 200
const maxErrors = 100

interface Validating {
  db: Database
  batch: Batch
  held: HeldBatch
  input: WireFile
  maxLines: number
  signal: AbortSignal
}

/** Reads the whole input before anything of it is asked. One wrong line, and the batch has failed. */
export async function validateInput({ db, batch, held, input, maxLines, signal }: Validating): Promise<void> {
  // A process that validated it before may have been killed.
  while (await db.write('dropBatchLines', held));
  const check = createLineCheck(batch.endpoint)
  const yieldToLoop = createYieldToLoop(signal)
  const errors: InputError[] = []
  let total = 0
  let lines: BatchLine[] = []
  for await (const found of linesOf(piecesOf(db, batch.project_id, input.upload_id, input.size))) {
    signal.throwIfAborted()
    const checked = check(found)
    const pause = yieldToLoop()
    if (pause) await pause
    if (checked === undefined) continue
    total++
    if (total > maxLines) {
      const message = `The file has more than ${maxLines} requests, which is the limit of this server.`
      errors.splice(0, maxErrors, { code: 'too_many_requests', line: found.line, message, param: null })
      break
    }
    if ('error' in checked) errors.push(checked.error)
    if (errors.length >= maxErrors) break
    if ('error' in checked || errors.length > 0) continue
    const { line, at, length } = found
    lines.push({ line, at, length, custom_id: checked.custom_id })
    if (lines.length < linesAtOnce) continue
    if (!(await db.write('addBatchLines', { ...held, lines }))) return
    lines = []
  }
  if (total === 0)
    errors.push({
      code: 'empty_file',
      line: null,
      message: 'The file has no requests.',
      param: 'input_file_id',
    })
  if (errors.length > 0) {
    await db.write('failBatch', { ...held, total, errors: JSON.stringify(errors), now: now() })
    return
  }
  if (!(await db.write('addBatchLines', { ...held, lines }))) return
  await db.write('startBatch', { ...held, total, now: now() })
}
