import assert from 'node:assert/strict'
import type { Answer, TestApp } from './app.ts'
import { keys } from './app.ts'
import { completeOf, project, startOf } from './calls.ts'

export const queueOf = (fields: Record<string, unknown> = {}) => ({
  project_id: project,
  name: 'Hard questions',
  scorer_refs: [],
  ...fields,
})

export async function createQueue(
  post: TestApp['post'],
  fields: Record<string, unknown> = {},
  key: string = keys.alice,
): Promise<string> {
  const answer = await post('/annotation_queues', queueOf(fields), key)
  assert.equal(answer.status, 200, answer.text)
  return answer.json.id
}

export interface FilledQueue {
  queueId: string
  /** In the order of the queue. */
  callIds: string[]
  itemIds: string[]
}

/** A queue of this many calls, each begun a minute after the one before. */
export async function fillQueue(
  post: TestApp['post'],
  size: number,
  { project_id = project, key = keys.alice }: { project_id?: string; key?: string } = {},
): Promise<FilledQueue> {
  const calls = Array.from({ length: size }, (_, n) =>
    completeOf({ project_id, started_at: `2026-01-02T03:${String(n % 60).padStart(2, '0')}:00Z` }),
  )
  const stored = await post(`/v2/${project_id}/calls/complete`, { batch: calls }, key)
  assert.equal(stored.status, 200, stored.text)
  const queueId = await createQueue(post, { project_id }, key)
  const callIds = calls.map(({ id }) => id)
  const added = await post(
    `/annotation_queues/${queueId}/items`,
    { project_id, call_ids: callIds, display_fields: ['inputs.question'] },
    key,
  )
  assert.equal(added.json.added_count, size, added.text)
  const { json } = await post(`/annotation_queues/${queueId}/items/query`, { project_id }, key)
  return { queueId, callIds, itemIds: json.items.map(({ id }: { id: string }) => id) }
}

export function setItemState(
  post: TestApp['post'],
  queueId: string,
  itemId: string | undefined,
  annotation_state: string,
  key: string = keys.alice,
): Promise<Answer> {
  const body = { project_id: project, annotation_state }
  return post(`/annotation_queues/${queueId}/items/${itemId}/progress`, body, key)
}

/** The part of an item that annotators change. */
export function annotatorFields({ json }: Answer) {
  const { annotation_state, annotator_user_id, own_annotation_state, lease } = json.item
  return [annotation_state, annotator_user_id, own_annotation_state, lease?.user ?? null]
}

export const unknownCall = () => startOf().id
