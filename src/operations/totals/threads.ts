import { z } from 'zod'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { dateTime, explainedObject, flag, plainText, projectId, shortList } from '../../domain/fields.ts'
import { refuse } from '../../domain/refusals.ts'
import { formatTime, now } from '../../domain/time.ts'
import { viewOf } from '../../domain/view.ts'
import type { Database } from '../../storage/database.ts'
import { readLightCalls } from '../../storage/views/light-calls.ts'
import {
  detailsOfThreads,
  streamThreads,
  type ThreadsView,
  type Thread as ThreadTimes,
  threadFields,
} from '../../storage/views/threads.ts'
import { jsonLines } from '../json-lines.ts'
import { limit, offset, query } from '../paging.ts'
import { LightCall } from '../views/contract.ts'

/** Threads of which one request shows more than the times. */
const maxDetailed = 1_000

const ThreadsFilter = z.strictObject({
  thread_ids: shortList(plainText(512), 1000)
    .nullish()
    .meta({ description: 'Only these threads. An empty list matches nothing.' }),
  after_datetime: dateTime.nullish().meta({ description: 'Counts only turns that began after this time.' }),
  before_datetime: dateTime.nullish().meta({ description: 'Counts only turns that began before this time.' }),
})

export const ThreadsBody = z.strictObject({
  project_id: projectId,
  filter: ThreadsFilter.nullish(),
  query: query.meta({
    description: 'Only conversations with a call that it holds for: {"$expr": …}; see docs/queries.md.',
  }),
  include_details: flag(false).meta({
    description: `Adds the fields from call_count on. Needs a limit of at most ${maxDetailed}.`,
  }),
  limit,
  offset,
  sort_by: z
    .array(z.strictObject({ field: z.enum(threadFields), direction: z.enum(['asc', 'desc']) }))
    .max(16)
    .nullish()
    .meta({ description: 'Default: the latest first.' }),
})
export type ThreadsBody = z.output<typeof ThreadsBody>

const time = z.iso.datetime()
const turn = z.string()
const milliseconds = z.number().nullable()
const names = z.array(z.string()).optional()
const count = z.int().min(0)
const { input_preview, output_preview, exception, status, feedback } = LightCall.shape

export const Thread = explainedObject({
  thread_id: [z.string(), 'The name of the conversation.'],
  turn_count: [z.int().min(1), 'Number of its turns.'],
  start_time: [time, 'When its first turn began.'],
  last_updated: [time, 'When its last turn ended, or began if it runs.'],
  first_turn_id: [turn, 'The call that began first.'],
  last_turn_id: [turn, 'The call that ended last; a running one counts by its start.'],
  p50_turn_duration_ms: [milliseconds, 'The median of its turns that have ended.'],
  p99_turn_duration_ms: [milliseconds, 'The 99th percentile of them.'],
  call_count: [count.optional(), 'Number of its turns and the calls below them.'],
  error_count: [count.optional(), 'Number of these calls that failed themselves.'],
  input_tokens: [count.nullish(), 'Tokens that were read, each counted once.'],
  output_tokens: [count.nullish(), 'Tokens that were written.'],
  cost: [z.number().nullish(), 'What they cost; null without a price.'],
  users: [names, 'The users of its turns, the most frequent first; at most 10.'],
  models: [names, 'The models of its calls.'],
  ops: [names, 'The ops of its turns.'],
  input_preview: [input_preview.optional(), 'The question of the first turn, on one line.'],
  output_preview: [output_preview.optional(), 'The answer of the last turn.'],
  exception: [exception.optional(), 'The exception of the last turn.'],
  status: [status.optional(), 'The status of the last turn.'],
  feedback: [feedback.optional(), 'How often something was said about its calls.'],
})

/** One JSON text for each thread of the project. */
export function queryThreads(db: Database, caller: Caller, body: ThreadsBody, signal: AbortSignal) {
  requireAccess(caller, body.project_id)
  const { thread_ids, after_datetime, before_datetime } = body.filter ?? {}
  const view: ThreadsView = {
    ...viewOf({ ...body, sort_by: null }),
    threads: thread_ids ?? undefined,
    after: after_datetime ?? undefined,
    before: before_datetime ?? undefined,
    sort: body.sort_by ?? [],
  }
  if (!body.include_details) return jsonLines(streamThreads(db, view, now(), signal), shownThread)
  if (view.limit === null || view.limit > maxDetailed) {
    throw refuse('invalid_value', {
      field: 'limit',
      given: String(view.limit),
      accepted: `a number up to ${maxDetailed} with include_details`,
    })
  }
  return jsonLines(detailedThreads(db, view, now(), signal), (thread) => thread)
}

const shownThread = (thread: ThreadTimes) => ({
  ...thread,
  start_time: formatTime(thread.start_time),
  last_updated: formatTime(thread.last_updated),
})

/** Threads whose details are read together. */
const threadsAtOnce = 100
/** Users, models and ops that are shown. */
const maxNames = 10

/** The page is read whole first: a request holds one reader at a time. */
async function* detailedThreads(db: Database, view: ThreadsView, time: number, signal: AbortSignal) {
  const threads: ThreadTimes[] = []
  for await (const rows of streamThreads(db, view, time, signal)) threads.push(...rows)
  for (let from = 0; from < threads.length; from += threadsAtOnce) {
    const some = threads.slice(from, from + threadsAtOnce)
    const ids = some.map(({ thread_id }) => thread_id)
    const found = await detailsOfThreads(db, view, ids, time, signal)
    const sums = new Map(found.sums.map(({ thread_id, ...of }) => [thread_id, of]))
    const values = Map.groupBy(found.values, ({ thread_id, kind }) => `${kind} ${thread_id}`)
    const feedback = Map.groupBy(found.feedback, ({ thread_id }) => thread_id)
    const turns = some.flatMap(({ first_turn_id, last_turn_id }) => [first_turn_id, last_turn_id])
    const shown = { filters: [{ call_ids: turns }], query: undefined, sort: [], limit: null, offset: 0 }
    const calls = await readLightCalls(db, { ...shown, project: view.project }, time, signal)
    const byId = new Map(calls.map((call) => [call.id, call]))
    yield some.map((thread) => {
      const [first, last] = [byId.get(thread.first_turn_id), byId.get(thread.last_turn_id)]
      const named = (kind: string) =>
        (values.get(`${kind} ${thread.thread_id}`) ?? []).slice(0, maxNames).map(({ value }) => value)
      return {
        ...shownThread(thread),
        ...sums.get(thread.thread_id),
        users: named('user'),
        models: named('model'),
        ops: named('op'),
        input_preview: first?.input_preview ?? null,
        output_preview: last?.output_preview ?? null,
        exception: last?.exception ?? null,
        ...(last && { status: last.status }),
        feedback: (feedback.get(thread.thread_id) ?? []).map(({ thread_id, ...kind }) => kind),
      }
    })
  }
}
