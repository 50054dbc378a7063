import type { z } from 'zod'
import type * as contract from '../../src/operations/queues/contract.ts'
import type * as rules from '../../src/operations/queues/rule-contract.ts'
import { requestJson, requestLines } from './request.ts'

export type Queue = z.output<typeof contract.QueueRecord>
export type QueueItem = z.output<typeof contract.ItemRecord>
export type QueueStats = z.output<typeof contract.QueueStats>
export type QueueRule = z.output<typeof rules.RuleRecord>
export type ItemState = QueueItem['annotation_state']

/** Queues that are read where one is chosen or looked for. */
export const mostQueues = 500

const pathOf = (queue: string) => `/annotation_queues/${encodeURIComponent(queue)}`

interface QueuesView {
  /** A part of their names. */
  name?: string
  offset?: number
  limit?: number
}

/** The newest first. */
export async function readQueues(
  project: string,
  signal: AbortSignal,
  view: QueuesView = {},
): Promise<Queue[]> {
  const queues: Queue[] = []
  const body = { project_id: project, limit: mostQueues, ...view }
  for await (const line of requestLines('/annotation_queues/query', { body, signal })) {
    queues.push(JSON.parse(line) as Queue)
  }
  return queues
}

export async function readQueue(project: string, queue: string, signal: AbortSignal): Promise<Queue> {
  const search = new URLSearchParams({ project_id: project })
  return (await requestJson<{ queue: Queue }>(`${pathOf(queue)}?${search}`, { signal })).queue
}

export async function readStats(
  project: string,
  queues: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, QueueStats>> {
  if (queues.length === 0) return new Map()
  const body = { project_id: project, queue_ids: queues }
  const { stats } = await requestJson<{ stats: QueueStats[] }>('/annotation_queues/stats', { body, signal })
  return new Map(stats.map((one) => [one.queue_id, one]))
}

/** Who reviews the items, and who decides where they disagree. */
export type ReviewSettings = Pick<
  Queue,
  'annotators' | 'reviewers' | 'blind' | 'adjudication' | 'adjudicators' | 'tolerance'
>

interface NewQueue {
  name: string
  description?: string
  /** References of annotation specs. */
  specs?: readonly string[]
  review?: ReviewSettings
}

export async function makeQueue(project: string, { name, description = '', specs = [], review }: NewQueue) {
  const body = { project_id: project, name, description, scorer_refs: specs, ...review }
  return (await requestJson<{ id: string }>('/annotation_queues', { body })).id
}

export interface Added {
  added: number
  /** Already in the queue. */
  before: number
  unknown: number
}

/** Two calls whose answers are compared. */
export type CallPair = readonly [first: string, other: string]

/** Calls or pairs that one request may name. */
export const callsAtOnce = 1_000

/** Safe to repeat: what is already in the queue stays where it is. */
export async function addToQueue(
  project: string,
  queue: string,
  calls: readonly (string | CallPair)[],
): Promise<Added> {
  const sum: Added = { added: 0, before: 0, unknown: 0 }
  for (let from = 0; from < calls.length; from += callsAtOnce) {
    const some = calls.slice(from, from + callsAtOnce)
    const body = {
      project_id: project,
      call_ids: some.filter((call) => typeof call === 'string'),
      pairs: some.filter((call) => typeof call !== 'string').map((call_ids) => ({ call_ids })),
      display_fields: [],
    }
    const part = await requestJson<{ added_count: number; duplicates: number; unknown: number }>(
      `${pathOf(queue)}/items`,
      { body },
    )
    sum.added += part.added_count
    sum.before += part.duplicates
    sum.unknown += part.unknown
  }
  return sum
}

interface QueueChange {
  name: string
  description: string
  specs: readonly string[]
  review: ReviewSettings
}

export async function changeQueue(
  project: string,
  queue: string,
  { name, description, specs, review }: QueueChange,
): Promise<void> {
  const body = { project_id: project, name, description, scorer_refs: specs, ...review }
  await requestJson(pathOf(queue), { method: 'PUT', body })
}

export async function deleteQueue(project: string, queue: string): Promise<void> {
  const search = new URLSearchParams({ project_id: project })
  await requestJson(`${pathOf(queue)}?${search}`, { method: 'DELETE' })
}

/** How many items a view of the queue has; undefined means all. */
export function countOfState(stats: QueueStats, state: ItemsView['state']): number {
  if (state === undefined) return stats.total_items
  return state === 'disagreed' ? stats.disagreed_items : stats.by_state[state]
}

export interface ItemsView {
  project: string
  queue: string
  /** Only items in this state, or those whose reviewers disagree. */
  state?: ItemState | 'disagreed' | undefined
}

/** In the order of the queue. */
export async function readItems(
  { project, queue, state }: ItemsView,
  { offset, limit }: { offset: number; limit: number },
  signal: AbortSignal,
): Promise<QueueItem[]> {
  const body = {
    project_id: project,
    ...(state && { filter: state === 'disagreed' ? { outcomes: [state] } : { annotation_states: [state] } }),
    include_position: true,
    offset,
    limit,
  }
  const answer = await requestJson<{ items: QueueItem[] }>(`${pathOf(queue)}/items/query`, { body, signal })
  return answer.items
}

/** The item with this id, if the queue has it. */
export async function readItemOf(
  project: string,
  queue: string,
  item: string,
  signal: AbortSignal,
): Promise<QueueItem | undefined> {
  const body = { project_id: project, filter: { id: item }, limit: 1 }
  const answer = await requestJson<{ items: QueueItem[] }>(`${pathOf(queue)}/items/query`, { body, signal })
  return answer.items[0]
}

export async function readRules(project: string, queue: string, signal: AbortSignal): Promise<QueueRule[]> {
  const search = new URLSearchParams({ project_id: project })
  return (await requestJson<{ rules: QueueRule[] }>(`${pathOf(queue)}/rules?${search}`, { signal })).rules
}

export type NewRule = Pick<z.input<typeof rules.CreateRuleBody>, 'pick' | 'filter'>

export async function makeRule(project: string, queue: string, rule: NewRule): Promise<void> {
  await requestJson(`${pathOf(queue)}/rules`, { body: { project_id: project, ...rule } })
}

const rulePath = (queue: string, rule: string) => `${pathOf(queue)}/rules/${encodeURIComponent(rule)}`

export async function pauseRule(
  project: string,
  queue: string,
  rule: string,
  paused: boolean,
): Promise<void> {
  await requestJson(rulePath(queue, rule), { method: 'PUT', body: { project_id: project, paused } })
}

export async function deleteRule(project: string, queue: string, rule: string): Promise<void> {
  const search = new URLSearchParams({ project_id: project })
  await requestJson(`${rulePath(queue, rule)}?${search}`, { method: 'DELETE' })
}
