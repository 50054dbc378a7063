import { z } from 'zod'
import { opNameOf } from '../../domain/refs.ts'
import type { CallsAnswer, FacetsAnswer, LightCall } from '../views/contract.ts'
import type { Asking } from './asking.ts'
import { fitting, head } from './fitting.ts'
import { fieldIs, selectionOf } from './selection.ts'
import { cut, filter, project, rows, since, tool, until } from './tool.ts'

/** The newest failures, of which groups are made. */
const maxFailures = 1_000
/** Groups whose beginning is looked for. */
const maxDated = 5
/** How far back. */
const searchedBack = '30d'

interface Group {
  op: string
  /** The first line of the message, with what differs from call to call left out. */
  error: string
  calls: LightCall[]
}

const failed = fieldIs('summary.weave.status', 'error')

function patternOf(message: string): string {
  const [line = ''] = message.split('\n', 1)
  return head(line, 200)
    .replace(/\b[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}\b|\b(?:0x)?[\da-f]{12,}\b/gi, '#')
    .replace(/\d+(?:\.\d+)?/g, '#')
}

export const failures = tool({
  name: 'failures',
  title: 'What fails most, and since when',
  description:
    'Failed calls, grouped by op and error message, most frequent first: how many, the share of the calls of the op, since when (up to 30 days back), last time, an example.',
  input: z.strictObject({ project, filter, since, until }),
  output: z.object({ failed: z.int(), groups: rows, cut }),
  async run(asking, args) {
    const window = { ...args, since: args.since ?? '24h' }
    const selection = selectionOf(window, failed)
    const { count: total } = await asking.post<{ count: number }>('/calls/query_stats', selection)
    const { calls } = await asking.post<z.output<typeof CallsAnswer>>('/views/calls', {
      ...selection,
      limit: maxFailures,
      count_up_to: 0,
    })
    const groups = groupsOf(calls)
    const callsOf = await callsByOp(asking, selectionOf(window))
    const found = []
    for (const [index, group] of groups.entries()) {
      const since =
        index < maxDated ? await firstOf(asking, { ...args, since: searchedBack }, group) : undefined
      found.push(rowOf(group, since, callsOf.get(group.op)))
    }
    const shown = fitting(found, {})
    const missing = [
      ...(total > calls.length
        ? [`grouped are the newest ${calls.length} of ${total}: a shorter time has all`]
        : []),
      ...(shown.length < groups.length ? [`${groups.length - shown.length} rarer groups`] : []),
    ].join('; ')
    return { failed: total, groups: shown, ...(missing !== '' && { cut: missing }) }
  },
})

function groupsOf(calls: readonly LightCall[]): Group[] {
  const groups = new Map<string, Group>()
  for (const call of calls) {
    const op = opNameOf(call.op_name)
    const error = patternOf(call.exception ?? '')
    const key = `${op}\n${error}`
    const group = groups.get(key) ?? { op, error, calls: [] }
    groups.set(key, group)
    group.calls.push(call)
  }
  return [...groups.values()].toSorted((a, b) => b.calls.length - a.calls.length)
}

function rowOf({ op, error, calls }: Group, since: string | undefined, ofOp: number | undefined) {
  const [last] = calls
  return {
    op: head(op, 100),
    error,
    count: calls.length,
    ...(ofOp !== undefined && {
      share_of_op: Number((calls.length / Math.max(ofOp, calls.length)).toFixed(4)),
    }),
    since: since ?? calls.at(-1)?.started_at,
    last: last?.started_at,
    models: [...new Set(calls.map(({ model }) => model))].filter((model) => model !== null).slice(0, 3),
    example: last?.id,
  }
}

async function callsByOp(asking: Asking, selection: object): Promise<Map<string, number>> {
  const body = { ...selection, fields: ['op'] }
  const { facets } = await asking.post<z.output<typeof FacetsAnswer>>('/views/facets', body)
  const counts = new Map<string, number>()
  for (const { value, count } of facets[0]?.values ?? []) {
    const op = opNameOf(value ?? '')
    counts.set(op, (counts.get(op) ?? 0) + count)
  }
  return counts
}

/** The longest stretch of a message that all its calls have in common can be searched for. */
async function firstOf(asking: Asking, args: Parameters<typeof selectionOf>[0], { op, error }: Group) {
  const [fixed = ''] = error.split(/[#…]/).toSorted((a, b) => b.length - a.length)
  const like = {
    $contains: { input: { $getField: 'exception' }, substr: { $literal: fixed.trim() } },
  }
  const { calls } = await asking.post<z.output<typeof CallsAnswer>>('/views/calls', {
    ...selectionOf(args, failed, fieldIs('op', op), ...(fixed.trim() === '' ? [] : [like])),
    sort_by: [{ field: 'started_at', direction: 'asc' }],
    limit: 1,
    count_up_to: 0,
  })
  return calls[0]?.started_at
}
