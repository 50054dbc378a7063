import { type Caller, requireAccess } from '../../domain/callers.ts'
import { formatTime, now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { streamThreads } from '../../storage/views/threads.ts'
import { jsonLines } from '../json-lines.ts'
import type { ThreadsBody } from './contract.ts'

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
