import { type Caller, requireAccess } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { writeJson } from '../../domain/json/text.ts'
import { type ItemCalls, keyOfCalls } from '../../domain/queues/pairs.ts'
import { requireFew, wrong } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import { viewOf } from '../../domain/view.ts'
import type { BoundDatabase, Database } from '../../storage/database.ts'
import { streamItems } from '../../storage/queues/items.ts'
import { requireQueue } from '../../storage/queues/queues.ts'
import type { CallNames } from '../recording/named-calls.ts'
import { isBlind } from './annotator-view.ts'
import {
  type AddItemsBody,
  type CallPair,
  defaultLeaseSeconds,
  type InProject,
  type NextBody,
  type ProgressBody,
  type QueryItemsBody,
} from './contract.ts'
import { itemRecord } from './record.ts'

const maxIds = 1000

interface Asked {
  db: BoundDatabase
  names: CallNames
}

/** Counts every given call and pair once: as added, as a duplicate or as unknown. */
export async function addItems({ db, names }: Asked, caller: Caller, queue_id: string, body: AddItemsBody) {
  const { project_id, display_fields } = body
  const [call_ids, pairs] = [body.call_ids ?? [], body.pairs ?? []]
  requireAccess(caller, project_id)
  requireFew('call_ids', call_ids, maxIds)
  requireFew('pairs', pairs, maxIds)
  const ids = await names.calls(project_id, call_ids)
  const asked: ItemCalls[] = [
    ...ids.map((call_id) => ({ call_id, other_call_id: null })),
    ...(await pairsOf(names, project_id, pairs)),
  ]
  const once = [...Map.groupBy(asked, keyOfCalls).values()].flatMap((same) => same.slice(0, 1))
  const result = await db.write('addCallsToQueue', {
    project_id,
    queue_id,
    calls: once.map((calls) => ({ item_id: newId(), ...calls })),
    display_fields: JSON.stringify(display_fields ?? []),
    added_by: caller.name,
    now: now(),
  })
  const [known, unknown] = [new Set(result.duplicates), new Set(result.unknown)]
  const isUnknown = (calls: ItemCalls) =>
    (unknown.has(calls.call_id) || unknown.has(calls.other_call_id ?? '')) && !known.has(keyOfCalls(calls))
  const unknownAsked = asked.filter(isUnknown).length
  return {
    added_count: result.added,
    duplicates: asked.length - result.added - unknownAsked,
    unknown: unknownAsked,
    unknown_call_ids: result.unknown,
  }
}

async function pairsOf(names: CallNames, project: string, pairs: readonly CallPair[]): Promise<ItemCalls[]> {
  const ids = await names.calls(
    project,
    pairs.flatMap(({ call_ids }) => call_ids),
  )
  return pairs.map((_, index) => {
    const [call_id = '', other_call_id = ''] = ids.slice(2 * index, 2 * index + 2)
    if (call_id !== other_call_id) return { call_id, other_call_id }
    throw wrong(`pairs.${index}.call_ids`, `${JSON.stringify(call_id)} twice`, 'two different calls')
  })
}

/** One JSON text for each item, in the queue's order unless asked otherwise. */
export async function listItems(
  { db, names }: Asked,
  caller: Caller,
  queue_id: string,
  body: QueryItemsBody,
): Promise<AsyncIterable<string>> {
  const { project_id } = body
  requireAccess(caller, project_id)
  const call_id = body.filter?.call_id
  const filter = call_id
    ? { ...body.filter, call_id: await names.call(project_id, call_id) }
    : (body.filter ?? undefined)
  const view = { ...viewOf(body), queue_id, annotator: caller.name, filter }
  const chunks = streamItems(db, view)
  await requireQueue(db, { project_id, queue_id })
  const seeing = { user: caller.name, time: now(), withPosition: body.include_position === true }
  return (async function* () {
    for await (const items of chunks) {
      for (const item of items) yield writeJson(itemRecord(item, seeing))
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
  return { item: itemRecord(item, { user: caller.name, time }) }
}

/** Ends the caller's lease of an item, so that others need not wait until it expires. */
export async function releaseItem(db: Database, caller: Caller, key: ItemKey, { project_id }: InProject) {
  requireAccess(caller, project_id)
  const time = now()
  const item = await db.write('releaseItem', { ...key, project_id, annotator: caller.name })
  return { item: itemRecord(item, { user: caller.name, time }) }
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
    isBlind: isBlind(caller, project_id),
    now: time,
    lease,
  })
  return { item: itemRecord(item, { user: caller.name, time }) }
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
  return { item: item && itemRecord(item, { user: caller.name, time }), leased_items: leased }
}
