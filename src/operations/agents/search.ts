import { createHash } from 'node:crypto'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { JsonText } from '../../domain/json/text.ts'
import { formatTime, now, parseTime } from '../../domain/time.ts'
import { readTurns } from '../../storage/agents/conversations.ts'
import { readConversationsOfTraces } from '../../storage/agents/roots.ts'
import type { Sealing } from '../sealing.ts'
import { type Asked, listCalls } from '../views/calls.ts'
import type { LightCall } from '../views/contract.ts'
import { searchCalls } from '../views/search.ts'
import type { Found } from '../views/search-contract.ts'
import { type AgentSearchBody, defaultConversations } from './search-contract.ts'

/** The newest traces of a conversation that are searched. */
const maxTraces = 1000
/** Calls that are grouped by conversation. */
const maxCalls = 200
const noConversation = '__NO_CONVERSATION__'

type Match = Pick<Found, 'call' | 'snippets'>

/** The conversations of the newest calls that match. */
export async function searchAgents(
  services: Asked & { sealing: Sealing },
  caller: Caller,
  body: AgentSearchBody,
) {
  requireAccess(caller, body.project_id)
  const { project_id, conversation_id: asked } = body
  const time = now()
  const view = { project: project_id, conversation: asked ?? '', limit: maxTraces, offset: 0 }
  const traces = asked == null ? undefined : (await readTurns(services.db, view, time)).traces
  const selection = selectionOf(body, traces)
  const words = body.query?.trim() ?? ''
  const matches: Match[] =
    words === ''
      ? (await listCalls(services, caller, { ...selection, limit: maxCalls, count_up_to: 0 })).calls.map(
          (call) => ({ call, snippets: previewsOf(call) }),
        )
      : (await searchCalls(services, caller, { ...selection, text: words, limit: maxCalls }, 'query')).found
  const unnamed = matches.flatMap(({ call }) => (call.thread_id ? [] : [call.trace_id]))
  const named = await readConversationsOfTraces(services.db, project_id, unnamed, time)
  const conversations = Map.groupBy(
    matches,
    ({ call }) => call.thread_id || named.get(call.trace_id) || noConversation,
  )
  // A trace may belong to more than one.
  if (asked != null) for (const id of conversations.keys()) if (id !== asked) conversations.delete(id)
  const all = Array.from(conversations, ([id, found]) => resultOf(id, found, body.agent_name ?? null))
  const offset = body.offset ?? 0
  return {
    results: all
      .sort((a, b) => b.last_activity - a.last_activity)
      .slice(offset, offset + (body.limit ?? defaultConversations))
      .map(({ last_activity, ...result }) => ({ ...result, last_activity: formatTime(last_activity) })),
    total_conversations: all.length,
  }
}

/** The calls that the filters leave. */
function selectionOf(body: AgentSearchBody, traces: string[] | undefined) {
  const equal: [field: string, value: string | null | undefined][] = [
    ['agent', body.agent_name],
    ['model', body.request_model],
    ['attributes.gen_ai.provider.name', body.provider_name],
  ]
  const conditions: object[] = equal.flatMap(([field, value]) =>
    value == null ? [] : [{ $eq: [{ $getField: field }, { $literal: value }] }],
  )
  const time = (value: number) => [{ $getField: 'started_at' }, { $literal: formatTime(value) }]
  if (body.started_after != null) conditions.push({ $gte: time(body.started_after) })
  if (body.started_before != null) conditions.push({ $lt: time(body.started_before) })
  const own = body.trace_id == null ? traces : [body.trace_id]
  // An empty list would be no condition.
  const ids = own?.length === 0 ? [noConversation] : own
  return {
    project_id: body.project_id,
    filter: { trace_ids: ids },
    query: conditions.length === 0 ? null : new JsonText(JSON.stringify({ $expr: { $and: conditions } })),
  }
}

const previewsOf = ({ input_preview, output_preview }: LightCall): Match['snippets'] =>
  [['inputs', input_preview] as const, ['output', output_preview] as const].flatMap(([field, text]) =>
    text === null ? [] : [{ field, text, marks: [] }],
  )

const roles: Partial<Record<Match['snippets'][number]['field'], 'user' | 'assistant'>> = {
  inputs: 'user',
  output: 'assistant',
}

function resultOf(id: string, matches: readonly Match[], agent_name: string | null) {
  const seen = new Set<string>()
  const matched = matches.flatMap(({ call, snippets }) =>
    snippets.flatMap(({ field, text }) => {
      const content_digest = createHash('sha256').update(text).digest('hex')
      // Every request of a conversation repeats what was said before it.
      if (seen.has(content_digest)) return []
      seen.add(content_digest)
      const message = { span_id: call.id, trace_id: call.trace_id, started_at: call.started_at }
      return [{ ...message, role: roles[field] ?? ('' as const), content_preview: text, content_digest }]
    }),
  )
  return {
    conversation_id: id,
    conversation_name: matches.at(-1)?.call.display_name ?? null,
    agent_name,
    matched_messages: matched,
    last_activity: Math.max(...matches.map(({ call }) => parseTime(call.ended_at ?? call.started_at) ?? 0)),
  }
}
