import { type Caller, requireAccess } from '../../domain/callers.ts'
import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { type NextBody, type ProgressBody, usualLeaseSeconds } from './contract.ts'
import { itemRecord } from './record.ts'

const microsPerSecond = 1_000_000

export async function updateProgress(
  db: Database,
  caller: Caller,
  { queue_id, item_id }: { queue_id: string; item_id: string },
  { project_id, annotation_state: state }: ProgressBody,
) {
  requireAccess(caller, project_id)
  const time = now()
  const lease = usualLeaseSeconds * microsPerSecond
  const key = { project_id, queue_id, item_id }
  const item = await db.write('setProgress', { ...key, annotator: caller.name, state, now: time, lease })
  return { item: itemRecord(item, time, true) }
}

/** Leases an open item to the caller. */
export async function nextItem(db: Database, caller: Caller, queue_id: string, body: NextBody) {
  const { project_id } = body
  requireAccess(caller, project_id)
  const time = now()
  const { item, leased } = await db.write('takeNextItem', {
    project_id,
    queue_id,
    annotator: caller.name,
    annotators: body.annotators ?? 1,
    now: time,
    lease: (body.lease_seconds ?? usualLeaseSeconds) * microsPerSecond,
  })
  return { item: item && itemRecord(item, time, true), leased_items: leased }
}
