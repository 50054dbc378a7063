import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader, onlyRow } from '../transaction.ts'
import { besides } from './calls.ts'
import { ofUser, ownTables } from './own-rows.ts'
import type { ErasedCounts } from './progress.ts'
import { itemsOf } from './queue-items.ts'
import type { Subject } from './subjects.ts'

/** Feedback that the subject gave, or that is on its conversation. Undefined if feedback does not name such a subject. */
function ownFeedback({ kind, value }: Subject): Sql | undefined {
  if (kind === 'user') return sql`(feedback.user_id = ${value})`
  if (kind === 'thread_id') return sql`(coalesce(feedback.thread_id, '') = ${value})`
  return undefined
}

const feedbackAtOnce = 50

/** Some of it. What is erased meanwhile is not met again. */
export async function* feedbackOfSubject(
  db: BoundReader,
  project: string,
  subject: Subject,
): AsyncGenerator<string[]> {
  const isOwn = ownFeedback(subject)
  if (isOwn === undefined) return
  for (let after = ''; ; ) {
    const found = await allRows<{ id: string }>(
      db,
      sql`SELECT id FROM feedback WHERE project_id = ${project} AND id > ${after} AND ${isOwn} AND ${db.dialect.cancellable}
          ORDER BY id LIMIT ${feedbackAtOnce}`,
    )
    const last = found.at(-1)
    if (last === undefined) return
    yield found.map(({ id }) => id)
    after = last.id
  }
}

async function count(db: BoundReader, rows: Sql): Promise<number> {
  const query = sql`SELECT count(*) AS count FROM ${rows} AND ${db.dialect.cancellable}`
  return Number((await onlyRow<{ count: number }>(db, query)).count)
}

/**
 * What would be erased with these calls. Feedback of the subject itself is counted apart; an item of a pair is counted with
 * the first of its calls, by `pairs`.
 */
export async function countWithCalls(
  db: BoundReader,
  project: string,
  subject: Subject,
  { ids, pairs }: { ids: readonly string[]; pairs: Set<string> },
): Promise<Partial<ErasedCounts>> {
  const isOwn = ownFeedback(subject)
  const ofOthers = isOwn === undefined ? rawSql('1 = 1') : sql`NOT ${isOwn}`
  const counts: Partial<ErasedCounts> = { calls: ids.length }
  for (const kind of Object.keys(besides) as (keyof typeof besides)[]) {
    counts[kind] = await count(db, besides[kind](project, ids))
  }
  counts.feedback = await count(
    db,
    sql`feedback WHERE project_id = ${project} AND call_id IN (${listOf(ids)}) AND ${ofOthers}`,
  )
  const items = await allRows<{ id: string; other_call_id: string | null }>(
    db,
    sql`SELECT id, other_call_id FROM annotation_queue_items WHERE ${itemsOf(project, ids)} AND ${db.dialect.cancellable}`,
  )
  const fresh = items.filter(({ id }) => !pairs.has(id))
  for (const { id, other_call_id } of fresh) if (other_call_id !== null) pairs.add(id)
  counts.queue_items = fresh.length
  counts.reviews = 0
  if (fresh.length > 0) {
    const list = listOf(fresh.map(({ id }) => id))
    counts.reviews = await count(
      db,
      sql`annotation_progress WHERE project_id = ${project} AND item_id IN (${list})`,
    )
  }
  return counts
}

/** What would be erased besides the calls of the subject and what is about them. */
export async function countOwn(
  db: BoundReader,
  project: string,
  subject: Subject,
): Promise<Partial<ErasedCounts>> {
  const isOwn = ownFeedback(subject)
  const counts: Partial<ErasedCounts> = {}
  if (isOwn !== undefined) {
    counts.feedback = await count(db, sql`feedback WHERE project_id = ${project} AND ${isOwn}`)
  }
  if (subject.kind !== 'user') return counts
  for (const [kind, table] of Object.entries(ownTables) as [keyof typeof ownTables, string][]) {
    const own = ofUser({ project_id: project, user: subject.value })
    counts[kind] = await count(db, sql`${rawSql(table)} WHERE ${own}`)
  }
  return counts
}
