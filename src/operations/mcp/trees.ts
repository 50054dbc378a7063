import { z } from 'zod'
import { opNameOf } from '../../domain/refs.ts'
import type { Thread } from '../totals/threads-contract.ts'
import type { CallsAnswer } from '../views/contract.ts'
import type { TraceCall } from '../views/trace-contract.ts'
import { ToolError } from './asking.ts'
import { callRow } from './calls.ts'
import { fitting, head, withoutNulls } from './fitting.ts'
import { fieldIs, selectionOf } from './selection.ts'
import { cursor, cut, limit, next, project, rows, tool } from './tool.ts'

const maxTraceCalls = 5_000

/** Callers before what they call, in the order in which they began. Those that are left out give their depth to what is below. */
function* inTree(
  calls: readonly TraceCall[],
  isShown: (call: TraceCall) => boolean,
): Generator<{ call: TraceCall; depth: number }> {
  const ids = new Set(calls.map(({ id }) => id))
  const below = Map.groupBy(calls, ({ parent_id }) => (parent_id && ids.has(parent_id) ? parent_id : null))
  const open = (below.get(null) ?? []).map((call) => ({ call, depth: 0 })).reverse()
  for (let entry = open.pop(); entry !== undefined; entry = open.pop()) {
    const isLeftOut = entry.depth > 0 && !isShown(entry.call)
    if (!isLeftOut) yield entry
    const depth = isLeftOut ? entry.depth : entry.depth + 1
    open.push(...(below.get(entry.call.id) ?? []).map((call) => ({ call, depth })).reverse())
  }
}

/** The same as on the page: what failed or runs, or has feedback, is shown, and everything where there is nothing else. */
function shownIn(calls: readonly TraceCall[], isWhole: boolean): (call: TraceCall) => boolean {
  if (isWhole || calls.every((call) => call.is_inner_step)) return () => true
  return (call) => !call.is_inner_step || /^(error|running)$/.test(call.status) || call.feedback > 0
}

export const getTrace = tool({
  name: 'get_trace',
  title: 'Read a trace',
  description: 'The calls of a trace as a tree (depth), with durations and without bodies.',
  input: z.strictObject({
    project,
    trace_id: z.string().min(1).max(128),
    inner_steps: z.boolean().default(false).describe('Also mere timings'),
    cursor,
  }),
  output: z.object({ calls: rows, total: z.int(), inner_steps_left_out: z.int().optional(), next, cut }),
  async run(asking, { project, trace_id, inner_steps, cursor: from = '0' }) {
    if (!/^\d{1,6}$/.test(from)) {
      throw new ToolError(`cursor: given ${JSON.stringify(from)}; accepted: next of the previous answer`)
    }
    const calls = await asking.lines<TraceCall>('/views/trace', {
      project_id: project,
      trace_id,
      limit: maxTraceCalls,
    })
    if (calls.length === 0) {
      throw new ToolError(
        `trace_id: there is no trace ${JSON.stringify(trace_id)} in ${JSON.stringify(project)}`,
      )
    }
    const tree = [...inTree(calls, shownIn(calls, inner_steps))]
    const leftOut = inner_steps ? 0 : calls.length - tree.length
    const all = tree.slice(Number(from)).map(({ call, depth }) =>
      withoutNulls({
        depth,
        id: call.id,
        op: head(call.display_name ?? opNameOf(call.op_name), 80),
        status: call.status,
        ms: call.ended_at === null ? null : Date.parse(call.ended_at) - Date.parse(call.started_at),
        tokens_in: call.input_tokens,
        tokens_out: call.output_tokens,
        feedback: call.feedback || null,
      }),
    )
    const shown = fitting(all, {})
    return {
      calls: shown,
      total: calls.length,
      ...(leftOut > 0 && { inner_steps_left_out: leftOut }),
      ...(shown.length < all.length && { next: String(Number(from) + shown.length) }),
      ...(calls.length === maxTraceCalls && { cut: `only the first ${maxTraceCalls} calls of the trace` }),
    }
  },
})

/** Clients that send spans name no turns: their root calls are. */
const isTurn = {
  $or: [fieldIs('parent_id', null), { $eq: [{ $getField: 'turn_id' }, { $getField: 'id' }] }],
}

export const getThread = tool({
  name: 'get_thread',
  title: 'Read a thread',
  description:
    'The turns of a conversation over several calls, oldest first; without thread_id the latest threads.',
  input: z.strictObject({
    project,
    thread_id: z.string().min(1).max(512).optional(),
    limit: limit(30, 10),
    cursor,
  }),
  output: z.object({ turns: rows.optional(), threads: rows.optional(), next }),
  async run(asking, { project, thread_id, limit: count, cursor: from }) {
    const offset = Number(/^\d{1,9}$/.test(from ?? '0') ? (from ?? '0') : Number.NaN)
    if (Number.isNaN(offset)) {
      throw new ToolError(`cursor: given ${JSON.stringify(from)}; accepted: next of the previous answer`)
    }
    const page = { limit: count + 1, offset }
    if (thread_id === undefined) {
      const threads = await asking.lines<Record<keyof typeof Thread.shape, string>>('/threads/stream_query', {
        project_id: project,
        ...page,
      })
      const found = threads.map(({ thread_id: id, turn_count, start_time, last_updated }) => ({
        thread_id: id,
        turn_count,
        start_time,
        last_updated,
      }))
      const shown = fitting(found.slice(0, count), {})
      return { threads: shown, ...(shown.length < threads.length && { next: String(offset + shown.length) }) }
    }
    const { calls } = await asking.post<z.output<typeof CallsAnswer>>('/views/calls', {
      ...selectionOf({ project }, isTurn),
      filter: { thread_ids: [thread_id] },
      sort_by: [{ field: 'started_at', direction: 'asc' }],
      count_up_to: 0,
      ...page,
    })
    if (calls.length === 0 && offset === 0) {
      throw new ToolError(
        `thread_id: there is no thread ${JSON.stringify(head(thread_id, 200))} in ${JSON.stringify(project)}`,
      )
    }
    const shown = fitting(
      calls.slice(0, count).map((call) => callRow(call, 160)),
      {},
    )
    return { turns: shown, ...(shown.length < calls.length && { next: String(offset + shown.length) }) }
  },
})
