import { type Caller, requireAccess } from '../../domain/callers.ts'
import { now } from '../../domain/time.ts'
import {
  readConversationFeedback,
  readTraceFeedback,
  readTurns,
  streamTurnSpans,
  type TurnSpan,
} from '../../storage/agents/conversations.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { tooMany } from '../totals/call-usage.ts'
import { type ConversationChatBody, maxTurns, type TraceChatBody } from './chat-contract.ts'
import { judgedInSteps } from './conversation-spans.ts'
import { chatOf } from './turn.ts'

/** Calls of one answer, and characters of their documents. */
const maxCalls = 5_000
const maxCharacters = 32 << 20

export async function readTraceChat(db: BoundDatabase, caller: Caller, body: TraceChatBody) {
  requireAccess(caller, body.project_id)
  const [turn] = await turnsOf(db, body, [body.trace_id], 'trace_id')
  if (turn !== undefined) return turn
  throw tooMany('trace_id', JSON.stringify(body.trace_id), 'a trace of this project that has calls')
}

export async function readConversationChat(db: BoundDatabase, caller: Caller, body: ConversationChatBody) {
  requireAccess(caller, body.project_id)
  const { project_id: project, conversation_id } = body
  const [limit, offset] = [body.limit ?? maxTurns, body.offset ?? 0]
  const asked = { project, conversation: conversation_id, limit, offset }
  const { traces, total, cost } = await readTurns(db, asked, now())
  const turns = traces.length === 0 ? [] : await turnsOf(db, body, traces.reverse(), 'limit')
  const judged = body.include_feedback ? await readConversationFeedback(db, asked) : []
  return {
    ...{ conversation_id, turns, total_turns: total, has_more: offset + traces.length < total },
    ...{ limit, offset, total_cost_usd: cost, feedback: await judgedInSteps(judged) },
  }
}

type Asked = Pick<TraceChatBody, 'project_id' | 'include_feedback' | 'include_model_tool_calls'>

/** The turns of these traces, in this order. */
async function turnsOf(
  db: BoundDatabase,
  { project_id: project, include_feedback, include_model_tool_calls }: Asked,
  traces: readonly string[],
  field: 'trace_id' | 'limit',
) {
  const time = now()
  const view = { project, traces, limit: maxCalls + 1 }
  const rows: TurnSpan[] = []
  let characters = 0
  for await (const some of streamTurnSpans(db, view, time)) {
    for (const row of some) {
      rows.push(row)
      for (const json of [row.attributes, row.inputs, row.output]) characters += json?.length ?? 0
    }
    if (rows.length > maxCalls || characters > maxCharacters) throw tooMuch(field)
  }
  const feedback = include_feedback ? await readTraceFeedback(db, view, time) : []
  const byTrace = Map.groupBy(rows, ({ trace_id }) => trace_id)
  const turns = []
  for (const trace of traces) {
    const turn = await chatOf(byTrace.get(trace) ?? [], include_model_tool_calls === true)
    const judged = await judgedInSteps(feedback.filter(({ trace_id }) => trace_id === trace))
    if (turn !== undefined) turns.push({ ...turn, feedback: judged })
  }
  return turns
}

const tooMuch = (field: 'trace_id' | 'limit') =>
  tooMany(
    field,
    `more than ${maxCalls} calls, or ${maxCharacters} characters of them`,
    field === 'limit' ? 'fewer turns' : 'a smaller trace; /agents/spans/query has pages',
  )
