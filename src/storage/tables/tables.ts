import type { Sorting } from '../sql/expressions.ts'
import type { Page } from '../sql/page.ts'
import { rowsInOrder } from '../sql/rows-in-order.ts'
import { allOf, listOf, nothing, Sql, type SqlValue, sql, trusted } from '../sql/sql.ts'
import type { Command, Reader } from '../transaction.ts'

export interface TableRow {
  digest: string
  /** JSON. */
  val: string
}

/** Rows of a project by their digests, in any order; what is not there is left out. */
export function readRows(db: Reader, project: string, digests: readonly string[]): Promise<TableRow[]> {
  return db.all<TableRow>(
    sql`SELECT digest, val FROM table_rows WHERE project_id = ${project} AND digest IN (${listOf(digests)})`,
  )
}

/** How many bytes the rows take, by digest. */
export function readRowSizes(
  db: Reader,
  project: string,
  digests: readonly string[],
): Promise<{ digest: string; size: number }[]> {
  return db.all(
    sql`SELECT digest, ${db.dialect.bytes(trusted('val'))} AS size FROM table_rows
        WHERE project_id = ${project} AND digest IN (${listOf(digests)})`,
  )
}

/** Which of the digests the project has no row of. */
export async function missingRows(
  db: Reader,
  project: string,
  digests: readonly string[],
): Promise<string[]> {
  const found = await db.all<{ digest: string }>(
    sql`SELECT digest FROM table_rows WHERE project_id = ${project} AND digest IN (${listOf(digests)})`,
  )
  const known = new Set(found.map(({ digest }) => digest))
  return digests.filter((digest) => !known.has(digest))
}

/** Rows of one statement. */
const rowsAtOnce = 16

/** Rows that the project may have already. Each once. */
export const keepRows: Command<{ project_id: string; rows: readonly TableRow[] }, void> = async (
  tx,
  { project_id, rows },
) => {
  // In one order for everyone: two writers of the same rows then wait for each other and never in a ring.
  const sorted = rows.toSorted((a, b) => (a.digest < b.digest ? -1 : 1))
  for (let from = 0; from < sorted.length; from += rowsAtOnce) {
    const values = sorted.slice(from, from + rowsAtOnce).map(({ digest, val }) => [project_id, digest, val])
    await tx.run(insert('table_rows', ['project_id', 'digest', 'val'], values))
  }
}

export interface TableEntries {
  project_id: string
  table_digest: string
  /** The position of the first. */
  from: number
  row_digests: readonly string[]
}

/** A part of the order of a table. Its digest says what stands where, so the same part again is the same. */
export const keepEntries: Command<TableEntries, void> = async (tx, part) => {
  const { project_id, table_digest, from, row_digests } = part
  const columns = ['project_id', 'table_digest', 'position', 'row_digest']
  for (let at = 0; at < row_digests.length; at += rowsAtOnce) {
    const values = row_digests
      .slice(at, at + rowsAtOnce)
      .map((digest, i) => [project_id, table_digest, from + at + i, digest])
    await tx.run(insert('table_entries', columns, values))
  }
}

export interface NewTable {
  project_id: string
  digest: string
  row_count: number
  now: number
}

/** Makes a table visible whose rows and entries are all there. */
export const keepTable: Command<NewTable, void> = async (tx, { project_id, digest, row_count, now }) => {
  await tx.run(
    sql`INSERT INTO row_tables (project_id, digest, row_count, created_at)
        VALUES (${project_id}, ${digest}, ${row_count}, ${now}) ON CONFLICT DO NOTHING`,
  )
}

function insert(
  table: string,
  columns: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): Sql {
  const row = `(${columns.map(() => '?').join(', ')})`
  const values: SqlValue[] = rows.flat()
  const places = Array(rows.length).fill(row).join(', ')
  return new Sql(
    `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${places} ON CONFLICT DO NOTHING`,
    values,
  )
}

export interface RowsQuery extends Page, Sorting {
  projectId: string
  digest: string
  conditions: readonly Sql[]
}

export interface RowOfTable extends TableRow {
  original_index: number
}

/** Rows of a table, in its order when nothing else decides. Long: read it with `stream`. */
export function selectRows(db: Reader, query: RowsQuery): Sql {
  const order = [...query.order, trusted('entry.position')]
  const beside = { column: trusted('entry.position'), name: 'original_index' }
  const columns = trusted('table_rows.digest AS digest, table_rows.val AS val')
  const matching = sql`FROM row_tables
    JOIN table_entries AS entry ON entry.project_id = row_tables.project_id AND entry.table_digest = row_tables.digest
    JOIN table_rows ON table_rows.project_id = entry.project_id AND table_rows.digest = entry.row_digest${query.source ?? nothing}
    WHERE ${allOf([
      sql`row_tables.project_id = ${query.projectId}`,
      sql`row_tables.digest = ${query.digest}`,
      ...query.conditions,
      db.dialect.going,
    ])}`
  return rowsInOrder(db.dialect, { table: 'table_rows', columns, beside, matching, order, page: query })
}

/** The digests of a table in its order. Long: read it with `stream`. */
export function selectRowDigests(db: Reader, projectId: string, digest: string): Sql {
  return sql`SELECT row_digest FROM table_entries WHERE project_id = ${projectId} AND table_digest = ${digest}
    AND ${db.dialect.going} ORDER BY position`
}

export function readTable(
  db: Reader,
  project: string,
  digest: string,
): Promise<{ row_count: number } | undefined> {
  return db.get(sql`SELECT row_count FROM row_tables WHERE project_id = ${project} AND digest = ${digest}`)
}

export interface TableStats {
  digest: string
  count: number
}

/** Tables by their digests, in any order; what is not there is left out. */
export function readTables(db: Reader, project: string, digests: readonly string[]): Promise<TableStats[]> {
  return db.all<TableStats>(
    sql`SELECT digest, row_count AS count FROM row_tables
        WHERE project_id = ${project} AND digest IN (${listOf(digests)})`,
  )
}

/** The bytes of a table's rows, each as often as it stands there. Long: read it with `stream`. */
export function sumTable(db: Reader, project: string, digest: string): Sql {
  return sql`SELECT sum(${db.dialect.bytes(trusted('table_rows.val'))}) AS bytes FROM table_entries AS entry
    JOIN table_rows ON table_rows.project_id = entry.project_id AND table_rows.digest = entry.row_digest
    WHERE entry.project_id = ${project} AND entry.table_digest = ${digest} AND ${db.dialect.going}`
}
