import { readInBatches } from '../../domain/batches.ts'
import { type ItemCalls, keyOfCalls } from '../../domain/queues/pairs.ts'
import { fireForQueues } from '../alerts/queues.ts'
import { isLive } from '../calls/calls.ts'
import { listOf, sql } from '../sql/sql.ts'
import type { RowIn } from '../sql/table.ts'
import type { Command, Transaction } from '../transaction.ts'
import { lastPosition, ofQueue, queueItems } from './items.ts'
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
  const added = { project_id, queue_id, display_fields, added_at: now, added_by, rule_id }
  const rows = taken.map(({ item_id: id, call_id, other_call_id }) => {
    const call = live.get(call_id) as LiveCall
    return { ...added, ...call, id, position: ++position, other_call_id }
  })
  await queueItems.insert(tx, rows)
  const ids = rows.map(({ id }) => id)
  if (ids.length > 0) tx.changed({ project: project_id, kind: 'item', queue: queue_id, ids })
  return {
    added: taken.length,
    duplicates: [...known],
    unknown: allIds(fresh).filter((id) => !live.has(id)),
  }
}

const idsOf = ({ call_id, other_call_id }: ItemCalls): string[] =>
  other_call_id === null ? [call_id] : [call_id, other_call_id]

const allIds = (calls: CallsToAdd['calls']): string[] => [...new Set(calls.flatMap(idsOf))]

async function queuedAmong(tx: Transaction, addition: CallsToAdd): Promise<Set<string>> {
  const queued = await readInBatches(allIds(addition.calls), 100, (ids) =>
    tx.all<ItemCalls>(
      sql`SELECT item.call_id, item.other_call_id FROM annotation_queue_items AS item
          WHERE ${ofQueue(addition)} AND item.call_id IN (${listOf(ids)})`,
    ),
  )
  const asked = new Set(addition.calls.map(keyOfCalls))
  return new Set(queued.map(keyOfCalls).filter((key) => asked.has(key)))
}

type LiveCall = Pick<
  RowIn<typeof queueItems>,
  'call_id' | 'call_op_name' | 'call_trace_id' | 'call_started_at' | 'call_ended_at'
>

async function liveAmong(
  tx: Transaction,
  { project_id, now }: CallsToAdd,
  calls: CallsToAdd['calls'],
): Promise<Map<string, LiveCall>> {
  const live = await readInBatches(allIds(calls), 100, (ids) =>
    tx.all<LiveCall>(
      sql`SELECT id AS call_id, op_name AS call_op_name, trace_id AS call_trace_id, started_at AS call_started_at,
            ended_at AS call_ended_at FROM calls
          WHERE project_id = ${project_id} AND id IN (${listOf(ids)}) AND ${isLive(now)}`,
    ),
  )
  return new Map(live.map((call) => [call.call_id, call]))
}
