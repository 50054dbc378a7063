import type { z } from 'zod'
import type { Expression } from '../../packages/filter/index.ts'
import type { Thread as ThreadAnswer } from '../../src/operations/totals/threads-contract.ts'
import type { LightCall } from '../../src/operations/views/contract.ts'
import type { Sort } from './calls.ts'
import { requestJson, requestLines } from './request.ts'

/** A conversation with everything that a list shows of it. */
type Answer = z.output<typeof ThreadAnswer>
export type Thread = { [Field in keyof Answer]-?: Exclude<Answer[Field], undefined> }

export interface ThreadsView {
  project: string
  /** Only conversations with a call that it holds for. */
  query: Expression | undefined
  sort: Sort
}

export const latestFirst: Sort = { field: 'last_updated', direction: 'desc' }

const bodyOf = ({ project, query, sort }: ThreadsView) => ({
  project_id: project,
  sort_by: [sort],
  ...(query && { query: { $expr: query } }),
})

async function threadsIn<Row>(body: object, signal: AbortSignal): Promise<Row[]> {
  const found: Row[] = []
  for await (const line of requestLines('/threads/stream_query', { body, signal }))
    found.push(JSON.parse(line) as Row)
  return found
}

export const readThreads = (
  view: ThreadsView,
  page: { offset: number; limit: number },
  signal: AbortSignal,
): Promise<Thread[]> => threadsIn({ ...bodyOf(view), ...page, include_details: true }, signal)

/** The current state of these conversations; those without turns are missing. */
export const readThreadsNamed = (
  project: string,
  thread_ids: readonly string[],
  signal: AbortSignal,
): Promise<Thread[]> =>
  threadsIn(
    { project_id: project, filter: { thread_ids }, limit: thread_ids.length, include_details: true },
    signal,
  )

/** How many conversations have a turn that began after this time, counted up to `limit`. */
export async function countThreadsAfter(
  view: ThreadsView,
  after_datetime: string,
  limit: number,
  signal: AbortSignal,
): Promise<number> {
  return (await threadsIn({ ...bodyOf(view), filter: { after_datetime }, limit }, signal)).length
}

/** As the server finds them: calls whose turn is their own id, and root calls. */
const isTurn = {
  $or: [
    { $eq: [{ $getField: 'parent_id' }, { $literal: null }] },
    { $eq: [{ $getField: 'turn_id' }, { $getField: 'id' }] },
  ],
}

interface Turns {
  calls: LightCall[]
  /** Continues with the next page; null on the last one. */
  next: string | null
}

/** The turns of a conversation, oldest first. */
export function readTurns(
  project: string,
  thread: string,
  page: { limit: number; after?: string | undefined },
  signal: AbortSignal,
): Promise<Turns> {
  const body = {
    project_id: project,
    filter: { thread_ids: [thread] },
    query: { $expr: isTurn },
    sort_by: [{ field: 'started_at', direction: 'asc' }],
    count_up_to: 0,
    ...page,
  }
  return requestJson('/views/calls', { body, signal })
}
