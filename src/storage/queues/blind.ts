import type { Database } from '../database.ts'
import type { Dialect } from '../sql/dialect.ts'
import { join, rawSql, Sql, sql } from '../sql/sql.ts'
import type { Reader } from '../transaction.ts'
import { isAnswer } from './answers.ts'

interface Reading {
  user: string
  /** Entities, projects or `*` in which the user sees everything. */
  unhidden: readonly string[]
}

/**
 * The record as it is for somebody who does not see what others answered in a blind queue before having finished the
 * item: each read of the table of feedback reads a narrower one. So it holds for every way to read feedback, filters and
 * sums included.
 */
export function blinded(db: Database, reading: Reading): Database {
  const narrowed = (query: Sql) => withSeen(db, reading, query)
  return {
    ...db,
    all: (query, tenant) => db.all(narrowed(query), tenant),
    get: (query, tenant) => db.get(narrowed(query), tenant),
    stream: (query, options) => db.stream(narrowed(query), options),
  }
}

/** Nowhere has the table another name in a statement; one that gave it one would be refused by the engine. */
const readsFeedback = /\b(FROM|JOIN)\s+feedback\b/g

function withSeen({ dialect }: Database, reading: Reading, query: Sql): Sql {
  // A list of tables that refer to themselves may follow, so the narrow table cannot have the name of the whole one.
  const text = query.text.replaceAll(readsFeedback, '$1 seen_feedback AS feedback')
  if (text === query.text) return query
  const rowId = rawSql(dialect.sortsWholeRows ? 'rowid AS rowid, ' : '')
  const seen = sql`seen_feedback AS NOT MATERIALIZED (SELECT ${rowId}feedback.* FROM feedback
    WHERE feedback.queue_id IS NULL OR feedback.user_id = ${reading.user}
      OR NOT ${isAnswer(rawSql('feedback.feedback_type'))} OR NOT ${isHidden(reading, dialect)})`
  const list = /^\s*WITH (RECURSIVE )?/.exec(text)
  if (list === null) return sql`WITH ${seen} ${new Sql(text, query.values)}`
  return sql`WITH ${rawSql(list[1] ?? '')}${seen}, ${new Sql(text.slice(list[0].length), query.values)}`
}

/** What a reviewer answers in a queue. */
interface OwnAnswer {
  project_id: string
  queue_id: string | null
  call_id: string | null
  feedback_type: string
  user_id: string
}

/** Whether a reviewer of a blind queue has completed what the answer is about, and may therefore see what others say. */
export async function isSettledBlind(db: Reader, answer: OwnAnswer): Promise<boolean> {
  const { project_id, queue_id, call_id, feedback_type, user_id } = answer
  if (queue_id === null || call_id === null) return false
  const items = await db.get<{ done: number | null }>(
    sql`SELECT min(CASE WHEN own.state = 'completed' AND own.adjudicates = 0 THEN 1 ELSE 0 END) AS done
        FROM annotation_queues AS queue JOIN annotation_queue_items AS item
          ON item.project_id = queue.project_id AND item.queue_id = queue.id
        LEFT JOIN annotation_progress AS own
          ON own.project_id = item.project_id AND own.item_id = item.id AND own.annotator = ${user_id}
        WHERE queue.project_id = ${project_id} AND queue.id = ${queue_id} AND queue.blind = 1
          AND (item.call_id = ${call_id} OR item.other_call_id = ${call_id}) AND ${isAnswer(db.dialect.text(feedback_type))}`,
  )
  return items?.done === 1
}

/**
 * The item of the row is one of a blind queue, and the reader has not completed it and does not decide it. Who skips an
 * item could reopen it.
 */
function isHidden({ user, unhidden }: Reading, { position, text }: Dialect): Sql {
  const free = unhidden.map((scope) =>
    scope.includes('/')
      ? sql`queue.project_id = ${scope}`
      : sql`${position(rawSql('queue.project_id'), text(`${scope}/`))} = 1`,
  )
  const elsewhere = free.length === 0 ? rawSql('') : sql` AND NOT (${join(free, ' OR ')})`
  // A list without its brackets between commas, so that a name is found whole.
  const adjudicators = sql`(',' || substr(queue.adjudicators, 2, length(queue.adjudicators) - 2) || ',')`
  const name = `,${JSON.stringify(user)},`
  const own = sql`FROM annotation_progress AS own WHERE own.project_id = item.project_id AND own.item_id = item.id
    AND own.annotator = ${user}
    AND own.updated_at >= coalesce((SELECT users.created_at FROM users WHERE users.name = ${user}), 0)`
  // Each of the two has an index; one condition over both would read the whole queue for each row.
  const hiddenFor = (
    column: string,
  ) => sql`EXISTS (SELECT 1 FROM annotation_queues AS queue JOIN annotation_queue_items AS item
      ON item.project_id = queue.project_id AND item.queue_id = queue.id
    WHERE queue.project_id = feedback.project_id AND queue.id = feedback.queue_id
      AND ${rawSql(`item.${column}`)} = feedback.call_id
      AND queue.blind = 1 AND queue.deleted_at IS NULL${elsewhere}
      AND NOT EXISTS (SELECT 1 ${own} AND own.state = 'completed')
      AND NOT (${position(adjudicators, text(name))} > 0 AND NOT EXISTS (SELECT 1 ${own} AND own.adjudicates = 0)))`
  return sql`(${hiddenFor('call_id')} OR ${hiddenFor('other_call_id')})`
}
