import { rawSql, sql } from '../sql/sql.ts'
import type { Reader } from '../transaction.ts'

/** The next project after this that has rows in the table. */
export async function projectAfter(
  db: Reader,
  table: 'calls' | 'search_marks' | 'underived_calls',
  after: string,
): Promise<string | undefined> {
  const row = await db.get<{ project_id: string | null }>(
    sql`SELECT min(project_id) AS project_id FROM ${rawSql(table)} WHERE project_id > ${after}`,
  )
  return row?.project_id ?? undefined
}

/** Projects take turns: the same, wrapping around. */
export const nextProject = async (db: Reader, table: 'search_marks' | 'underived_calls', turn: string) =>
  (await projectAfter(db, table, turn)) ?? projectAfter(db, table, '')
