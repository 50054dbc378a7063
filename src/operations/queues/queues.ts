import { byCaller, type Caller, requireAccess } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { checkReviewSettings, oneReviewer, type ReviewSettings } from '../../domain/queues/reviews.ts'
import { now } from '../../domain/time.ts'
import { viewOf } from '../../domain/view.ts'
import type { BoundDatabase, Database } from '../../storage/database.ts'
import { type QueueKey, requireQueue, streamQueues } from '../../storage/queues/queues.ts'
import { storedReviewSettings } from '../../storage/queues/review-settings.ts'
import type { Reader } from '../../storage/transaction.ts'
import { jsonLines } from '../json-lines.ts'
import type { NamedQuery } from '../paging-contract.ts'
import type { CreateBody, UpdateBody } from './contract.ts'
import { queueRecord } from './record.ts'

/** The settings that the body names. */
function reviewIn(body: CreateBody | UpdateBody): Partial<ReviewSettings> {
  const { annotators, reviewers, blind, adjudication, adjudicators, tolerance } = body
  return {
    ...(annotators != null && { annotators }),
    ...(reviewers && { reviewers: [...new Set(reviewers)] }),
    ...(blind != null && { blind }),
    ...(adjudication && { adjudication }),
    ...(adjudicators && { adjudicators: [...new Set(adjudicators)] }),
    ...(tolerance && { tolerance }),
  }
}

export async function createQueue(db: Database, caller: Caller, body: CreateBody) {
  requireAccess(caller, body.project_id)
  const settings = { ...oneReviewer, ...reviewIn(body) }
  checkReviewSettings(settings)
  const time = now()
  const id = newId()
  await db.write('addQueue', {
    project_id: body.project_id,
    id,
    name: body.name,
    description: body.description ?? '',
    scorer_refs: JSON.stringify(body.scorer_refs),
    ...storedReviewSettings(settings),
    created_at: time,
    created_by: caller.name,
    updated_at: time,
    deleted_at: null,
  })
  return { id }
}

export async function readQueue(db: Reader, caller: Caller, key: QueueKey) {
  requireAccess(caller, key.project_id)
  return { queue: queueRecord(await requireQueue(db, key)) }
}

export async function updateQueue(db: Database, caller: Caller, queue_id: string, body: UpdateBody) {
  const { project_id, name, description, scorer_refs } = body
  requireAccess(caller, project_id)
  const queue = await db.write('changeQueue', {
    project_id,
    queue_id,
    name: name ?? null,
    description: description ?? null,
    scorer_refs: scorer_refs ? JSON.stringify(scorer_refs) : null,
    review: reviewIn(body),
    now: now(),
  })
  return { queue: queueRecord(queue) }
}

export async function deleteOneQueue(db: Database, caller: Caller, key: QueueKey) {
  requireAccess(caller, key.project_id)
  const queue = await db.write('deleteQueue', { ...key, now: now(), by: byCaller(caller) })
  return { queue: queueRecord(queue) }
}

/** One JSON text for each queue. */
export function listQueues(db: BoundDatabase, caller: Caller, body: NamedQuery): AsyncIterable<string> {
  requireAccess(caller, body.project_id)
  const chunks = streamQueues(db, { ...viewOf(body), name: body.name ?? undefined })
  return jsonLines(chunks, queueRecord)
}
