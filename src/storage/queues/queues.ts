import { exactJson } from '../../../packages/json/index.ts'
import type { AnnotationState, ItemState } from '../../domain/annotation-states.ts'
import { checkReviewSettings, type ReviewSettings } from '../../domain/queues/reviews.ts'
import { refuse } from '../../domain/refusals.ts'
import { namesOf } from '../sql/columns.ts'
import { namedRows } from '../sql/named-rows.ts'
import { allOf, join, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { type RowIn, tableOf } from '../sql/table.ts'
import { allRows, type BoundReader, type Command, type Reader, type Transaction } from '../transaction.ts'
import { reviewColumns, reviewSettingsOf, storedReviewSettings } from './review-settings.ts'

const queues = tableOf('annotation_queues', {
  project_id: 'text',
  id: 'text',
  name: 'text',
  description: 'text',
  scorer_refs: 'json',
  created_at: 'time',
  created_by: 'text',
  updated_at: 'time',
  deleted_at: 'time?',
  ...reviewColumns,
})

/** A queue of calls for annotators. */
export type Queue = RowIn<typeof queues>

export interface QueueKey {
  project_id: string
  queue_id: string
}

/**
 * Everything that changes a queue or its items takes this lock, so that each change sees the result of the one before.
 */
export function queueLock({ project_id, queue_id }: QueueKey): string {
  return `annotation queue ${project_id} ${queue_id}`
}

/**
 * Taken both by what the rules of a project examine and by what changes the rules. Taken before the lock of a queue,
 * because a rule puts calls into one.
 */
export function rulesLock(project: string): string {
  return `annotation rules ${project}`
}

/** Its columns, for display. */
const shownColumns = ({ dialect }: Reader): Sql => {
  const stored = (name: string) => sql`${dialect.stored(rawSql(name), 'always')} AS ${rawSql(name)}`
  const columns = queues.names.map((name) => (queues.kinds[name] === 'json' ? stored(name) : rawSql(name)))
  return join(columns, ', ')
}

/** The queue, unless it was deleted. */
export function findQueue(db: Reader, projectId: string, id: string): Promise<Queue | undefined> {
  return db.get<Queue>(
    sql`SELECT ${shownColumns(db)} FROM annotation_queues WHERE project_id = ${projectId} AND id = ${id} AND deleted_at IS NULL`,
  )
}

/** The same, but refuses if there is no such queue. */
export async function requireQueue(db: Reader, { project_id, queue_id }: QueueKey): Promise<Queue> {
  const queue = await findQueue(db, project_id, queue_id)
  if (queue !== undefined) return queue
  throw refuse('annotation_queue_not_found', { field: 'queue_id', queue: queue_id, project: project_id })
}

export const streamQueues = namedRows<Queue>('annotation_queues', shownColumns)

export const addQueue: Command<Queue, void> = (tx, queue) => queues.insert(tx, [queue])

interface QueueChange extends QueueKey {
  /** Null leaves a field as it is. */
  name: string | null
  description: string | null
  scorer_refs: string | null
  /** Those that change. */
  review?: Partial<ReviewSettings>
  now: number
}

/** Returns the queue after the change. */
export const changeQueue: Command<QueueChange, Queue> = async (tx, change) => {
  await tx.lock(queueLock(change))
  const queue = await requireQueue(tx, change)
  const { name, description, scorer_refs, review = {}, now } = change
  const settings = { ...reviewSettingsOf(queue), ...review }
  if (Object.keys(review).length > 0) checkReviewSettings(settings)
  else if (name === null && description === null && scorer_refs === null) return queue
  const changed: Queue = {
    ...queue,
    name: name ?? queue.name,
    description: description ?? queue.description,
    scorer_refs: scorer_refs ?? queue.scorer_refs,
    ...storedReviewSettings(settings),
    updated_at: now,
  }
  if (!hasSameTolerance(queue, changed)) await requireNothingCompared(tx, change)
  const columns = ['name', 'description', 'scorer_refs', 'updated_at', ...namesOf(reviewColumns)] as const
  await queues.update(tx, changed, columns, sql`project_id = ${queue.project_id} AND id = ${queue.id}`)
  return changed
}

const hasSameTolerance = (queue: Queue, other: Queue): boolean =>
  exactJson(queue.tolerance) === exactJson(other.tolerance)

/** Whether the answers to an item differ is settled when they are given, so what it follows from stays. */
async function requireNothingCompared(tx: Transaction, { project_id, queue_id }: QueueKey): Promise<void> {
  const compared = await tx.get(
    sql`SELECT 1 AS found FROM annotation_queue_items WHERE project_id = ${project_id} AND queue_id = ${queue_id}
        AND finished_by > 1 LIMIT 1`,
  )
  if (compared === undefined) return
  throw refuse('queue_in_review', { field: 'tolerance', queue: queue_id })
}

/** Returns the queue as it was, with the time of deletion. Its items stay; its rules are removed. */
export const deleteQueue: Command<QueueKey & { now: number }, Queue> = async (tx, deletion) => {
  await tx.lock(rulesLock(deletion.project_id))
  await tx.lock(queueLock(deletion))
  const queue = await requireQueue(tx, deletion)
  const itsRules = sql`SELECT id FROM annotation_rules WHERE project_id = ${queue.project_id} AND queue_id = ${queue.id}`
  await tx.run(
    sql`DELETE FROM annotation_rule_scores WHERE project_id = ${queue.project_id} AND rule_id IN (${itsRules})`,
  )
  await tx.run(
    sql`DELETE FROM annotation_rules WHERE project_id = ${queue.project_id} AND queue_id = ${queue.id}`,
  )
  await tx.run(
    sql`UPDATE annotation_queues SET deleted_at = ${deletion.now} WHERE project_id = ${queue.project_id} AND id = ${queue.id}`,
  )
  return { ...queue, deleted_at: deletion.now }
}

/** The number of items of a queue in a state; with an annotator, in that annotator's own state. */
export type QueueCount = {
  queue_id: string
  count: number
  /** Of these, the items that any annotator has completed or skipped. */
  finished: number
  /** Those that wait for a decision, because the answers of their reviewers differ. */
  disagreed: number
} & ({ annotator: null; state: ItemState } | { annotator: string; state: AnnotationState })

/** One statement, so that all counts are from the same moment. A missing queue has no row. */
export function countItems(
  db: BoundReader,
  projectId: string,
  queueIds: readonly string[],
): Promise<QueueCount[]> {
  const live = sql`queue_id IN (SELECT queue.id FROM annotation_queues AS queue
    WHERE queue.project_id = ${projectId} AND queue.deleted_at IS NULL AND queue.id IN (${listOf(queueIds)}))`
  const counted = allOf([sql`project_id = ${projectId}`, live, db.dialect.cancellable])
  const statement = sql`SELECT queue_id, CAST(NULL AS TEXT) AS annotator, state, count(*) AS count,
      count(CASE WHEN finished_by > 0 THEN 1 END) AS finished,
      count(CASE WHEN differs = 1 AND adjudicated_by IS NULL AND finished_by >= (SELECT queue.annotators
        FROM annotation_queues AS queue WHERE queue.project_id = item.project_id AND queue.id = item.queue_id)
        THEN 1 END) AS disagreed
    FROM annotation_queue_items AS item WHERE ${counted} GROUP BY queue_id, state
    UNION ALL
    SELECT queue_id, annotator, state, count(*), 0, 0 FROM annotation_progress
    WHERE ${counted} GROUP BY queue_id, annotator, state`
  return allRows<QueueCount>(db, statement)
}
