import { type Caller, requireAccess } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { writeJson } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import { viewOf } from '../../domain/view.ts'
import type { Database } from '../../storage/database.ts'
import { streamItems } from '../../storage/queues/items.ts'
import { requireQueue } from '../../storage/queues/queues.ts'
import type { CallNames } from '../recording/named-calls.ts'
import {
  type AddItemsBody,
  defaultLeaseSeconds,
  type InProject,
  type NextBody,
  type ProgressBody,
  type QueryItemsBody,
} from './contract.ts'
import { itemRecord } from './record.ts'

const maxIds = 1000

interface Asked {
  db: Database
  names: CallNames
}

/** Counts every given id once: as added, as a duplicate or as unknown. */
export async function addItems({ db, names }: Asked, caller: Caller, queue_id: string, body: AddItemsBody) {
  const { project_id, call_ids, display_fields } = body
  requireAccess(caller, project_id)
  if (call_ids.length > maxIds)
    throw refuse('too_many_ids', { field: 'call_ids', given: call_ids.length, limit: maxIds })
  const ids = await names.calls(project_id, call_ids)
  const result = await db.write('addCallsToQueue', {
    project_id,
    queue_id,
    calls: [...new Set(ids)].map((call_id) => ({ item_id: newId(), call_id })),
    display_fields: JSON.stringify(display_fields ?? []),
    added_by: caller.name,
    now: now(),
  })
  const unknown = new Set(result.unknown)
  const unknownGiven = ids.filter((id) => unknown.has(id)).length
  return {
    added_count: result.added,
    duplicates: call_ids.length - result.added - unknownGiven,
    unknown: unknownGiven,
    unknown_call_ids: result.unknown,
  }
}

/** One JSON text for each item, in the queue's order unless asked otherwise. */
export async function listItems(
  { db, names }: Asked,
  caller: Caller,
  queue_id: string,
  body: QueryItemsBody,
  signal: AbortSignal,
): Promise<AsyncIterable<string>> {
  const { project_id } = body
  requireAccess(caller, project_id)
  const call_id = body.filter?.call_id
  const filter = call_id
    ? { ...body.filter, call_id: await names.call(project_id, call_id) }
    : (body.filter ?? undefined)
  const view = { ...viewOf(body), queue_id, annotator: caller.name, filter }
  const chunks = streamItems(db, view, signal)
  await requireQueue(db, { project_id, queue_id })
  const time = now()
  return (async function* () {
    for await (const items of chunks) {
      for (const item of items) yield writeJson(itemRecord(item, time, body.include_position === true))
    }
  })()
}

const microsPerSecond = 1_000_000

interface ItemKey {
  queue_id: string
  item_id: string
}

export async function updateProgress(
  db: Database,
  caller: Caller,
  { queue_id, item_id }: ItemKey,
  { project_id, annotation_state: state }: ProgressBody,
) {
  requireAccess(caller, project_id)
  const time = now()
  const lease = defaultLeaseSeconds * microsPerSecond
  const key = { project_id, queue_id, item_id }
  const item = await db.write('setProgress', { ...key, annotator: caller.name, state, now: time, lease })
  return { item: itemRecord(item, time, true) }
}

/** Ends the caller's lease of an item, so that others need not wait until it expires. */
export async function releaseItem(db: Database, caller: Caller, key: ItemKey, { project_id }: InProject) {
  requireAccess(caller, project_id)
  const time = now()
  const item = await db.write('releaseItem', { ...key, project_id, annotator: caller.name })
  return { item: itemRecord(item, time, true) }
}

/** Reopens an item that the caller has completed or skipped. */
export async function reopenItem(db: Database, caller: Caller, key: ItemKey, { project_id }: InProject) {
  requireAccess(caller, project_id)
  const time = now()
  const lease = defaultLeaseSeconds * microsPerSecond
  const item = await db.write('reopenItem', {
    ...key,
    project_id,
    annotator: caller.name,
    now: time,
    lease,
  })
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
    annotators: body.annotators ?? null,
    except: body.except_item_ids ?? [],
    now: time,
    lease: (body.lease_seconds ?? defaultLeaseSeconds) * microsPerSecond,
  })
  return { item: item && itemRecord(item, time, true), leased_items: leased }
}
