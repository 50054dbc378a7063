import { batchesOf } from '../../domain/batches.ts'
import { fireForQueues } from '../alerts/queues.ts'
import { isLive } from '../calls/calls.ts'
import { insertInto } from '../sql/inserts.ts'
import { listOf, type Sql, type SqlValue, sql } from '../sql/sql.ts'
import type { Command, Transaction } from '../transaction.ts'
import { lastPosition, ofQueue } from './items.ts'
import { type QueueKey, queueLock, requireQueue } from './queues.ts'

interface CallsToAdd extends QueueKey {
  /** Each call once, with the id of the item if it is added; the queue keeps this order. */
  calls: readonly { item_id: string; call_id: string }[]
  display_fields: string
  added_by: string
  /** Absent if a user adds them. */
  rule_id?: string
  now: number
}

interface AddedCalls {
  added: number
  /** Calls that are already in the queue. */
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
  const fresh = addition.calls.filter(({ call_id }) => !known.has(call_id))
  const live = await liveAmong(tx, addition, fresh)
  const taken = fresh.filter(({ call_id }) => live.has(call_id))
  let position = await lastPosition(tx, addition)
  const { project_id, queue_id, display_fields, now, added_by, rule_id = null } = addition
  const rows = taken.map(({ item_id, call_id }): SqlValue[] => {
    const { op_name, trace_id, started_at, ended_at } = live.get(call_id) as LiveCall
    const call = [call_id, op_name, trace_id, started_at, ended_at]
    return [project_id, item_id, queue_id, ++position, ...call, display_fields, now, added_by, rule_id]
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
    unknown: fresh.filter(({ call_id }) => !live.has(call_id)).map(({ call_id }) => call_id),
  }
}

function* idsOf(calls: CallsToAdd['calls']): Generator<Sql> {
  for (const some of batchesOf(calls, 100)) yield listOf(some.map(({ call_id }) => call_id))
}

async function queuedAmong(tx: Transaction, addition: CallsToAdd): Promise<Set<string>> {
  const found = new Set<string>()
  for (const ids of idsOf(addition.calls)) {
    const rows = await tx.all<{ call_id: string }>(
      sql`SELECT item.call_id FROM annotation_queue_items AS item WHERE ${ofQueue(addition)} AND item.call_id IN (${ids})`,
    )
    for (const { call_id } of rows) found.add(call_id)
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
  for (const ids of idsOf(calls)) {
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
])
