import { inSteps } from '../../../packages/waiting/index.ts'
import { isObject } from '../../domain/call-facts/brief.ts'
import { type Judgement, judgementIn } from '../../domain/call-facts/judgement.ts'
import { readConversationsOfTraces } from '../../storage/agents/roots.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { type SignalRow, streamSignals } from '../../storage/feedback/queries.ts'
import { tooMany } from '../totals/call-usage.ts'
import type { SignalFilters } from './value-contract.ts'

type Holds = (judgement: Judgement) => boolean

const compared = {
  gte: (value: number, bound: number) => value >= bound,
  gt: (value: number, bound: number) => value > bound,
  lte: (value: number, bound: number) => value <= bound,
  lt: (value: number, bound: number) => value < bound,
  eq: (value: number, bound: number) => value === bound,
}

/** Feedback that is opened. */
const maxFeedback = 200_000
/** Conversations that are asked for by name. */
const maxConversations = 10_000

/**
 * The conversations that have all of these signals in feedback since `from`, in one or in several; undefined if none are
 * asked for.
 */
export async function conversationsWith(
  db: BoundDatabase,
  project: string,
  from: number | undefined,
  filters: SignalFilters | null | undefined,
  time: number,
  max = maxFeedback,
): Promise<string[] | undefined> {
  const signals: Holds[] = [
    ...(filters?.tags ?? []).map(
      (tag): Holds =>
        ({ tags }) =>
          tags.includes(tag),
    ),
    ...(filters?.ratings ?? []).map(
      ({ scorer_key, op, value: bound }): Holds =>
        ({ ratings }) =>
          ratings.some(({ name, value }) => name === scorer_key && compared[op](value, bound)),
    ),
  ]
  if (signals.length === 0) return undefined
  const ofThreads = new Map<string, Set<number>>()
  const ofTraces = new Map<string, Set<number>>()
  let left = max
  for await (const rows of streamSignals(db, { project, from, limit: max + 1 }, time)) {
    left -= rows.length
    if (left < 0) throw tooMany('signal_filters', `more than ${max} feedback`, 'a range that begins later')
    await inSteps(rows, (row) => {
      const payload: unknown = JSON.parse(row.payload)
      const judgement = judgementIn(payload)
      const held = signals.flatMap((holds, index) => (holds(judgement) ? [index] : []))
      const thread = row.thread_id ?? sentConversation(payload)
      if (held.length === 0 || (thread === null && row.trace_id === null)) return
      addTo(thread === null ? ofTraces : ofThreads, thread ?? (row.trace_id as string), held)
    })
  }
  const named = await readConversationsOfTraces(db, project, [...ofTraces.keys()], time)
  for (const [trace, thread] of named) addTo(ofThreads, thread, ofTraces.get(trace) ?? [])
  const found = [...ofThreads].flatMap(([thread, held]) => (held.size === signals.length ? [thread] : []))
  if (found.length <= maxConversations) return found
  throw tooMany(
    'signal_filters',
    `${found.length} conversations`,
    `filters that leave at most ${maxConversations}`,
  )
}

/** Feedback may come from where conversations are known and their calls are not. */
function sentConversation(payload: unknown): SignalRow['thread_id'] {
  const sent = isObject(payload) ? payload.span_conversation_id : null
  return typeof sent === 'string' && sent !== '' ? sent : null
}

function addTo(found: Map<string, Set<number>>, name: string, held: Iterable<number>): void {
  const known = found.get(name) ?? new Set()
  for (const index of held) known.add(index)
  found.set(name, known)
}
