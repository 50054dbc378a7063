import type { Command, Reader } from './database.ts'
import { type Page, pageOf } from './page.ts'
import { allOf, join, listOf, Sql, type SqlValue, sql, trusted } from './sql.ts'

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

export interface NewTable {
  project_id: string
  digest: string
  /** The order of the table, duplicates included. */
  row_digests: readonly string[]
  /** Rows that the project may not have yet, each once. */
  rows: readonly TableRow[]
  now: number
}

/** Rows of one statement. */
const rowsAtOnce = 16

/** Stores a table. The same rows again are the same table. A digest without a row is answered as `missing`. */
export const keepTable: Command<NewTable, { missing: string[] }> = async (tx, table) => {
  const { project_id, digest, row_digests, now } = table
  // In one order for everyone: two writers of the same rows then wait for each other and never in a ring.
  const rows = [...table.rows].sort((a, b) => (a.digest < b.digest ? -1 : 1))
  for (let from = 0; from < rows.length; from += rowsAtOnce) {
    const values = rows.slice(from, from + rowsAtOnce).map((row) => [project_id, row.digest, row.val])
    await tx.run(insert('table_rows', ['project_id', 'digest', 'val'], values))
  }
  const given = new Set(rows.map((row) => row.digest))
  const others = [...new Set(row_digests)].filter((one) => !given.has(one))
  const missing: string[] = []
  for (let from = 0; from < others.length; from += 128) {
    const some = others.slice(from, from + 128)
    const found = await tx.all<{ digest: string }>(
      sql`SELECT digest FROM table_rows WHERE project_id = ${project_id} AND digest IN (${listOf(some)})`,
    )
    const known = new Set(found.map((row) => row.digest))
    missing.push(...some.filter((one) => !known.has(one)))
  }
  if (missing.length > 0) return { missing: missing.slice(0, 10) }
  const isNew = await tx.run(
    sql`INSERT INTO row_tables (project_id, digest, row_count, created_at)
        VALUES (${project_id}, ${digest}, ${row_digests.length}, ${now}) ON CONFLICT DO NOTHING`,
  )
  if (isNew === 0) return { missing }
  const columns = ['project_id', 'table_digest', 'position', 'row_digest']
  for (let from = 0; from < row_digests.length; from += rowsAtOnce) {
    const some = row_digests.slice(from, from + rowsAtOnce)
    await tx.run(
      insert(
        'table_entries',
        columns,
        some.map((row, i) => [project_id, digest, from + i, row]),
      ),
    )
  }
  return { missing }
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

export interface RowsQuery extends Page {
  projectId: string
  digest: string
  conditions: readonly Sql[]
  order: readonly Sql[]
}

export interface RowOfTable extends TableRow {
  original_index: number
}

/** Rows of a table, in its order when nothing else decides. Long: read it with `stream`. */
export function selectRows(db: Reader, query: RowsQuery): Sql {
  const order = [...query.order, trusted('entry.position')]
  return sql`SELECT entry.position AS original_index, table_rows.digest AS digest, table_rows.val AS val
    FROM table_entries AS entry
    JOIN table_rows ON table_rows.project_id = entry.project_id AND table_rows.digest = entry.row_digest
    WHERE ${allOf([
      sql`entry.project_id = ${query.projectId}`,
      sql`entry.table_digest = ${query.digest}`,
      ...query.conditions,
      db.dialect.going,
    ])} ORDER BY ${join(order, ', ')}${pageOf(db.dialect, query)}`
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
