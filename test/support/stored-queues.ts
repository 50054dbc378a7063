import type { AnnotationState } from '../../src/domain/annotation-states.ts'
import { oneReviewer } from '../../src/domain/queues/reviews.ts'
import type { Database } from '../../src/storage/database.ts'
import { type SeenItem, streamItems } from '../../src/storage/queues/items.ts'
import type { AssignedItem, NextItem } from '../../src/storage/queues/progress.ts'
import { countItems, type Queue, type QueueCount } from '../../src/storage/queues/queues.ts'
import { storedReviewSettings } from '../../src/storage/queues/review-settings.ts'
import { boundTo } from '../../src/storage/transaction.ts'
import { newProject, secondMicros, startedAt, wholePart } from './call-parts.ts'
import { collect, viewIn } from './views.ts'

const never = new AbortController().signal

/** The time at which these tests work on the queues. */
export const noon = startedAt + 1000 * secondMicros
export const minute = 60 * secondMicros

export function queueRow(project_id: string, fields: Partial<Queue> = {}): Queue {
  return {
    project_id,
    id: 'queue',
    name: 'Hard questions',
    description: '',
    scorer_refs: '["a"]',
    ...storedReviewSettings(oneReviewer),
    created_at: startedAt,
    created_by: 'alice',
    updated_at: startedAt,
    deleted_at: null,
    ...fields,
  }
}

/** A queue in a project of its own, as the commands see it. */
export interface StoredQueue {
  project: string
  add(callIds: readonly string[], by?: string): ReturnType<typeof addCalls>
  say(itemId: string, annotator: string, state: AnnotationState, now?: number): Promise<SeenItem>
  next(annotator: string, fields?: Partial<NextItem>): Promise<AssignedItem>
  /** In the order of the queue, as one annotator sees them. */
  items(annotator?: string): Promise<SeenItem[]>
  counts(): Promise<QueueCount[]>
}

function addCalls(db: Database, project_id: string, callIds: readonly string[], added_by: string) {
  return db.write('addCallsToQueue', {
    project_id,
    queue_id: 'queue',
    calls: callIds.map((call_id) => ({ item_id: `${added_by} ${call_id}`, call_id, other_call_id: null })),
    display_fields: '["inputs"]',
    added_by,
    now: noon,
  })
}

/** A queue with the calls `call-000`, `call-001` … whose items are `alice call-000` … */
export async function openQueue(db: Database, size: number): Promise<StoredQueue> {
  const project = newProject()
  const key = { project_id: project, queue_id: 'queue' }
  const callIds = Array.from({ length: size }, (_, n) => `call-${String(n).padStart(3, '0')}`)
  const calls = callIds.map((id) => wholePart(project, id))
  await db.write('upsertCalls', calls)
  await db.write('addQueue', queueRow(project))
  const queue: StoredQueue = {
    project,
    add: (ids, by = 'alice') => addCalls(db, project, ids, by),
    say: (item_id, annotator, state, now = noon) =>
      db.write('setProgress', { ...key, item_id, annotator, state, now, lease: 15 * minute }),
    next: (annotator, fields) =>
      db.write('takeNextItem', { ...key, annotator, annotators: 1, now: noon, lease: minute, ...fields }),
    async items(annotator = 'alice') {
      const view = { ...viewIn(project), queue_id: key.queue_id, annotator, filter: undefined }
      return (await collect(streamItems(boundTo(db, never), view))).map((row) => ({ ...row }))
    },
    counts: async () => (await countItems(boundTo(db, never), project, ['queue'])).map((row) => ({ ...row })),
  }
  await queue.add(callIds)
  return queue
}
