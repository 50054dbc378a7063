import { type Caller, requireAccess } from '../../domain/callers.ts'
import { refuse } from '../../domain/refusals.ts'
import { createYieldToLoop } from '../../domain/yielding.ts'
import type { Database } from '../../storage/database.ts'
import type { CallPart } from '../../storage/tables/call-parts.ts'
import type { CompleteBody, EndedCall, StartedCall, UpdateBody, UpsertBatchBody } from './contract.ts'
import { endPart, mergeParts, startPart } from './parts.ts'

export interface Ingest {
  db: Database
  retentionDays: number
}

type Started = { id: string; trace_id: string }

export async function startCall(
  { db, retentionDays }: Ingest,
  caller: Caller,
  start: StartedCall,
): Promise<Started> {
  requireAccess(caller, start.project_id, 'start.project_id')
  const part = startPart(start, { user: caller.name, retentionDays })
  await db.write('upsertCalls', [part])
  return { id: part.id, trace_id: part.start.trace_id }
}

export async function endCall({ db }: Ingest, caller: Caller, end: EndedCall): Promise<void> {
  requireAccess(caller, end.project_id, 'end.project_id')
  await db.write('upsertCalls', [endPart(end)])
}

/** All or nothing: a batch that is answered is stored, one that is refused left nothing. It may be re-sent whole. */
export async function upsertBatch({ db, retentionDays }: Ingest, caller: Caller, { batch }: UpsertBatchBody) {
  const res: (Started | Record<string, never>)[] = []
  const parts: CallPart[] = []
  const yieldToLoop = createYieldToLoop()
  for (const [index, item] of batch.entries()) {
    const pause = yieldToLoop()
    if (pause) await pause
    if (item.mode === 'start') {
      const { start } = item.req
      requireAccess(caller, start.project_id, `batch.${index}.req.start.project_id`)
      const part = startPart(start, { user: caller.name, retentionDays })
      parts.push(part)
      res.push({ id: part.id, trace_id: part.start.trace_id })
    } else {
      const { end } = item.req
      requireAccess(caller, end.project_id, `batch.${index}.req.end.project_id`)
      parts.push(endPart(end))
      res.push({})
    }
  }
  if (parts.length > 0) await db.write('upsertCalls', mergeParts(parts))
  return { res }
}

/** Every record belongs to the project of the path. */
export async function writeComplete(
  { db, retentionDays }: Ingest,
  caller: Caller,
  project: string,
  { batch }: CompleteBody,
): Promise<void> {
  requireAccess(caller, project, 'path')
  const parts: CallPart[] = []
  const yieldToLoop = createYieldToLoop()
  for (const [index, call] of batch.entries()) {
    const pause = yieldToLoop()
    if (pause) await pause
    if (call.project_id !== project) {
      const given = JSON.stringify(call.project_id)
      throw refuse('invalid_value', {
        field: `batch.${index}.project_id`,
        given,
        accepted: `the project of the path, ${project}`,
      })
    }
    parts.push({ ...startPart(call, { user: caller.name, retentionDays }), end: endPart(call).end })
  }
  if (parts.length > 0) await db.write('upsertCalls', mergeParts(parts))
}

/** The name may arrive before the call: the SDK sends its batches later than its renames. */
export async function renameCall({ db }: Ingest, caller: Caller, body: UpdateBody): Promise<void> {
  requireAccess(caller, body.project_id)
  await db.write('renameCall', { project_id: body.project_id, id: body.call_id, name: body.display_name })
}
