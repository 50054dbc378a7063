import { insertInto } from '../sql/inserts.ts'
import { rawSql, type SqlValue, sql } from '../sql/sql.ts'
import type { Command, Reader } from '../transaction.ts'
import type { StoredTable } from './stored-tables.ts'

const names = (columns: readonly string[]) => columns.map((column) => `"${column}"`)

/** While a record is incomplete it has this table, which names the source of the copy. */
export const beginCopy: Command<{ from: string }, void> = async (tx, { from }) => {
  await tx.run(sql`CREATE TABLE heddle_copying (source TEXT NOT NULL)`)
  await tx.run(sql`INSERT INTO heddle_copying (source) VALUES (${from})`)
}

/** The source that a record is being copied from, if its copy is incomplete. */
export async function unfinishedCopy(db: Reader): Promise<string | undefined> {
  const catalogue = rawSql(
    db.dialect.engine === 'sqlite'
      ? `SELECT 1 AS one FROM sqlite_master WHERE name = 'heddle_copying'`
      : `SELECT 1 AS one WHERE to_regclass('heddle_copying') IS NOT NULL`,
  )
  if ((await db.get(catalogue)) === undefined) return undefined
  return (await db.get<{ source: string }>(sql`SELECT source FROM heddle_copying`))?.source
}

/** Makes servers index every call for search again. */
export const endCopy: Command<Record<string, never>, void> = async (tx) => {
  await tx.run(sql`UPDATE search_state SET at_project = '', at_call = '' WHERE is_on = 1`)
  await tx.run(sql`DROP TABLE heddle_copying`)
}

/** Rows that already exist are left as they are. */
export const copyRows: Command<{ table: StoredTable; rows: SqlValue[][] }, void> = async (
  tx,
  { table, rows },
) => {
  const insert = insertInto(`"${table.name}"`, names(table.columns), 'ON CONFLICT DO NOTHING')
  for (const statement of insert(rows)) await tx.run(statement)
}

/** Returns how many rows were removed; zero when the table is empty. */
export const clearRows: Command<{ table: StoredTable; most: number }, number> = (
  tx,
  { table: { name, key }, most },
) => {
  const [from, columns] = [rawSql(`"${name}"`), rawSql(names(key).join(', '))]
  return tx.run(sql`DELETE FROM ${from} WHERE (${columns}) IN (SELECT ${columns} FROM ${from} LIMIT ${most})`)
}
