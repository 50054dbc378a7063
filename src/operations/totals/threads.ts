import { z } from 'zod'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { dateTime, explainedObject, plainText, projectId, shortList } from '../../domain/fields.ts'
import { formatTime, now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { streamThreads, threadFields } from '../../storage/views/threads.ts'
import { jsonLines } from '../json-lines.ts'
import { limit, offset } from '../paging.ts'

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

export const Thread = explainedObject({
  thread_id: [z.string(), 'The name of the conversation.'],
  turn_count: [z.int().min(1), 'Number of its turns.'],
  start_time: [time, 'When its first turn began.'],
  last_updated: [time, 'When its last turn ended, or began if it runs.'],
  first_turn_id: [turn, 'The call that began first.'],
  last_turn_id: [turn, 'The call that ended last; a running one counts by its start.'],
  p50_turn_duration_ms: [milliseconds, 'The median of its turns that have ended.'],
  p99_turn_duration_ms: [milliseconds, 'The 99th percentile of them.'],
})

/** One JSON text for each thread of the project. */
export function queryThreads(db: Database, caller: Caller, body: ThreadsBody, signal: AbortSignal) {
  requireAccess(caller, body.project_id)
  const { thread_ids, after_datetime, before_datetime } = body.filter ?? {}
  const view = {
    project: body.project_id,
    threads: thread_ids ?? undefined,
    after: after_datetime ?? undefined,
    before: before_datetime ?? undefined,
    sort: body.sort_by ?? [],
    limit: body.limit ?? null,
    offset: body.offset ?? 0,
  }
  return jsonLines(streamThreads(db, view, now(), signal), (thread) => ({
    ...thread,
    start_time: formatTime(thread.start_time),
    last_updated: formatTime(thread.last_updated),
  }))
}
