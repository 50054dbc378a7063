import { checkPath, splitPath } from '../../domain/expressions/path.ts'
import { wrong } from '../../domain/refusals.ts'
import type { View } from '../../domain/view.ts'
import { insertInto } from '../sql/inserts.ts'
import type { FieldReading } from '../sql/readings.ts'
import { rowsInOrder } from '../sql/rows-in-order.ts'
import { sortingOf } from '../sql/sorting.ts'
import { allOf, emptySql, listOf, rawSql, sql } from '../sql/sql.ts'
import { type BoundReader, type Command, onlyRow, type Reader } from '../transaction.ts'

export interface TableRow {
  digest: string
  /** JSON. */
  val: string
}

/** Rows of a project by digest, in any order; missing ones are left out. */
export function readRows(db: Reader, project: string, digests: readonly string[]): Promise<TableRow[]> {
  return db.all<TableRow>(
    sql`SELECT digest, ${db.dialect.stored(rawSql('val'), 'always')} AS val FROM table_rows WHERE project_id = ${project} AND digest IN (${listOf(digests)})`,
  )
}

/** The size of the rows in bytes, by digest. */
export function readRowSizes(
  db: Reader,
  project: string,
  digests: readonly string[],
): Promise<{ digest: string; size: number }[]> {
  return db.all(
    sql`SELECT digest, ${db.dialect.bytes(rawSql('val'))} AS size FROM table_rows
        WHERE project_id = ${project} AND digest IN (${listOf(digests)})`,
  )
}

/** The digests for which the project has no row. */
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

/** The project may already have some of these rows. Each is given once. */
export const keepRows: Command<{ project_id: string; rows: readonly TableRow[] }, void> = async (
  tx,
  { project_id, rows },
) => {
  // All writers use the same order, so that two writers of the same rows wait for each other but never deadlock.
  const sorted = rows.toSorted((a, b) => (a.digest < b.digest ? -1 : 1))
  const values = sorted.map(({ digest, val }) => [project_id, digest, val])
  for (const statement of insertRows(values)) await tx.run(statement)
}

const insertRows = insertInto('table_rows', ['project_id', 'digest', 'val'], 'ON CONFLICT DO NOTHING')

interface TableEntries {
  project_id: string
  table_digest: string
  /** The position of the first. */
  from: number
  row_digests: readonly string[]
}

/**
 * A range of the entries of a table. The table's digest determines them, so storing the same range again changes
 * nothing.
 */
export const keepEntries: Command<TableEntries, void> = async (tx, batch) => {
  const { project_id, table_digest, row_digests } = batch
  const entries = row_digests.map((digest, index) => [project_id, table_digest, batch.from + index, digest])
  for (const statement of insertEntries(entries)) await tx.run(statement)
}

const entryColumns = ['project_id', 'table_digest', 'position', 'row_digest']
const insertEntries = insertInto('table_entries', entryColumns, 'ON CONFLICT DO NOTHING')

interface NewTable {
  project_id: string
  digest: string
  row_count: number
  now: number
}

/** Makes a table visible once all its rows and entries are stored. */
export const keepTable: Command<NewTable, void> = async (tx, { project_id, digest, row_count, now }) => {
  await tx.run(
    sql`INSERT INTO row_tables (project_id, digest, row_count, created_at)
        VALUES (${project_id}, ${digest}, ${row_count}, ${now}) ON CONFLICT DO NOTHING`,
  )
}

export interface RowsView extends View {
  digest: string
  /** Only these rows. */
  rows: readonly string[] | undefined
}

interface RowOfTable extends TableRow {
  original_index: number
}

/** Rows of a table; its own order breaks ties of the sort. A missing table has no rows. */
export function streamRows(db: BoundReader, view: RowsView): AsyncIterable<RowOfTable[]> {
  const sorting = sortingOf(view.sort, rowField, db.dialect)
  const conditions = [sql`row_tables.project_id = ${view.project}`, sql`row_tables.digest = ${view.digest}`]
  if (view.rows) conditions.push(sql`entry.row_digest IN (${listOf(view.rows)})`)
  const statement = rowsInOrder(db.dialect, {
    table: 'table_rows',
    columns: sql`table_rows.digest AS digest, ${db.dialect.stored(rawSql('table_rows.val'), 'always')} AS val`,
    beside: { column: rawSql('entry.position'), name: 'original_index' },
    matching: sql`FROM row_tables
      JOIN table_entries AS entry ON entry.project_id = row_tables.project_id AND entry.table_digest = row_tables.digest
      JOIN table_rows ON table_rows.project_id = entry.project_id AND table_rows.digest = entry.row_digest${sorting.source ?? emptySql}
      WHERE ${allOf([...conditions, db.dialect.cancellable])}`,
    order: [...sorting.order, rawSql('entry.position')],
    page: view,
  })
  return db.stream<RowOfTable>(statement)
}

function rowField(requestPath: string) {
  return (field: string): FieldReading => {
    checkPath(field, requestPath)
    const path = splitPath(field)
    if (!path.includes('')) return { kind: 'json', column: rawSql('table_rows.val'), path }
    const fault = `${JSON.stringify(field)} has an empty step`
    throw wrong(requestPath, fault, 'a path such as a.b')
  }
}

/** The digests of a table in order, this many at a time. */
export async function* streamRowDigests(
  db: BoundReader,
  projectId: string,
  digest: string,
  atOnce?: number,
): AsyncGenerator<string[]> {
  const statement = sql`SELECT row_digest FROM table_entries
    WHERE project_id = ${projectId} AND table_digest = ${digest} AND ${db.dialect.cancellable} ORDER BY position`
  for await (const rows of db.stream<{ row_digest: string }>(
    statement,
    atOnce === undefined ? {} : { rows: atOnce },
  )) {
    yield rows.map(({ row_digest }) => row_digest)
  }
}

export function readTable(
  db: Reader,
  project: string,
  digest: string,
): Promise<{ row_count: number } | undefined> {
  return db.get(sql`SELECT row_count FROM row_tables WHERE project_id = ${project} AND digest = ${digest}`)
}

interface TableStats {
  digest: string
  count: number
}

/** Tables by digest, in any order; missing ones are left out. */
export function readTables(db: Reader, project: string, digests: readonly string[]): Promise<TableStats[]> {
  return db.all<TableStats>(
    sql`SELECT digest, row_count AS count FROM row_tables
        WHERE project_id = ${project} AND digest IN (${listOf(digests)})`,
  )
}

/** The bytes of a table's rows; a row that appears several times counts as often. */
export async function sizeOfTable(db: BoundReader, project: string, digest: string): Promise<number> {
  const statement = sql`SELECT sum(${db.dialect.bytes(rawSql('table_rows.val'))}) AS bytes FROM table_entries AS entry
    JOIN table_rows ON table_rows.project_id = entry.project_id AND table_rows.digest = entry.row_digest
    WHERE entry.project_id = ${project} AND entry.table_digest = ${digest} AND ${db.dialect.cancellable}`
  return (await onlyRow<{ bytes: number | null }>(db, statement)).bytes ?? 0
}
