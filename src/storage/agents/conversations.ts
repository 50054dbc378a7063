import { isLive } from '../calls/calls.ts'
import { costOfCall } from '../calls/cost.ts'
import { allOf, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader, type LongReader, onlyRow } from '../transaction.ts'
import { countsOnce, usesTokens } from '../views/own-usage.ts'
import { conversationsOfRoots } from './roots.ts'
import { type SpanRow, spanColumns, withSmallDocuments } from './spans.ts'

/** Times are microseconds: from, and up to but not including. */
interface ConversationsView {
  project: string
  conversations: readonly string[]
  from: number | undefined
  before: number | undefined
}

/** A call of a conversation, without its documents. */
type BriefSpan = Pick<SpanRow, 'id' | 'trace_id' | 'operation' | 'status' | 'started_at' | 'ended_at'> & {
  thread_id: string
}

const maxSpans = 200
const maxFeedback = 1_000
/** The largest payload of feedback in bytes that is opened. */
const maxPayloadBytes = 16 * 1024

function ofConversations({ dialect }: LongReader, view: ConversationsView, now: number): Sql {
  const { project, conversations, from, before } = view
  return allOf([
    sql`calls.project_id = ${project} AND calls.thread_id IN (${listOf(conversations)}) AND ${isLive(now)}`,
    ...startedIn(from, before),
    dialect.callsCancellable,
  ])
}

const startedIn = (from: number | undefined, before: number | undefined): Sql[] => [
  ...(from === undefined ? [] : [sql`calls.started_at >= ${from}`]),
  ...(before === undefined ? [] : [sql`calls.started_at < ${before}`]),
]

/** Many instrumentations name the conversation on the root of a trace only. */
const isUnnamed = rawSql("coalesce(calls.thread_id, '') = ''")

/** The calls that name these conversations, and those that name none in the traces of their turns. */
function callsIn(db: LongReader, view: ConversationsView, columns: string, now: number): Sql {
  const { project, conversations, from, before } = view
  const named = rawSql(`calls.id AS id, calls.trace_id AS trace_id, ${columns}`)
  const roots = conversationsOfRoots(project, sql`thread_id IN (${listOf(conversations)})`, now)
  const below = allOf([
    sql`calls.project_id = ${project} AND calls.trace_id = turns.trace_id AND ${isUnnamed} AND ${isLive(now)}`,
    ...startedIn(from, before),
    db.dialect.callsCancellable,
  ])
  return sql`SELECT ${named}, calls.thread_id AS thread_id FROM calls WHERE ${ofConversations(db, view, now)}
    UNION ALL SELECT ${named}, turns.thread_id AS thread_id FROM (${roots}) AS turns CROSS JOIN calls WHERE ${below}`
}

/** The first calls of each conversation. */
export function readConversationSpans(
  db: BoundReader,
  view: ConversationsView,
  now: number,
): Promise<BriefSpan[]> {
  const columns = ['operation', 'status', 'started_at', 'ended_at'].map((name) => `calls.${name} AS ${name}`)
  const numbered = sql`SELECT id, trace_id, thread_id, operation, status, started_at, ended_at,
      row_number() OVER (PARTITION BY thread_id ORDER BY started_at, id) AS position
    FROM (${callsIn(db, view, columns.join(', '), now)}) AS called`
  return allRows<BriefSpan>(
    db,
    sql`SELECT id, trace_id, thread_id, operation, status, started_at, ended_at FROM (${numbered}) AS numbered
        WHERE position <= ${rawSql(String(maxSpans))} ORDER BY thread_id, position`,
  )
}

export interface SpanFeedbackRow {
  thread_id: string | null
  /** Null of the whole conversation. */
  trace_id: string | null
  feedback_type: string
  payload: string | null
}

/** What was said about the selected, in the order of its creation. */
const readFeedbackIn = (db: BoundReader, selected: Sql) =>
  allRows<SpanFeedbackRow>(
    db,
    sql`SELECT thread_id, trace_id, feedback_type, payload FROM (${selected}) AS said
        ORDER BY created_at, id LIMIT ${rawSql(String(maxFeedback))}`,
  )

function openedColumns({ dialect }: LongReader): Sql {
  const size = dialect.bytes(rawSql('payload'))
  return sql`feedback_type, CASE WHEN ${size} <= ${rawSql(String(maxPayloadBytes))} THEN payload END AS payload,
    feedback.created_at AS created_at, feedback.id AS id`
}

/** Of the calls of a query. */
const feedbackOfCalls = (db: LongReader, project: string, calls: Sql) =>
  sql`SELECT said_of.thread_id AS thread_id, said_of.trace_id AS trace_id, ${openedColumns(db)}
    FROM (${calls}) AS said_of CROSS JOIN feedback
    WHERE feedback.project_id = ${project} AND feedback.call_id = said_of.id`

/** Of whole conversations. */
const feedbackOfThreads = (db: LongReader, project: string, threads: readonly string[]) =>
  sql`SELECT thread_id, ${rawSql('CAST(NULL AS TEXT)')} AS trace_id, ${openedColumns(db)} FROM feedback
    WHERE project_id = ${project} AND thread_id IN (${listOf(threads)}) AND ${db.dialect.cancellable}`

/** Of the calls of conversations in a range of time, and of the conversations. */
export const readSpansFeedback = (db: BoundReader, view: ConversationsView, now: number) =>
  readFeedbackIn(
    db,
    sql`${feedbackOfCalls(db, view.project, callsIn(db, view, 'calls.started_at AS started_at', now))} UNION ALL
      ${feedbackOfThreads(db, view.project, view.conversations)}`,
  )

export const readConversationFeedback = (
  db: BoundReader,
  { project, conversation }: { project: string; conversation: string },
) => readFeedbackIn(db, feedbackOfThreads(db, project, [conversation]))

export const readTraceFeedback = (
  db: BoundReader,
  { project, traces }: { project: string; traces: readonly string[] },
  now: number,
) => {
  const calls = sql`SELECT id, trace_id, thread_id FROM calls WHERE ${ofTraces(db, project, traces, now)}`
  return readFeedbackIn(db, feedbackOfCalls(db, project, calls))
}

const ofTraces = ({ dialect }: LongReader, project: string, traces: readonly string[], now: number) =>
  sql`calls.project_id = ${project} AND calls.trace_id IN (${listOf(traces)}) AND ${isLive(now)} AND ${dialect.callsCancellable}`

/** The traces of a conversation, the newest first: each is a turn. */
export async function readTurns(
  db: BoundReader,
  {
    project,
    conversation,
    limit,
    offset,
  }: { project: string; conversation: string; limit: number; offset: number },
  now: number,
): Promise<{ traces: string[]; total: number; cost: number | null }> {
  const view = { project, conversations: [conversation], from: undefined, before: undefined }
  const own = ofConversations(db, view, now)
  const grouped = sql`SELECT trace_id, min(started_at) AS began FROM calls WHERE ${own} GROUP BY trace_id`
  const rows = await allRows<{ trace_id: string }>(
    db,
    sql`SELECT trace_id FROM (${grouped}) AS turns ORDER BY began DESC, trace_id DESC LIMIT ${limit} OFFSET ${offset}`,
  )
  const total = await onlyRow<{ count: number }>(db, sql`SELECT count(*) AS count FROM (${grouped}) AS turns`)
  const once = sql`${usesTokens} AND ${countsOnce(db.dialect, project, [], now)}`
  const costs = sql`SELECT CAST(${costOfCall(db.dialect)} AS DOUBLE PRECISION) AS cost
    FROM (SELECT trace_id AS turn FROM (${grouped}) AS turns) AS traces CROSS JOIN calls
    WHERE calls.project_id = ${project} AND calls.trace_id = traces.turn AND ${isLive(now)} AND ${once}`
  const sum = await onlyRow<{ cost: number | null }>(
    db,
    sql`SELECT sum(cost) AS cost FROM (${costs}) AS costs`,
  )
  return { traces: rows.map(({ trace_id }) => trace_id), total: Number(total.count), cost: sum.cost }
}

/** A call with its documents. `counts`: its tokens are not those of calls below it. */
export type TurnSpan = SpanRow & { counts: number }

/** The calls of traces by their start, up to `limit`. */
export async function* streamTurnSpans(
  db: BoundReader,
  { project, traces, limit }: { project: string; traces: readonly string[]; limit: number },
  now: number,
): AsyncGenerator<TurnSpan[]> {
  const once = sql`${usesTokens} AND ${countsOnce(db.dialect, project, [], now)}`
  const first = sql`SELECT calls.id AS found_id, calls.started_at AS began FROM calls
    WHERE ${ofTraces(db, project, traces, now)} ORDER BY calls.started_at, calls.id LIMIT ${limit}`
  const found = db.stream<TurnSpan>(
    sql`SELECT ${spanColumns(db, { costs: true, documents: true })}, CASE WHEN ${once} THEN 1 ELSE 0 END AS counts
        FROM (${first}) AS found CROSS JOIN calls WHERE calls.project_id = ${project} AND calls.id = found_id
        ORDER BY began, found_id`,
    { rows: 50 },
  )
  for await (const rows of found) yield rows.map(withSmallDocuments)
}
