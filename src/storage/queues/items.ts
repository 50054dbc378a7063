import type { AnnotationState, ItemState } from '../../domain/annotation-states.ts'
import type { Outcome } from '../../domain/queues/reviews.ts'
import type { View } from '../../domain/view.ts'
import { pageOf } from '../sql/rows-in-order.ts'
import { columnOrder } from '../sql/sorting.ts'
import { allOf, join, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { type RowIn, tableOf } from '../sql/table.ts'
import type { BoundReader, Reader, Transaction } from '../transaction.ts'
import type { QueueKey } from './queues.ts'

/** The call as it was when it was added. What changes later is not written with it. */
export const queueItems = tableOf('annotation_queue_items', {
  project_id: 'text',
  id: 'text',
  queue_id: 'text',
  position: 'number',
  call_id: 'text',
  call_op_name: 'text',
  call_trace_id: 'text',
  call_started_at: 'time',
  call_ended_at: 'time?',
  /** A list. */
  display_fields: 'json',
  added_at: 'time',
  added_by: 'text',
  /** The rule that added it; null if a user did. */
  rule_id: 'text?',
  /** The second call of a pair; null if one call is reviewed. */
  other_call_id: 'text?',
})

/** A call in a queue, and its annotation progress. */
interface QueueItem extends RowIn<typeof queueItems> {
  /** The state set by the annotator in the next field, who was the last to set it. */
  state: ItemState
  annotator: string | null
  /** How many annotators have completed or skipped it. */
  finished_by: number
  /** 0 or 1; null with fewer than two answers to compare. */
  differs: number | null
  adjudicated_by: string | null
  leased_by: string | null
  leased_until: number | null
}

/** The same with the state of the annotator who made the request; null means unstarted. */
export interface SeenItem extends QueueItem {
  own_state: AnnotationState | null
  /** 1 if that is the state of an adjudicator of the item; null means unstarted. */
  own_adjudicates: number | null
  /** When `state` was last changed; null means never. */
  state_at: number | null
  /** How many have to finish it. */
  needed: number
  outcome: Outcome
}

/** A row of SeenItem from `annotation_queue_items AS item`. */
function seenBy({ dialect }: Reader, annotator: string): Sql {
  return sql`item.project_id, item.id, item.queue_id, item.position, item.call_id, item.other_call_id, item.call_op_name, item.call_trace_id,
    item.call_started_at, item.call_ended_at, ${dialect.stored(rawSql('item.display_fields'), 'always')} AS display_fields, item.added_at, item.added_by, item.rule_id, item.state, item.annotator,
    item.finished_by, item.differs, item.adjudicated_by, item.leased_by, item.leased_until,
    ${ownState(annotator)} AS own_state, ${progressOf('adjudicates', sql`${annotator}`)} AS own_adjudicates,
    ${progressOf('updated_at', rawSql('item.annotator'))} AS state_at, ${needed} AS needed, ${outcome} AS outcome`
}

const needed = rawSql(`(SELECT queue.annotators FROM annotation_queues AS queue
  WHERE queue.project_id = item.project_id AND queue.id = item.queue_id)`)

/** Follows from what is stored and from the settings of the queue, so that a change of them counts for all items. */
const outcome = sql`CASE WHEN item.adjudicated_by IS NOT NULL THEN 'adjudicated' WHEN item.finished_by = 0 THEN 'open'
  WHEN item.finished_by < ${needed} THEN 'in_review' WHEN item.differs IS NULL THEN 'closed'
  WHEN item.differs = 1 THEN 'disagreed' ELSE 'agreed' END`

/** NULL means unstarted. */
export function ownState(annotator: string): Sql {
  return progressOf('state', sql`${annotator}`)
}

function progressOf(column: 'state' | 'updated_at' | 'adjudicates', annotator: Sql): Sql {
  return sql`(SELECT ${rawSql(`progress.${column}`)} FROM annotation_progress AS progress
    WHERE progress.project_id = item.project_id AND progress.item_id = item.id AND progress.annotator = ${annotator})`
}

const filterable = ['id', 'call_id', 'call_op_name', 'call_trace_id', 'added_by', 'rule_id'] as const

interface ItemsFilter extends Partial<Record<(typeof filterable)[number], string | null | undefined>> {
  annotation_states?: readonly ItemState[] | null | undefined
  /** States of the annotator who made the request. */
  own_annotation_states?: readonly ItemState[] | null | undefined
  outcomes?: readonly Outcome[] | null | undefined
}

interface ItemsView extends View {
  queue_id: string
  annotator: string
  filter: ItemsFilter | undefined
}

/** When the item was added, or when an annotator last changed a state of it. */
const updatedAt = `coalesce((SELECT latest.updated_at FROM annotation_progress AS latest
  WHERE latest.project_id = item.project_id AND latest.item_id = item.id AND latest.annotator = item.annotator),
  item.added_at)`

const sortable = {
  call_started_at: 'item.call_started_at',
  call_op_name: 'item.call_op_name',
  created_at: 'item.added_at',
  updated_at: updatedAt,
  position_in_queue: 'item.position',
}

/** The items of a queue, in its order by default. */
export function streamItems(db: BoundReader, view: ItemsView): AsyncIterable<SeenItem[]> {
  const { project, queue_id, annotator, filter, sort } = view
  const key = { project_id: project, queue_id }
  const conditions = [ofQueue(key), ...filtered(key, filter ?? {}, annotator)]
  const order = columnOrder(sort, sortable, [], ['item.position ASC'])
  const statement = sql`SELECT ${seenBy(db, annotator)} FROM annotation_queue_items AS item
    WHERE ${allOf([...conditions, db.dialect.cancellable])} ORDER BY ${join(order, ', ')}${pageOf(db.dialect, view)}`
  return db.stream<SeenItem>(statement)
}

function filtered(key: QueueKey, filter: ItemsFilter, annotator: string): Sql[] {
  const conditions = filterable.flatMap((name) => {
    const value = filter[name]
    if (value == null) return []
    return name === 'call_id' ? [isAbout(key, value)] : [sql`${rawSql(`item.${name}`)} = ${value}`]
  })
  const { annotation_states: states, own_annotation_states: own, outcomes } = filter
  if (outcomes?.length) conditions.push(sql`${outcome} IN (${listOf(outcomes)})`)
  if (states?.length) conditions.push(sql`item.state IN (${listOf(states)})`)
  if (own?.length) conditions.push(sql`coalesce(${ownState(annotator)}, 'unstarted') IN (${listOf(own)})`)
  return conditions
}

export function ofQueue({ project_id, queue_id }: QueueKey): Sql {
  return sql`item.project_id = ${project_id} AND item.queue_id = ${queue_id}`
}

/** The first item that satisfies the conditions, for use in a command. */
export function firstItem(
  tx: Reader,
  annotator: string,
  conditions: readonly Sql[],
  order: Sql,
): Promise<SeenItem | undefined> {
  return tx.get<SeenItem>(
    sql`SELECT ${seenBy(tx, annotator)} FROM annotation_queue_items AS item WHERE ${allOf(conditions)} ORDER BY ${order} LIMIT 1`,
  )
}

export function findItem(
  tx: Reader,
  key: QueueKey,
  id: string,
  annotator: string,
): Promise<SeenItem | undefined> {
  return tx.get<SeenItem>(
    sql`SELECT ${seenBy(tx, annotator)} FROM annotation_queue_items AS item WHERE ${ofQueue(key)} AND item.id = ${id}`,
  )
}

/** For a row of `calls`: the id of the queue if the call is in it and the queue was not deleted, else NULL. */
export function isQueued(queueId: string): Sql {
  const queueBy = (column: string) => sql`(SELECT queued.queue_id FROM annotation_queue_items AS queued
    JOIN annotation_queues AS queue ON queue.project_id = queued.project_id AND queue.id = queued.queue_id
    WHERE queued.project_id = calls.project_id AND ${rawSql(`queued.${column}`)} = calls.id
      AND queued.queue_id = ${queueId} AND queue.deleted_at IS NULL LIMIT 1)`
  return sql`coalesce(${queueBy('call_id')}, ${queueBy('other_call_id')})`
}

/** The item is of this call, or of a pair with it. */
const isAbout = (key: QueueKey, call: string): Sql =>
  sql`item.id IN (SELECT item.id FROM annotation_queue_items AS item WHERE ${ofQueue(key)} AND item.call_id = ${call}
    UNION ALL SELECT item.id FROM annotation_queue_items AS item WHERE ${ofQueue(key)} AND item.other_call_id = ${call})`

/** The number of items, unless an erasure has left gaps: then it is larger. */
export async function lastPosition(tx: Transaction, key: QueueKey): Promise<number> {
  const row = await tx.get<{ last: number | null }>(
    sql`SELECT max(item.position) AS last FROM annotation_queue_items AS item WHERE ${ofQueue(key)}`,
  )
  return row?.last ?? 0
}
