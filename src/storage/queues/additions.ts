import { batchesOf } from '../../domain/batches.ts'
import { type ItemCalls, keyOfCalls } from '../../domain/queues/pairs.ts'
import { fireForQueues } from '../alerts/queues.ts'
import { isLive } from '../calls/calls.ts'
import { insertInto } from '../sql/inserts.ts'
import { listOf, type Sql, type SqlValue, sql } from '../sql/sql.ts'
import type { Command, Transaction } from '../transaction.ts'
import { lastPosition, ofQueue } from './items.ts'
import { type QueueKey, queueLock, requireQueue } from './queues.ts'

interface CallsToAdd extends QueueKey {
  /** Each call or pair once, with the id of the item if it is added; the queue keeps this order. */
  calls: readonly CallsOfItem[]
  display_fields: string
  added_by: string
  /** Absent if a user adds them. */
  rule_id?: string
  now: number
}

interface CallsOfItem extends ItemCalls {
  item_id: string
}

interface AddedCalls {
  added: number
  /** Keys of calls and pairs that are already in the queue. */
  duplicates: string[]
  /** Ids without a live call. */
  unknown: string[]
}

/** Adds all of the calls that can be added. */
export const addCallsToQueue: Command<CallsToAdd, AddedCalls> = async (tx, addition) => {
  const result = await addToQueue(tx, addition)
  const { project_id, queue_id, now } = addition
  await fireForQueues(tx, project_id, [{ queue_id, waiting: result.added }], now)
  return result
}

/** The same without the alerts on the queue: for writes that add to several, and lock all of them first. */
export async function addToQueue(tx: Transaction, addition: CallsToAdd): Promise<AddedCalls> {
  await tx.lock(queueLock(addition))
  await requireQueue(tx, addition)
  const known = await queuedAmong(tx, addition)
  const fresh = addition.calls.filter((calls) => !known.has(keyOfCalls(calls)))
  const live = await liveAmong(tx, addition, fresh)
  const isLiveCall = (id: string) => live.has(id)
  const taken = fresh.filter((calls) => idsOf(calls).every(isLiveCall))
  let position = await lastPosition(tx, addition)
  const { project_id, queue_id, display_fields, now, added_by, rule_id = null } = addition
  const rows = taken.map(({ item_id, call_id, other_call_id }): SqlValue[] => {
    const { op_name, trace_id, started_at, ended_at } = live.get(call_id) as LiveCall
    const call = [call_id, op_name, trace_id, started_at, ended_at]
    const rest = [display_fields, now, added_by, rule_id, other_call_id]
    return [project_id, item_id, queue_id, ++position, ...call, ...rest]
  })
  for (const statement of insertItems(rows)) await tx.run(statement)
  if (taken.length > 0) {
    tx.changed({
      project: project_id,
      kind: 'item',
      queue: queue_id,
      ids: taken.map(({ item_id }) => item_id),
    })
  }
  return {
    added: taken.length,
    duplicates: [...known],
    unknown: allIds(fresh).filter((id) => !live.has(id)),
  }
}

const idsOf = ({ call_id, other_call_id }: ItemCalls): string[] =>
  other_call_id === null ? [call_id] : [call_id, other_call_id]

const allIds = (calls: CallsToAdd['calls']): string[] => [...new Set(calls.flatMap(idsOf))]

function* listsOf(calls: CallsToAdd['calls']): Generator<Sql> {
  for (const some of batchesOf(allIds(calls), 100)) yield listOf(some)
}

async function queuedAmong(tx: Transaction, addition: CallsToAdd): Promise<Set<string>> {
  const found = new Set<string>()
  const asked = new Set(addition.calls.map(keyOfCalls))
  for (const ids of listsOf(addition.calls)) {
    const rows = await tx.all<ItemCalls>(
      sql`SELECT item.call_id, item.other_call_id FROM annotation_queue_items AS item
          WHERE ${ofQueue(addition)} AND item.call_id IN (${ids})`,
    )
    for (const key of rows.map(keyOfCalls)) if (asked.has(key)) found.add(key)
  }
  return found
}

interface LiveCall {
  id: string
  op_name: string
  trace_id: string
  started_at: number
  ended_at: number | null
}

async function liveAmong(
  tx: Transaction,
  { project_id, now }: CallsToAdd,
  calls: CallsToAdd['calls'],
): Promise<Map<string, LiveCall>> {
  const found = new Map<string, LiveCall>()
  for (const ids of listsOf(calls)) {
    const rows = await tx.all<LiveCall>(
      sql`SELECT id, op_name, trace_id, started_at, ended_at FROM calls
          WHERE project_id = ${project_id} AND id IN (${ids}) AND ${isLive(now)}`,
    )
    for (const call of rows) found.set(call.id, call)
  }
  return found
}

const insertItems = insertInto('annotation_queue_items', [
  'project_id',
  'id',
  'queue_id',
  'position',
  'call_id',
  'call_op_name',
  'call_trace_id',
  'call_started_at',
  'call_ended_at',
  'display_fields',
  'added_at',
  'added_by',
  'rule_id',
  'other_call_id',
])
