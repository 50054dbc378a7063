import { type AnnotationState, isFinished, statesAfter } from '../../domain/annotation-states.ts'
import type { ReviewSettings } from '../../domain/queues/reviews.ts'
import { refuse } from '../../domain/refusals.ts'
import { fireForQueues } from '../alerts/queues.ts'
import { allOf, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { type Command, countOf, type Transaction } from '../transaction.ts'
import { isAnsweredByOthers, settleAnswers } from './answers.ts'
import { findItem, firstItem, lastPosition, ofQueue, type SeenItem } from './items.ts'
import { type QueueKey, queueLock, requireQueue } from './queues.ts'
import { openToAdjudicator, openToReviewer, requireReviewer, roleIn, settleDecision } from './review-roles.ts'
import { reviewSettingsOf } from './review-settings.ts'

interface Progress extends QueueKey {
  item_id: string
  annotator: string
  state: AnnotationState
  now: number
  /** How long an annotator who begins an item has its lease, in microseconds. */
  lease: number
}

/**
 * Sets an annotator's state of an item. The item shows the state that was set last; the lock decides the order.
 * `in_progress` takes or renews the lease unless another annotator holds it, and finishing releases it.
 */
export const setProgress: Command<Progress, SeenItem> = async (tx, progress) => {
  const { item, settings } = await lockItem(tx, progress)
  const role = roleIn(settings, item, progress.annotator)
  const from = item.own_state ?? 'unstarted'
  const accepted = statesAfter(from)
  if (!accepted.includes(progress.state)) {
    throw refuse('annotation_state_conflict', {
      field: 'annotation_state',
      received: progress.state,
      state: from,
      accepted: accepted.join(', '),
    })
  }
  const { leased_by, leased_until } = leaseAfter(item, progress)
  if (from === progress.state && leased_until === item.leased_until) return item
  if (from === progress.state) {
    await setLease(tx, item, { leased_by, leased_until })
  } else {
    await changeState(tx, progress, item, {
      role,
      lease: { leased_by, leased_until },
      finished: isFinished(progress.state) ? 1 : 0,
    })
  }
  return (await findItem(tx, progress, progress.item_id, progress.annotator)) as SeenItem
}

type ItemOf = QueueKey & { item_id: string; annotator: string }

/** The item, which nothing else changes until the end of the transaction. */
async function lockItem(tx: Transaction, key: ItemOf): Promise<{ item: SeenItem; settings: ReviewSettings }> {
  await tx.lock(queueLock(key))
  const queue = await requireQueue(tx, key)
  const item = await findItem(tx, key, key.item_id, key.annotator)
  if (item !== undefined) return { item, settings: reviewSettingsOf(queue) }
  throw refuse('queue_item_not_found', { field: 'item_id', item: key.item_id, queue: key.queue_id })
}

interface StateChange {
  role: ReturnType<typeof roleIn>
  lease: Lease
  /** The change in the number of items that the annotator has finished. */
  finished: 1 | 0 | -1
}

async function changeState(
  tx: Transaction,
  { project_id, queue_id, item_id, annotator, state, now }: Progress,
  item: SeenItem,
  { role, lease: { leased_by, leased_until }, finished }: StateChange,
): Promise<void> {
  const adjudicates = role === 'adjudicator'
  await tx.run(
    sql`INSERT INTO annotation_progress (project_id, item_id, annotator, queue_id, state, created_at, updated_at, adjudicates)
        VALUES (${project_id}, ${item_id}, ${annotator}, ${queue_id}, ${state}, ${now}, ${now}, ${Number(adjudicates)})
        ON CONFLICT (project_id, item_id, annotator) DO UPDATE SET state = excluded.state, updated_at = excluded.updated_at`,
  )
  await tx.run(
    sql`UPDATE annotation_queue_items SET state = ${state}, annotator = ${annotator},
        finished_by = finished_by + ${adjudicates ? 0 : finished}, leased_by = ${leased_by}, leased_until = ${leased_until}
        WHERE project_id = ${project_id} AND id = ${item_id}`,
  )
  reportItem(tx, { project_id, queue_id, id: item_id })
  if (finished === 0) return
  if (adjudicates) await settleDecision(tx, { project_id, item_id })
  // With one reviewer, before and after, there is nothing to compare.
  else if (Number(item.finished_by) + Math.max(finished, 0) > 1)
    await settleAnswers(tx, { project_id, queue_id }, item)
  await tx.run(
    sql`INSERT INTO annotation_finished (project_id, queue_id, annotator, items)
        VALUES (${project_id}, ${queue_id}, ${annotator}, 1)
        ON CONFLICT (project_id, queue_id, annotator) DO UPDATE SET items = annotation_finished.items + ${finished}`,
  )
  const others = Number(item.finished_by) - (finished === 1 ? 0 : 1)
  if (!adjudicates && others === 0)
    await fireForQueues(tx, project_id, [{ queue_id, waiting: -finished }], now)
}

interface Reopening extends Omit<Progress, 'state'> {
  /** Of a blind queue, the annotator sees the answers of others only once it has completed the item. */
  isBlind?: boolean
}

/**
 * Undoes that the annotator has finished an item: it is in progress again, and leased to the annotator if it is free.
 */
export const reopenItem: Command<Reopening, SeenItem> = async (tx, { isBlind, ...progress }) => {
  const { item, settings } = await lockItem(tx, progress)
  if (item.own_state === null || !isFinished(item.own_state)) return item
  const role = roleIn(settings, item, progress.annotator)
  const mayHaveSeen = isBlind && settings.blind && item.own_state === 'completed' && role === 'reviewer'
  if (mayHaveSeen && (await isAnsweredByOthers(tx, item, progress.annotator))) {
    const accepted = 'nothing, because others have answered in a blind queue'
    const asked = { field: 'item_id', received: 'in_progress', state: item.own_state }
    throw refuse('annotation_state_conflict', { ...asked, accepted })
  }
  const begun = { ...progress, state: 'in_progress' as const }
  await changeState(tx, begun, item, { role, lease: leaseAfter(item, begun), finished: -1 })
  return (await findItem(tx, progress, progress.item_id, progress.annotator)) as SeenItem
}

/** If another annotator holds the lease, nothing changes. */
export const releaseItem: Command<ItemOf, SeenItem> = async (tx, key) => {
  const { item } = await lockItem(tx, key)
  if (item.leased_by !== key.annotator) return item
  const none = { leased_by: null, leased_until: null }
  await setLease(tx, item, none)
  return { ...item, ...none }
}

/**
 * An annotator's finished items are counted, so comparing the two numbers is enough. Where an erasure has left a gap in the
 * positions, they differ, and the items themselves are looked at.
 */
async function hasFinishedAll(tx: Transaction, request: NextItem): Promise<boolean> {
  const { project_id, queue_id, annotator } = request
  const finished = await tx.get<{ items: number }>(
    sql`SELECT items FROM annotation_finished
        WHERE project_id = ${project_id} AND queue_id = ${queue_id} AND annotator = ${annotator}`,
  )
  return finished !== undefined && finished.items >= (await lastPosition(tx, request))
}

interface Lease {
  leased_by: string | null
  leased_until: number | null
}

function leaseAfter(item: SeenItem, { annotator, state, now, lease }: Progress): Lease {
  const { leased_by, leased_until } = item
  if (isFinished(state)) {
    return leased_by === annotator ? { leased_by: null, leased_until: null } : { leased_by, leased_until }
  }
  const live = leased_until !== null && leased_until > now
  if (live && leased_by !== annotator) return { leased_by, leased_until }
  return { leased_by: annotator, leased_until: Math.max(now + lease, live ? leased_until : 0) }
}

async function setLease(tx: Transaction, item: SeenItem, { leased_by, leased_until }: Lease): Promise<void> {
  await tx.run(
    sql`UPDATE annotation_queue_items SET leased_by = ${leased_by}, leased_until = ${leased_until}
        WHERE project_id = ${item.project_id} AND id = ${item.id}`,
  )
  reportItem(tx, item)
}

function reportItem(tx: Transaction, { project_id, queue_id, id }: QueueKey & { id: string }): void {
  tx.changed({ project: project_id, kind: 'item', queue: queue_id, ids: [id] })
}

export interface NextItem extends QueueKey {
  annotator: string
  /** An item is open until this many annotators have completed or skipped it; without it, as many as the queue says. */
  annotators?: number | null
  /** Items to skip even if they are open. */
  except?: readonly string[]
  now: number
  /** In microseconds. */
  lease: number
}

export interface AssignedItem {
  item: SeenItem | null
  /** Items that would be open to the caller if another annotator did not hold their lease. */
  leased: number
}

/**
 * Hands out an open item and leases it. First an item that the annotator already holds, so that repeating a request
 * after a lost answer gives the same item. Then one that the annotator has begun. Then the item that the fewest
 * annotators have finished, in the queue's order.
 */
export const takeNextItem: Command<NextItem, AssignedItem> = async (tx, request) => {
  const { annotator, now } = request
  await tx.lock(queueLock(request))
  const settings = reviewSettingsOf(await requireQueue(tx, request))
  const adjudicates = settings.adjudicators.includes(annotator)
  if (!adjudicates) requireReviewer(settings, request.queue_id, annotator)
  // An annotator who is done asks repeatedly for more, and without this every item would be read to find none.
  if (await hasFinishedAll(tx, request)) return { item: null, leased: 0 }
  const here = ofQueue(request)
  const mine = sql`item.leased_by = ${annotator}`
  const live = sql`item.leased_until > ${now}`
  const free = sql`(item.leased_by IS NULL OR item.leased_by = ${annotator} OR item.leased_until <= ${now})`
  const annotators = (adjudicates ? null : request.annotators) ?? settings.annotators
  const asking = { annotator, annotators }
  const openTo = (read: (column: string) => Sql) =>
    adjudicates ? openToAdjudicator(asking, settings, read) : openToReviewer(asking, read)
  const named = openTo(unindexed)
  const others = request.except?.length ? [sql`item.id NOT IN (${listOf(request.except)})`] : []
  const byPosition = unindexed('item.position')
  const byFewest = rawSql(adjudicates ? 'item.position' : 'item.finished_by, item.position')
  const item =
    (await firstItem(tx, annotator, [here, mine, live, ...named, ...others], byPosition)) ??
    (await firstItem(tx, annotator, [begunBy(request), free, ...named, ...others], byPosition)) ??
    (await firstItem(tx, annotator, [here, free, ...openTo(rawSql), ...others], byFewest))
  const lease = { leased_by: annotator, leased_until: now + request.lease }
  if (item !== undefined) await setLease(tx, item, lease)
  const leasedToOthers = [
    here,
    rawSql('item.leased_by IS NOT NULL'),
    sql`item.leased_by <> ${annotator}`,
    live,
    ...named,
  ]
  const leased = await countOf(tx, sql`annotation_queue_items AS item WHERE ${allOf(leasedToOthers)}`)
  return { item: item ? { ...item, ...lease } : null, leased }
}

/**
 * A plus sign keeps SQLite from walking a whole queue along this column when leases and progress already select the few
 * items that count (https://sqlite.org/optoverview.html, "Disqualifying WHERE clause terms using unary +").
 */
function unindexed(column: string): Sql {
  return rawSql(`+${column}`)
}

function begunBy({ project_id, queue_id, annotator }: NextItem): Sql {
  return sql`item.project_id = ${project_id} AND item.id IN (SELECT begun.item_id FROM annotation_progress AS begun
    WHERE begun.project_id = ${project_id} AND begun.queue_id = ${queue_id} AND begun.annotator = ${annotator}
      AND begun.state = 'in_progress')`
}
