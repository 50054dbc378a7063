import { knownOf } from '../cold/moving.ts'
import { searchState } from '../search/indexing.ts'
import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { BoundReader, Reader } from '../transaction.ts'
import { type StoredCall, storedColumns, wrongFacts } from './facts.ts'

/** Calls in memory at a time. */
const callsAtOnce = 64

/** A call, and what was derived from it that is not what the call says. */
interface WrongCall {
  project_id: string
  id: string
  derived: string[]
  /** Characters of its JSON. */
  size: number
}

interface Row extends StoredCall {
  size: number
  project_id: string
  wrong_words: number
  /** Those by whom an erasure finds it; null if its inputs are in the record. */
  cold_users: string | null
}

/** The words of a call are there from its start on, until its texts are removed. */
const wrongWords = rawSql(`CASE WHEN EXISTS (SELECT 1 FROM search_entries AS entries
    WHERE entries.project_id = calls.project_id AND entries.call_id = calls.id)
  THEN CASE WHEN swept_at IS NULL THEN 0 ELSE 1 END
  ELSE CASE WHEN started_at IS NULL OR deleted_at IS NOT NULL THEN 0 ELSE 1 END END`)

const coldUsers =
  rawSql(`CASE WHEN substr(inputs, 1, 1) = ' ' THEN coalesce((SELECT string_agg(end_user, ',' ORDER BY end_user)
    FROM cold_users WHERE cold_users.project_id = calls.project_id AND call_id = calls.id), '') END`)

const selectCalls = (more: Sql) =>
  sql`SELECT project_id, start_bytes + end_bytes AS size, ${storedColumns}, ${wrongWords} AS wrong_words,
        ${coldUsers} AS cold_users FROM calls ${more}`

/** Derived again, such a call returns into the record, and what is known of its users goes. */
function isOfOthers({ id, inputs, cold_users }: Row): boolean {
  if (inputs === null || cold_users === null) return false
  const known = knownOf({ call: id, column: 'inputs', text: inputs })
  return known !== undefined && [...known.users].sort().join() !== cold_users
}

/**
 * Compares what lists, charts and the search know of calls with the calls themselves. What a running server is about to
 * derive is not reported.
 */
export async function* findWrongCalls(db: BoundReader): AsyncGenerator<WrongCall> {
  if ((await db.get(sql`SELECT 1 AS one FROM facts_backfill`)) !== undefined) return
  const search = await searchState(db)
  const isIndexed = search?.is_on === 1 && search.at_project === null
  const wrongAmong = (rows: readonly Row[]): WrongCall[] =>
    rows.flatMap((row) => {
      const derived = wrongFacts(row).map(([column]) => column)
      if (isIndexed && row.wrong_words === 1) derived.push('words')
      if (isOfOthers(row)) derived.push('end users')
      return derived.length === 0
        ? []
        : [{ project_id: row.project_id, id: row.id, derived, size: Number(row.size) }]
    })
  const surplus = sql`SELECT DISTINCT project_id, call_id AS id FROM cold_users WHERE NOT EXISTS (SELECT 1 FROM calls
      WHERE calls.project_id = cold_users.project_id AND calls.id = call_id AND substr(inputs, 1, 1) = ' ')`
  for await (const rows of db.stream<Pick<Row, 'project_id' | 'id'>>(surplus)) {
    yield* rows.map((row) => ({ ...row, derived: ['end users'], size: 0 }))
  }
  const all = selectCalls(sql`ORDER BY project_id, id`)
  for await (const rows of db.stream<Row>(all, { rows: callsAtOnce })) {
    for (const [project, calls] of Map.groupBy(wrongAmong(rows), ({ project_id }) => project_id)) {
      const pending = await pendingCalls(db, project, calls)
      const left = calls.map(({ id }) => id).filter((id) => !pending.has(id))
      if (left.length === 0) continue
      // A server may have derived them since they were read.
      const again = selectCalls(sql`WHERE project_id = ${project} AND id IN (${listOf(left)})`)
      yield* wrongAmong(await db.all<Row>(again))
    }
  }
}

/** Those that a server will derive. Marks of the search are about words only. */
async function pendingCalls(db: Reader, project: string, calls: readonly WrongCall[]): Promise<Set<string>> {
  const marked = await db.all<{ call_id: string }>(
    sql`SELECT call_id FROM underived_calls WHERE project_id = ${project}
        AND call_id IN (${listOf(calls.map(({ id }) => id))})`,
  )
  const pending = new Set(marked.map(({ call_id }) => call_id))
  const wordless = calls.filter(({ id, derived }) => !pending.has(id) && derived.join() === 'words')
  for await (const id of unreadAmong(db, project, new Set(wordless.map(({ id }) => id)))) pending.add(id)
  return pending
}

/** Marks in memory at a time. */
const marksAtOnce = 500

async function* unreadAmong(db: Reader, project: string, calls: ReadonlySet<string>): AsyncGenerator<string> {
  let after: string | undefined = calls.size > 0 ? '' : undefined
  while (after !== undefined) {
    const marks: { mark: string; call_ids: string }[] = await db.all(
      sql`SELECT mark, call_ids FROM search_marks WHERE project_id = ${project} AND mark > ${after}
          ORDER BY mark LIMIT ${marksAtOnce}`,
    )
    for (const { call_ids } of marks) yield* (JSON.parse(call_ids) as string[]).filter((id) => calls.has(id))
    after = marks.at(-1)?.mark
  }
}

interface BatchSize {
  /** The most calls, and the most characters of their JSON. */
  limit: number
  characters: number
}

/** The same, as many calls of one project as may be derived in one transaction. */
export async function* findWrongBatches(
  db: BoundReader,
  { limit, characters }: BatchSize,
): AsyncGenerator<WrongCall[]> {
  let batch: WrongCall[] = []
  let sum = 0
  for await (const call of findWrongCalls(db)) {
    const isOther = batch[0]?.project_id !== call.project_id
    if (batch.length > 0 && (isOther || batch.length === limit || sum + call.size > characters)) {
      yield batch
      batch = []
      sum = 0
    }
    batch.push(call)
    sum += call.size
  }
  if (batch.length > 0) yield batch
}
