import { type JsonNode, jsonNode, membersOf, nodeAt, stringOf } from '../value/json-index.ts'
import { callRefOf } from '../value/ref.ts'
import type { QueueItem } from './queues.ts'
import { request, requestJson } from './request.ts'

const pathOf = (queue: string) => `/annotation_queues/${encodeURIComponent(queue)}`
const itemPath = (queue: string, item: string) => `${pathOf(queue)}/items/${encodeURIComponent(item)}`

/** How long `next` and `in_progress` lease an item. */
export const leaseMs = 15 * 60_000

interface NextItem {
  /** Null when none is open. */
  item: QueueItem | null
  /** Items leased to others. */
  leased_items: number
}

interface NextItemOptions {
  /** Reviewers that each item needs; undefined means as many as the queue says. */
  annotators: number | undefined
  /** Items that are skipped over. */
  except: readonly string[]
}

export function nextItem(
  project: string,
  queue: string,
  { annotators, except }: NextItemOptions,
): Promise<NextItem> {
  const body = { project_id: project, lease_seconds: leaseMs / 1_000, annotators, except_item_ids: except }
  return requestJson<NextItem>(`${pathOf(queue)}/next`, { body })
}

export async function readItem(project: string, queue: string, item: string): Promise<QueueItem | undefined> {
  const body = { project_id: project, filter: { id: item }, include_position: true }
  return (await requestJson<{ items: QueueItem[] }>(`${pathOf(queue)}/items/query`, { body })).items[0]
}

export type Progress = 'in_progress' | 'completed' | 'skipped'

export async function setProgress(
  project: string,
  queue: string,
  item: string,
  state: Progress,
): Promise<QueueItem> {
  const body = { project_id: project, annotation_state: state }
  return (await requestJson<{ item: QueueItem }>(`${itemPath(queue, item)}/progress`, { body })).item
}

export async function reopenItem(project: string, queue: string, item: string): Promise<QueueItem> {
  const body = { project_id: project }
  return (await requestJson<{ item: QueueItem }>(`${itemPath(queue, item)}/reopen`, { body })).item
}

/** The request outlives the page. */
export async function releaseItem(project: string, queue: string, item: string): Promise<void> {
  await request(`${itemPath(queue, item)}/release`, { body: { project_id: project }, isLast: true })
}

/** A reviewer's answer to one question. */
export interface Answer {
  type: string
  annotationRef?: string
  /** As JSON. */
  payload: string
}

export interface AnswerTarget {
  project: string
  queue: string
  call: string
}

function feedbackText(
  { project, queue, call }: AnswerTarget,
  id: string,
  answer: Answer,
  replaced?: string,
): string {
  const rest = {
    project_id: project,
    weave_ref: callRefOf(project, call),
    feedback_type: answer.type,
    queue_id: queue,
    id,
    ...(answer.annotationRef !== undefined && { annotation_ref: answer.annotationRef }),
    ...(replaced !== undefined && { feedback_id: replaced }),
  }
  return `${JSON.stringify(rest).slice(0, -1)},"payload":${answer.payload}}`
}

/** All of them or none; repeating the same ids writes the same records. */
export async function addAnswers(
  place: AnswerTarget,
  answers: readonly [id: string, answer: Answer][],
): Promise<void> {
  if (answers.length === 0) return
  const batch = answers.map(([id, answer]) => feedbackText(place, id, answer))
  await request('/feedback/batch/create', { json: `{"batch":[${batch.join(',')}]}` })
}

export async function replaceAnswer(
  place: AnswerTarget,
  id: string,
  answer: Answer,
  replaced: string,
): Promise<void> {
  await request('/feedback/replace', { json: feedbackText(place, id, answer, replaced) })
}

export interface EarlierAnswer {
  id: string
  type: string
  user: string
  payload: JsonNode
}

/** The answers of everybody for the call in this queue, as far as this user may see them, the newest last. */
export async function readAnswers({ project, queue, call }: AnswerTarget): Promise<EarlierAnswer[]> {
  const is = (field: string, text: string) => ({ $eq: [{ $getField: field }, { $literal: text }] })
  const body = {
    project_id: project,
    query: {
      $expr: {
        $and: [is('weave_ref', callRefOf(project, call)), is('queue_id', queue)],
      },
    },
    sort_by: [{ field: 'created_at', direction: 'asc' }],
  }
  const result = nodeAt(jsonNode(await (await request('/feedback/query', { body })).text()), 'result')
  if (result === undefined) return []
  return [...membersOf(result)].map(({ node }) => ({
    id: stringOf(nodeAt(node, 'id')) ?? '',
    type: stringOf(nodeAt(node, 'feedback_type')) ?? '',
    user: stringOf(nodeAt(node, 'wb_user_id')) ?? '',
    payload: nodeAt(node, 'payload') ?? jsonNode('{}'),
  }))
}
