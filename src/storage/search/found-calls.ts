import type { Term } from '../../domain/search/search-text.ts'
import { maxDocumentLength, maxTextsLength } from '../../domain/search/texts.ts'
import { isLive } from '../calls/calls.ts'
import { type CallsView, narrowedQuery } from '../calls/queries.ts'
import { allOf, listOf, rawSql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader, onlyRow, type Reader } from '../transaction.ts'
import { entriesOf } from './entries.ts'
import { type FoundTexts, isReadThrough, searchState } from './indexing.ts'

interface FoundCall {
  /** Later entries have larger numbers. */
  doc: number
  id: string
}

/**
 * The calls of a view that match all terms, latest first. Those of a common word fill the page from the newest entries;
 * where these do not, all entries with the words are read and sorted.
 */
export async function findCalls(
  db: BoundReader,
  view: CallsView,
  terms: readonly Term[],
  before: number | undefined,
  now: number,
  window?: number,
): Promise<FoundCall[]> {
  const { conditions, isFew } = await narrowedQuery(db, { ...view, sort: [] }, now)
  const entries = entriesOf(db)
  const read = (newest?: number) => {
    const { from, condition, doc } = entries.matching(view.project, terms, before, newest)
    const all = [condition, isLive(now), ...conditions, db.dialect.callsCancellable]
    return allRows<FoundCall>(
      db,
      sql`SELECT ${doc} AS doc, calls.id FROM ${from} WHERE ${allOf(all)}
          ORDER BY ${doc} DESC LIMIT ${view.limit ?? db.dialect.noLimit}`,
    )
  }
  const newest = isFew ? 0 : (window ?? (await entries.window(db, view.project, terms)))
  const page = newest > 0 ? await read(newest) : []
  return page.length > 0 && page.length === view.limit ? page : read()
}

/** The searchable part of the texts of these calls. */
export async function readFoundTexts(
  db: BoundReader,
  project: string,
  calls: readonly string[],
): Promise<FoundTexts[]> {
  const document = rawSql(String(maxDocumentLength))
  const found = await allRows<FoundTexts>(
    db,
    sql`SELECT id, substr(inputs, 1, ${document}) AS inputs, substr(output, 1, ${document}) AS output,
          substr(exception, 1, ${rawSql(String(maxTextsLength))}) AS exception
        FROM calls WHERE project_id = ${project} AND id IN (${listOf(calls)}) AND ${db.dialect.cancellable}`,
  )
  // Texts of cold calls are whole.
  const cut = (text: string | null) =>
    text !== null && text.length > maxDocumentLength
      ? Array.from(text.slice(0, 2 * maxDocumentLength))
          .slice(0, maxDocumentLength)
          .join('')
      : text
  return found.map((row) => ({ ...row, inputs: cut(row.inputs), output: cut(row.output) }))
}

type IndexCoverage = 'off' | 'all' | 'some'

/** Whether everything that was written is indexed by now. */
export async function indexCoverage(db: Reader, project: string): Promise<IndexCoverage> {
  const state = await searchState(db)
  if (state?.is_on !== 1) return 'off'
  if (!isReadThrough(state, project)) return 'some'
  const mark = await db.get(sql`SELECT 1 AS one FROM search_marks WHERE project_id = ${project} LIMIT 1`)
  return mark === undefined ? 'all' : 'some'
}

/** The number of indexed calls of a project. */
export async function countIndexedCalls(db: BoundReader, project: string): Promise<number> {
  const counted = sql`SELECT count(*) AS count FROM search_entries WHERE project_id = ${project} AND ${db.dialect.cancellable}`
  return (await onlyRow<{ count: number }>(db, counted)).count
}
