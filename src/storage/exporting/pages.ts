import { type CallRow, selectCalls } from '../calls/calls.ts'
import { largeColumns } from '../calls/columns.ts'
import { type CallsView, callsQueryOf, narrowedQuery } from '../calls/queries.ts'
import { type Feedback, feedbackColumns } from '../feedback/feedback.ts'
import type { FinishedUpload } from '../objects/files.ts'
import { type ObjectWithValue, shownValue, versionColumns } from '../objects/objects.ts'
import { emptySql, join, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { BoundReader, Reader } from '../transaction.ts'

/**
 * An export is read in queries of this many rows, each starting where the last one ended. So no query takes long,
 * however slowly the client reads and however much there is.
 */
const rowsOfQuery = 2_000
const largeRowsOfQuery = 200
/** Rows in memory at a time; a single row may be megabytes. */
const rowsAtOnce = 50

/**
 * The rows of one query after the other, in batches. `query` returns the query for the rows after the last one read.
 */
async function* paged<Row>(
  db: BoundReader,
  query: (last: Row | undefined, limit: number) => Sql | Promise<Sql>,
  limit = rowsOfQuery,
): AsyncGenerator<Row[]> {
  for (let last: Row | undefined; ; ) {
    let read = 0
    for await (const rows of db.stream<Row>(await query(last, limit), { rows: rowsAtOnce })) {
      read += rows.length
      last = rows.at(-1) ?? last
      yield rows
    }
    if (read < limit) return
  }
}

export interface CallPlace {
  id: string
  started_at: number
}

/** The position of a call in the order of an export, even if it was deleted since. */
export function placeOfCall(db: Reader, project: string, id: string): Promise<CallPlace | undefined> {
  return db.get<CallPlace>(
    sql`SELECT id, started_at FROM calls WHERE project_id = ${project} AND id = ${id} AND started_at IS NOT NULL`,
  )
}

/** The calls of the view after `after`, in the order in which they started. */
export function callPages(
  db: BoundReader,
  view: CallsView,
  after: CallPlace | undefined,
  now: number,
): AsyncGenerator<CallRow[]> {
  const query = callsQueryOf(db, view)
  const columns = { large: new Set(largeColumns), totalStorageSize: false }
  return paged<CallRow>(db, async (last, limit) => {
    const from = last ?? after
    // For each page anew, so that calls that were written meanwhile are in it.
    const { conditions, ...asked } = await narrowedQuery(db, view, now, query)
    const behind = from ? [sql`(calls.started_at, calls.id) > (${from.started_at}, ${from.id})`] : []
    return selectCalls(db, { ...asked, conditions: [...conditions, ...behind], limit }, columns, now)
  })
}

function feedbackSelected(db: Reader): Sql {
  const columns = feedbackColumns.map((name) =>
    name === 'payload' ? sql`${db.dialect.stored(rawSql(name), 'always')} AS payload` : rawSql(name),
  )
  return sql`SELECT ${join(columns, ', ')} FROM feedback`
}

/** All feedback of a project. */
export function feedbackPages(db: BoundReader, project: string): AsyncGenerator<Feedback[]> {
  return paged<Feedback>(db, (last, limit) => {
    const behind = last ? sql`AND (created_at, id) > (${last.created_at}, ${last.id})` : emptySql
    return sql`${feedbackSelected(db)} WHERE project_id = ${project} ${behind} ORDER BY created_at, id LIMIT ${limit}`
  })
}

/** The feedback on these calls. */
export function feedbackOfCalls(
  db: BoundReader,
  project: string,
  calls: readonly string[],
): AsyncIterable<Feedback[]> {
  const query = sql`${feedbackSelected(db)} WHERE project_id = ${project} AND call_id IN (${listOf(calls)}) ORDER BY call_id, created_at, id`
  return db.stream<Feedback>(query, { rows: rowsAtOnce })
}

/** Every version that is not deleted, by name and number. */
export function versionPages(db: BoundReader, project: string): AsyncGenerator<ObjectWithValue[]> {
  return paged<ObjectWithValue>(
    db,
    (last, limit) => {
      const behind = last
        ? sql`AND (objects.object_id, objects.version_index) > (${last.object_id}, ${last.version_index})`
        : emptySql
      return sql`SELECT ${versionColumns}, ${shownValue(db)} FROM objects
        WHERE objects.project_id = ${project} AND objects.deleted_at IS NULL ${behind}
        ORDER BY objects.object_id, objects.version_index LIMIT ${limit}`
    },
    largeRowsOfQuery,
  )
}

interface StoredTable {
  digest: string
  row_count: number
}

export function tablePages(db: BoundReader, project: string): AsyncGenerator<StoredTable[]> {
  return paged<StoredTable>(db, (last, limit) => {
    const behind = last ? sql`AND digest > ${last.digest}` : emptySql
    return sql`SELECT digest, row_count FROM row_tables WHERE project_id = ${project} ${behind} ORDER BY digest LIMIT ${limit}`
  })
}

interface PlacedRow {
  position: number
  digest: string
  val: string
}

/** The rows of a table, in order. */
export function tableRowPages(db: BoundReader, project: string, table: string): AsyncGenerator<PlacedRow[]> {
  return paged<PlacedRow>(db, (last, limit) => {
    const val = db.dialect.stored(rawSql('table_rows.val'), 'always')
    return sql`SELECT entry.position, table_rows.digest, ${val} AS val FROM table_entries AS entry
      JOIN table_rows ON table_rows.project_id = entry.project_id AND table_rows.digest = entry.row_digest
      WHERE entry.project_id = ${project} AND entry.table_digest = ${table} AND entry.position > ${last?.position ?? -1}
      ORDER BY entry.position LIMIT ${limit}`
  })
}

type FileEntry = Pick<FinishedUpload, 'digest' | 'upload_id' | 'size'>

export function filePages(db: BoundReader, project: string): AsyncGenerator<FileEntry[]> {
  return paged<FileEntry>(db, (last, limit) => {
    const behind = last ? sql`AND digest > ${last.digest}` : emptySql
    return sql`SELECT digest, upload_id, size FROM files WHERE project_id = ${project} ${behind} ORDER BY digest LIMIT ${limit}`
  })
}
