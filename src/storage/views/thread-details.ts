import { isLive } from '../calls/calls.ts'
import { costOfCall } from '../calls/cost.ts'
import type { FieldSources } from '../calls/fields.ts'
import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader, type LongReader } from '../transaction.ts'
import { apart, countsOnce, usesTokens } from './own-usage.ts'

/** Sums over the turns of a conversation and everything below them. */
interface ThreadSums {
  thread_id: string
  call_count: number
  error_count: number
  input_tokens: number | null
  output_tokens: number | null
  /** By the prices of the project; null without a price. */
  cost: number | null
}

export type SummedField = Exclude<keyof ThreadSums, 'thread_id'>

interface ThreadValue {
  thread_id: string
  kind: 'user' | 'model' | 'op'
  value: string
}

interface ThreadFeedback {
  thread_id: string
  feedback_type: string
  emoji: string | null
  count: number
}

/** Different users, models, ops and kinds of feedback that are read for some threads. */
const maxValues = 5_000

/**
 * The calls of turns: of a root its whole trace, whatever the calls below say of themselves; of any other turn the calls
 * that name it.
 */
const callsOfTurns = (db: LongReader, project: string, turns: Sql, now: number) => ({
  tables: sql`WITH turns AS (SELECT thread_id, trace_id, parent_id, id FROM calls WHERE ${turns}),
    scopes AS (SELECT DISTINCT thread_id, trace_id, CASE WHEN parent_id IS NOT NULL THEN id END AS turn FROM turns
      WHERE parent_id IS NULL OR NOT EXISTS (SELECT 1 FROM turns AS root
        WHERE root.thread_id = turns.thread_id AND root.trace_id = turns.trace_id AND root.parent_id IS NULL))`,
  from: sql`FROM scopes CROSS JOIN calls WHERE calls.project_id = ${project} AND calls.trace_id = scopes.trace_id
    AND (scopes.turn IS NULL OR calls.turn_id = scopes.turn) AND ${isLive(now)} AND ${db.dialect.callsCancellable}`,
})

/** A subquery: the sums of every thread of these turns. */
export function sumsOfThreads(
  db: LongReader,
  { project, prices }: { project: string } & Pick<FieldSources, 'prices'>,
  turns: Sql,
  now: number,
): Sql {
  const { tables, from } = callsOfTurns(db, project, turns, now)
  const once = sql`${usesTokens} AND ${countsOnce(db.dialect, project, [], now)}`
  const called = apart(
    db.dialect,
    sql`SELECT scopes.thread_id AS thread_id, CASE WHEN calls.status = 'error' THEN 1 ELSE 0 END AS failed,
      CASE WHEN ${once} THEN 1 END AS counts, input_tokens, output_tokens, ${costOfCall(db.dialect, prices)} AS cost ${from}`,
  )
  const double = (value: string, name: string) => `CAST(sum(${value}) AS DOUBLE PRECISION) AS ${name}`
  const sums = [
    double('failed', 'error_count'),
    double('CASE WHEN counts = 1 THEN input_tokens END', 'input_tokens'),
    double('CASE WHEN counts = 1 THEN output_tokens END', 'output_tokens'),
    double('CASE WHEN counts = 1 THEN cost END', 'cost'),
  ]
  return sql`${tables} SELECT thread_id, count(*) AS call_count, ${rawSql(sums.join(', '))} FROM (${called}) AS called GROUP BY thread_id`
}

/** What a list shows of some threads besides their times. `turns` is the condition of their turns. */
export async function readThreadDetails(
  db: BoundReader,
  project: string,
  turns: Sql,
  threads: readonly string[],
  now: number,
) {
  const own = sql`${turns} AND thread_id IN (${listOf(threads)})`
  const { tables, from } = callsOfTurns(db, project, own, now)
  const limit = sql` LIMIT ${maxValues}`
  const ofTurns = (kind: ThreadValue['kind'], column: string) =>
    sql`SELECT thread_id, ${rawSql(`'${kind}'`)} AS kind, ${rawSql(column)} AS value FROM calls WHERE ${own}`
  const models = sql`SELECT scopes.thread_id AS thread_id, 'model' AS kind, coalesce(model, asked_model) AS value ${from}`
  const values = sql`${ofTurns('user', 'user_id')} UNION ALL ${ofTurns('op', 'op')} UNION ALL ${models}`
  const emoji = db.dialect.json(rawSql('payload'), ['emoji']).text
  const feedback = sql`SELECT called.thread_id AS thread_id, feedback_type,
      CASE WHEN feedback_type = 'wandb.reaction.1' THEN ${emoji} END AS emoji
    FROM (SELECT scopes.thread_id AS thread_id, calls.id AS id ${from}) AS called
    CROSS JOIN feedback WHERE feedback.project_id = ${project} AND feedback.call_id = called.id
    UNION ALL SELECT thread_id, feedback_type, CASE WHEN feedback_type = 'wandb.reaction.1' THEN ${emoji} END AS emoji
    FROM feedback WHERE project_id = ${project} AND thread_id IN (${listOf(threads)})`
  return {
    sums: await allRows<ThreadSums>(db, sumsOfThreads(db, { project }, own, now)),
    values: await allRows<ThreadValue>(
      db,
      sql`${tables} SELECT thread_id, kind, value, count(*) AS count FROM (${values}) AS named WHERE value IS NOT NULL
        GROUP BY thread_id, kind, value ORDER BY count DESC, thread_id, kind, value${limit}`,
    ),
    feedback: await allRows<ThreadFeedback>(
      db,
      sql`${tables} SELECT thread_id, feedback_type, emoji, count(*) AS count FROM (${feedback}) AS named
        GROUP BY thread_id, feedback_type, emoji ORDER BY thread_id, feedback_type, emoji${limit}`,
    ),
  }
}

/** Calls of one trace in which a question or an answer is looked for. */
const maxSpeaking = 3
const speaking = "operation IN ('invoke_agent', 'chat', 'generate_content', 'text_completion')"
const sides = {
  input: { column: 'inputs', order: 'started_at, id' },
  output: { column: 'output', order: 'coalesce(ended_at, started_at) DESC, id DESC' },
} as const
export type Side = keyof typeof sides

/** Of each of these traces the first calls that asked an agent or a model something, or the last that were answered. */
export async function readSpeakingCalls(
  db: BoundReader,
  project: string,
  traces: readonly string[],
  side: Side,
  now: number,
): Promise<string[]> {
  const { column, order } = sides[side]
  const spoken = sql`SELECT id, row_number() OVER (PARTITION BY trace_id ORDER BY ${rawSql(order)}) AS place FROM calls
    WHERE project_id = ${project} AND trace_id IN (${listOf(traces)}) AND ${isLive(now)} AND ${db.dialect.callsCancellable}
      AND (${rawSql(speaking)} OR asked_model IS NOT NULL OR model IS NOT NULL) AND ${db.dialect.bytes(rawSql(column))} > 2`
  const found = await allRows<{ id: string }>(
    db,
    sql`SELECT id FROM (${spoken}) AS spoken WHERE place <= ${maxSpeaking}`,
  )
  return found.map(({ id }) => id)
}
