import type { AnnotationState, ItemState } from '../../domain/annotation-states.ts'
import { type Page, pageOf } from '../sql/page.ts'
import { allOf, join, listOf, Sql, type SqlValue, sql } from '../sql/sql.ts'
import type { Command, Reader, Transaction } from '../transaction.ts'
import { isLive } from './calls.ts'
import { type QueueKey, queueTurn, requireQueue } from './queues.ts'

/** A call in a queue, as it was when it was added, and how far the annotators are. */
export interface QueueItem {
  project_id: string
  id: string
  queue_id: string
  position: number
  call_id: string
  call_op_name: string
  call_trace_id: string
  call_started_at: number
  call_ended_at: number | null
  /** A JSON list. */
  display_fields: string
  added_at: number
  added_by: string
  /** Of whoever spoke last. */
  state: ItemState
  annotator: string | null
  /** How many annotators have completed or skipped it. */
  finished_by: number
  leased_by: string | null
  leased_until: number | null
}

/** The same with the state of the one who asks; null is unstarted. */
export interface SeenItem extends QueueItem {
  own_state: AnnotationState | null
}

/** A row of SeenItem from `annotation_queue_items AS item`. */
function seenBy(annotator: string): Sql {
  return sql`item.project_id, item.id, item.queue_id, item.position, item.call_id, item.call_op_name, item.call_trace_id,
    item.call_started_at, item.call_ended_at, item.display_fields, item.added_at, item.added_by, item.state, item.annotator,
    item.finished_by, item.leased_by, item.leased_until, ${ownState(annotator)} AS own_state`
}

/** NULL is unstarted. */
export function ownState(annotator: string): Sql {
  return sql`(SELECT progress.state FROM annotation_progress AS progress WHERE progress.project_id = item.project_id
    AND progress.item_id = item.id AND progress.annotator = ${annotator})`
}

export interface ItemsQuery extends Page, QueueKey {
  annotator: string
  conditions: readonly Sql[]
  order: readonly Sql[]
}

/** Conditions and order read `annotation_queue_items AS item`. */
export function selectItems(db: Reader, query: ItemsQuery): Sql {
  const conditions = [ofQueue(query), ...query.conditions, db.dialect.going]
  return sql`SELECT ${seenBy(query.annotator)} FROM annotation_queue_items AS item WHERE ${allOf(conditions)}
    ORDER BY ${join(query.order, ', ')}${pageOf(db.dialect, query)}`
}

export function ofQueue({ project_id, queue_id }: QueueKey): Sql {
  return sql`item.project_id = ${project_id} AND item.queue_id = ${queue_id}`
}

/** The first item that the conditions leave, for a command. */
export function firstItem(
  tx: Reader,
  annotator: string,
  conditions: readonly Sql[],
  order: Sql,
): Promise<SeenItem | undefined> {
  return tx.get<SeenItem>(
    sql`SELECT ${seenBy(annotator)} FROM annotation_queue_items AS item WHERE ${allOf(conditions)} ORDER BY ${order} LIMIT 1`,
  )
}

export function findItem(
  tx: Reader,
  key: QueueKey,
  id: string,
  annotator: string,
): Promise<SeenItem | undefined> {
  return tx.get<SeenItem>(
    sql`SELECT ${seenBy(annotator)} FROM annotation_queue_items AS item WHERE ${ofQueue(key)} AND item.id = ${id}`,
  )
}

/** Beside the row of a call: the id of the queue when the call is in it and the queue was not deleted, else NULL. */
export function isQueued(queueId: string): Sql {
  return sql`(SELECT queued.queue_id FROM annotation_queue_items AS queued
    JOIN annotation_queues AS queue ON queue.project_id = queued.project_id AND queue.id = queued.queue_id
    WHERE queued.project_id = calls.project_id AND queued.call_id = calls.id AND queued.queue_id = ${queueId}
      AND queue.deleted_at IS NULL)`
}

export interface CallsToAdd extends QueueKey {
  /** Each call once, with the id that its item gets if it becomes one; the queue keeps this order. */
  calls: readonly { item_id: string; call_id: string }[]
  display_fields: string
  added_by: string
  now: number
}

export interface AddedCalls {
  added: number
  /** Those that are in the queue already. */
  duplicates: string[]
  /** Those of which there is no live call. */
  unknown: string[]
}

/** Adds all of the calls that can be added. */
export const addCallsToQueue: Command<CallsToAdd, AddedCalls> = async (tx, given) => {
  await tx.turn(queueTurn(given))
  await requireQueue(tx, given)
  const known = await queuedAmong(tx, given)
  const fresh = given.calls.filter(({ call_id }) => !known.has(call_id))
  const live = await liveAmong(tx, given, fresh)
  const taken = fresh.filter(({ call_id }) => live.has(call_id))
  let position = await lastPosition(tx, given)
  const rows = taken.map(({ item_id, call_id }) => {
    const call = live.get(call_id) as LiveCall
    position++
    return [
      given.project_id,
      item_id,
      given.queue_id,
      position,
      call_id,
      call.op_name,
      call.trace_id,
      call.started_at,
      call.ended_at,
      given.display_fields,
      given.now,
      given.added_by,
    ]
  })
  const whole = rows.length - (rows.length % rowsAtOnce)
  for (let i = 0; i < whole; i += rowsAtOnce) await tx.run(insertion(rows.slice(i, i + rowsAtOnce)))
  for (const row of rows.slice(whole)) await tx.run(insertion([row]))
  return {
    added: taken.length,
    duplicates: [...known],
    unknown: fresh.filter(({ call_id }) => !live.has(call_id)).map(({ call_id }) => call_id),
  }
}

const idsAtOnce = 100

function* groupsOf(calls: CallsToAdd['calls']): Generator<Sql> {
  for (let i = 0; i < calls.length; i += idsAtOnce) {
    yield listOf(calls.slice(i, i + idsAtOnce).map(({ call_id }) => call_id))
  }
}

async function queuedAmong(tx: Transaction, given: CallsToAdd): Promise<Set<string>> {
  const found = new Set<string>()
  for (const ids of groupsOf(given.calls)) {
    const rows = await tx.all<{ call_id: string }>(
      sql`SELECT item.call_id FROM annotation_queue_items AS item WHERE ${ofQueue(given)} AND item.call_id IN (${ids})`,
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
  for (const ids of groupsOf(calls)) {
    const rows = await tx.all<LiveCall>(
      sql`SELECT id, op_name, trace_id, started_at, ended_at FROM calls
          WHERE project_id = ${project_id} AND id IN (${ids}) AND ${isLive(now)}`,
    )
    for (const call of rows) found.set(call.id, call)
  }
  return found
}

/** How many items there are, because positions have no gaps. */
export async function lastPosition(tx: Transaction, key: QueueKey): Promise<number> {
  const row = await tx.get<{ last: number | null }>(
    sql`SELECT max(item.position) AS last FROM annotation_queue_items AS item WHERE ${ofQueue(key)}`,
  )
  return row?.last ?? 0
}

const insertedColumns = [
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
]

/** Rows of one statement: two sizes, so that two statements are prepared. */
const rowsAtOnce = 20

function insertion(rows: readonly (readonly SqlValue[])[]): Sql {
  const row = `(${insertedColumns.map(() => '?').join(', ')})`
  return new Sql(
    `INSERT INTO annotation_queue_items (${insertedColumns.join(', ')}) VALUES ${rows.map(() => row).join(', ')}`,
    rows.flat(),
  )
}
