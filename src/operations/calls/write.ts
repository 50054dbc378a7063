import { inSteps } from '../../../packages/waiting/index.ts'
import { byCaller, type Caller, requireAccess } from '../../domain/callers.ts'
import { isCompletionId } from '../../domain/ids.ts'
import { jsonList } from '../../domain/json/text.ts'
import { requireFew, wrong } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { CallPart } from '../../storage/calls/parts.ts'
import type { Database } from '../../storage/database.ts'
import { maxLeft } from '../../storage/queues/queued.ts'
import type { Projects } from '../projects/settings.ts'
import type { CallNames } from '../recording/named-calls.ts'
import type {
  CompleteBody,
  DeleteBody,
  EndedCall,
  StartedCall,
  UpdateBody,
  UpsertBatchBody,
} from './contract.ts'
import { endPart, mergeParts, startPart } from './parts.ts'
import { callNotFound } from './record.ts'

export interface Ingest {
  db: Database
  projects: Projects
}

type Started = { id: string; trace_id: string }

export async function startCall(
  { db, projects }: Ingest,
  caller: Caller,
  start: StartedCall,
): Promise<Started> {
  requireAccess(caller, start.project_id, 'start.project_id')
  const retentionDays = await projects.retentionDays(start.project_id)
  const started = startPart(start, { user: caller.name, retentionDays })
  await db.write('upsertCalls', [started])
  return { id: started.id, trace_id: started.start.trace_id }
}

export async function endCall({ db }: Ingest, caller: Caller, end: EndedCall): Promise<void> {
  requireAccess(caller, end.project_id, 'end.project_id')
  await db.write('upsertCalls', [endPart(end)])
}

/** As `startCall`, for a path that names the project: path and body must agree. */
export async function startCallOf(services: Ingest, caller: Caller, project: string, start: StartedCall) {
  requireAccess(caller, project, 'path')
  requireProjectOfPath('start.project_id', start.project_id, project)
  return startCall(services, caller, start)
}

export async function endCallOf(
  services: Ingest,
  caller: Caller,
  project: string,
  end: EndedCall,
): Promise<void> {
  requireAccess(caller, project, 'path')
  requireProjectOfPath('end.project_id', end.project_id, project)
  await endCall(services, caller, end)
}

/** All or nothing. A batch may be sent again as a whole. */
export async function upsertBatch({ db, projects }: Ingest, caller: Caller, { batch }: UpsertBatchBody) {
  const res: (Started | Record<string, never>)[] = []
  const callParts: CallPart[] = []
  await inSteps(batch, async (item, index) => {
    if (item.mode === 'start') {
      const { start } = item.req
      requireAccess(caller, start.project_id, `batch.${index}.req.start.project_id`)
      const retentionDays = await projects.retentionDays(start.project_id)
      const started = startPart(start, { user: caller.name, retentionDays })
      callParts.push(started)
      res.push({ id: started.id, trace_id: started.start.trace_id })
    } else {
      const { end } = item.req
      requireAccess(caller, end.project_id, `batch.${index}.req.end.project_id`)
      callParts.push(endPart(end))
      res.push({})
    }
  })
  if (callParts.length > 0) await db.write('upsertCalls', await mergeParts(callParts))
  return { res: await jsonList(res) }
}

/** Every call must belong to the project of the path. */
export async function writeComplete(
  { db, projects }: Ingest,
  caller: Caller,
  project: string,
  { batch }: CompleteBody,
): Promise<void> {
  requireAccess(caller, project, 'path')
  const intake = { user: caller.name, retentionDays: await projects.retentionDays(project) }
  const callParts: CallPart[] = []
  await inSteps(batch, (call, index) => {
    requireProjectOfPath(`batch.${index}.project_id`, call.project_id, project)
    callParts.push({ ...startPart(call, intake), end: endPart(call).end })
  })
  if (callParts.length > 0) await db.write('upsertCalls', await mergeParts(callParts))
}

function requireProjectOfPath(field: string, bodyProject: string, project: string): void {
  if (bodyProject === project) return
  throw wrong(field, JSON.stringify(bodyProject), `the project of the path, ${project}`)
}

interface Named extends Pick<Ingest, 'db'> {
  names: CallNames
}

/** The call need not exist yet, unless a completion names it: the SDK sends a rename before the batch with its call. */
export async function renameCall({ db, names }: Named, caller: Caller, body: UpdateBody): Promise<void> {
  const { project_id, call_id, display_name } = body
  requireAccess(caller, project_id)
  const id = await names.call(project_id, call_id)
  if (isCompletionId(id)) throw callNotFound('call_id', call_id, project_id)
  await db.write('renameCall', { project_id, id, name: display_name })
}

const maxIds = 1000

/** Counts the given ids, even unknown ones, and the descendants that were deleted with them. */
export async function deleteSomeCalls(
  { db, names }: Named,
  caller: Caller,
  { project_id, call_ids }: DeleteBody,
) {
  requireAccess(caller, project_id)
  requireFew('call_ids', call_ids, maxIds)
  const ids = [...new Set(await names.calls(project_id, call_ids))]
  const { descendants, left } = await db.write('deleteCalls', {
    project_id,
    ids,
    now: now(),
    by: byCaller(caller),
  })
  const num_deleted = ids.length + descendants
  if (left.length === 0) return { num_deleted }
  const named = left.slice(0, maxLeft)
  return {
    num_deleted,
    left: {
      feedback: named.flatMap(({ kind, id }) => (kind === 'feedback' ? [id] : [])),
      queue_items: named.flatMap(({ id, queue_id }) => (queue_id === null ? [] : [{ id, queue_id }])),
      has_more: left.length > named.length,
    },
  }
}
