import { inSteps } from '../../../packages/waiting/index.ts'
import { batchesOf } from '../../domain/batches.ts'
import { judgementIn } from '../../domain/call-facts/judgement.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { jsonList } from '../../domain/json/text.ts'
import { now } from '../../domain/time.ts'
import {
  readConversationSpans,
  readSpansFeedback,
  type SpanFeedbackRow,
} from '../../storage/agents/conversations.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { tooMany } from '../totals/call-usage.ts'
import { durationOf, statusCodeOf } from './spans.ts'
import { type ConversationSpansBody, maxBriefSpans, maxConversations } from './spans-contract.ts'

/** Conversations of one statement. */
const maxTogether = 500

export async function readSpansOfConversations(
  db: BoundDatabase,
  caller: Caller,
  body: ConversationSpansBody,
) {
  requireAccess(caller, body.project_id)
  const { project_id: project, conversation_ids: conversations } = body
  if (conversations.length > maxConversations) {
    throw tooMany('conversation_ids', `${conversations.length} entries`, `at most ${maxConversations}`)
  }
  const range = { from: body.started_after ?? undefined, before: body.started_before ?? undefined }
  const time = now()
  const spans: Awaited<ReturnType<typeof readConversationSpans>> = []
  const found: SpanFeedbackRow[] = []
  for (const some of batchesOf([...new Set(conversations)].sort(), maxTogether)) {
    const view = { project, conversations: some, ...range }
    spans.push(...(await readConversationSpans(db, view, time)))
    if (spans.length > maxBriefSpans) {
      throw tooMany('conversation_ids', `more than ${maxBriefSpans} spans`, 'fewer conversations, or a range')
    }
    found.push(...(await readSpansFeedback(db, view, time)))
  }
  const feedback = Map.groupBy(found, ({ thread_id }) => thread_id)
  const shown: object[] = []
  await inSteps(
    Map.groupBy(spans, ({ thread_id }) => thread_id),
    async ([conversation_id, rows]) => {
      shown.push({
        conversation_id,
        spans: rows.map((row) => ({
          operation_name: row.operation,
          trace_id: row.trace_id,
          span_id: row.id,
          status: statusCodeOf(row),
          duration_ms: durationOf(row),
        })),
        spans_feedback: await judgedInSteps(feedback.get(conversation_id) ?? []),
      })
    },
  )
  return { conversations: await jsonList(shown) }
}

/** Feedback as Weave's agents show it. */
export async function judgedInSteps(rows: readonly SpanFeedbackRow[]) {
  const judged: ReturnType<typeof judgedOf>[] = []
  await inSteps(rows, (row) => void judged.push(judgedOf(row)))
  return judged
}

const judgedOf = ({ trace_id, feedback_type, payload }: SpanFeedbackRow) => ({
  ...{ trace_id, feedback_type },
  ...judgementIn(JSON.parse(payload ?? 'null')),
})
