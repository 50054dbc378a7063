import type { Database } from '../../src/storage/database.ts'
import { rawSql, sql } from '../../src/storage/sql/sql.ts'

/** A full-text index has tables of its own, which have the contents of search_entries in a form of SQLite's. */
const tablesOf = {
  sqlite: `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'search_words%'`,
  postgres: 'SELECT tablename AS name FROM pg_catalog.pg_tables WHERE schemaname = current_schema()',
}

const notedOfRequests = [
  'heddle_probe',
  'usage_days',
  'audit',
  // Stored by user and not by project: one user's answer does not exist for another.
  'responses',
  'response_texts',
  'response_details',
  'conversations',
  'conversation_items',
  'secrets',
]

/**
 * Every row of every table, except for those of the projects that are left out and for what is stored about requests:
 * `GET /ready` writes to a table of its own, and usage and deletes are counted and listed by user.
 */
export async function dumpOf(
  db: Database,
  isLeftOut: (project: string) => boolean,
  leftOut: readonly string[] = notedOfRequests,
): Promise<Record<string, string[]>> {
  const tables = await db.all<{ name: string }>(rawSql(tablesOf[db.dialect.engine]))
  const dump: Record<string, string[]> = {}
  for (const { name } of tables) {
    if (leftOut.includes(name)) continue
    const rows = await db.all<{ project_id?: string }>(sql`SELECT * FROM ${rawSql(`"${name}"`)}`)
    const kept = rows.filter(({ project_id }) => project_id === undefined || !isLeftOut(project_id))
    dump[name] = kept.map((row) => JSON.stringify(row)).sort()
  }
  return dump
}
