import { batchesOf } from '../../domain/batches.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { formatTime, now } from '../../domain/time.ts'
import { viewOf } from '../../domain/view.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { type LightCall, readLightCalls } from '../../storage/views/light-calls.ts'
import { readSpeakingCalls, type Side } from '../../storage/views/thread-details.ts'
import { detailsOfThreads, streamThreads } from '../../storage/views/threads.ts'
import type { ThreadsView, Thread as ThreadTimes } from '../../storage/views/threads-view.ts'
import { jsonLines } from '../json-lines.ts'
import { maxDetailed, type ThreadsBody } from './threads-contract.ts'

/** One JSON text for each thread of the project. */
export function queryThreads(db: BoundDatabase, caller: Caller, body: ThreadsBody) {
  requireAccess(caller, body.project_id)
  const { thread_ids, after_datetime, before_datetime } = body.filter ?? {}
  const view: ThreadsView = {
    ...viewOf({ ...body, sort_by: null }),
    threads: thread_ids ?? undefined,
    after: after_datetime ?? undefined,
    before: before_datetime ?? undefined,
    sort: body.sort_by ?? [],
  }
  if (!body.include_details) return jsonLines(streamThreads(db, view, now()), shownThread)
  return jsonLines(
    detailedThreads(db, { ...view, limit: view.limit ?? maxDetailed }, now()),
    (thread) => thread,
  )
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
async function* detailedThreads(db: BoundDatabase, view: ThreadsView, time: number) {
  const threads: ThreadTimes[] = []
  for await (const rows of streamThreads(db, view, time)) threads.push(...rows)
  for (let from = 0; from < threads.length; from += threadsAtOnce) {
    const some = threads.slice(from, from + threadsAtOnce)
    const ids = some.map(({ thread_id }) => thread_id)
    const found = await detailsOfThreads(db, view, ids, time)
    const sums = new Map(found.sums.map(({ thread_id, ...of }) => [thread_id, of]))
    const values = Map.groupBy(found.values, ({ thread_id, kind }) => `${kind} ${thread_id}`)
    const feedback = Map.groupBy(found.feedback, ({ thread_id }) => thread_id)
    const endOf = await endsOf(db, view.project, some, time)
    yield some.map((thread) => {
      const { last, ...previews } = endOf(thread)
      const named = (kind: string) =>
        (values.get(`${kind} ${thread.thread_id}`) ?? []).slice(0, maxNames).map(({ value }) => value)
      return {
        ...shownThread(thread),
        ...sums.get(thread.thread_id),
        users: named('user'),
        models: named('model'),
        ops: named('op'),
        ...previews,
        exception: last?.exception ?? null,
        ...(last && { status: last.status }),
        feedback: (feedback.get(thread.thread_id) ?? []).map(({ thread_id, ...kind }) => kind),
      }
    })
  }
}

/** What was asked first and answered last in these conversations. */
export async function previewsOfThreads(
  db: BoundDatabase,
  project: string,
  threads: readonly string[],
  time: number,
) {
  const previews: { thread_id: string; input_preview: string | null; output_preview: string | null }[] = []
  for (const some of batchesOf(threads, threadsAtOnce)) {
    const view: ThreadsView = {
      ...viewOf({ project_id: project, sort_by: null }),
      threads: some,
      after: undefined,
      before: undefined,
      sort: [],
    }
    const found: ThreadTimes[] = []
    for await (const rows of streamThreads(db, view, time)) found.push(...rows)
    const endOf = await endsOf(db, project, found, time)
    for (const thread of found) {
      const { last, ...own } = endOf(thread)
      previews.push({ thread_id: thread.thread_id, ...own })
    }
  }
  return previews
}

async function endsOf(db: BoundDatabase, project: string, threads: readonly ThreadTimes[], time: number) {
  const turns = threads.flatMap(({ first_turn_id, last_turn_id }) => [first_turn_id, last_turn_id])
  const calls = await callsNamed(db, project, turns, time)
  const byId = new Map(calls.map((call) => [call.id, call]))
  const firsts = threads.flatMap(({ first_turn_id }) => byId.get(first_turn_id) ?? [])
  // A trace may have several turns, of which each but the root is only a part.
  const lasts = threads.flatMap(({ last_turn_id }) => byId.get(last_turn_id) ?? [])
  const roots = lasts.filter(({ parent_id, exception }) => parent_id === null && exception === null)
  const questions = await spokenBelow(db, project, firsts, 'input', time)
  const answers = await spokenBelow(db, project, roots, 'output', time)
  return ({ first_turn_id, last_turn_id }: ThreadTimes) => {
    const [first, last] = [byId.get(first_turn_id), byId.get(last_turn_id)]
    return {
      last,
      input_preview: first?.input_preview ?? (first && questions.get(first.id)) ?? null,
      output_preview: last?.output_preview ?? (last && answers.get(last.id)) ?? null,
    }
  }
}

function callsNamed(db: BoundDatabase, project: string, ids: string[], time: number) {
  const view = { project, filters: [{ call_ids: ids }], query: undefined, sort: [], limit: null, offset: 0 }
  return readLightCalls(db, view, time)
}

/** For turns that have no input or no output of their own: their agents and models may. */
async function spokenBelow(
  db: BoundDatabase,
  project: string,
  turns: readonly LightCall[],
  side: Side,
  time: number,
): Promise<Map<string, string>> {
  const preview = `${side}_preview` as const
  const traces = turns.filter((turn) => turn[preview] === null).map(({ trace_id }) => trace_id)
  const speaking = traces.length === 0 ? [] : await readSpeakingCalls(db, project, traces, side, time)
  const calls = speaking.length === 0 ? [] : await callsNamed(db, project, speaking, time)
  const latestFirst = calls.toSorted((a, b) => timeOf(b, side) - timeOf(a, side) || (a.id < b.id ? 1 : -1))
  // Of a trace the last of them counts: the first question, and the last answer.
  const inOrder = side === 'input' ? latestFirst : latestFirst.reverse()
  const byTrace = new Map(
    inOrder.flatMap(({ trace_id, [preview]: text }) => (text === null ? [] : [[trace_id, text] as const])),
  )
  return new Map(
    turns.flatMap(({ id, trace_id }) => {
      const text = byTrace.get(trace_id)
      return text === undefined ? [] : [[id, text] as const]
    }),
  )
}

const timeOf = ({ started_at, ended_at }: LightCall, side: Side) =>
  side === 'input' ? started_at : (ended_at ?? started_at)
