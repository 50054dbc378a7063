import { rawSql, sql } from '../sql/sql.ts'
import type { Reader } from '../transaction.ts'

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
