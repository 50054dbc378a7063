import { rawSql, sql } from '../sql/sql.ts'
import type { Reader } from '../transaction.ts'

/** Projects take turns: the next one after this that has rows in the table, wrapping around. */
export async function nextProject(
  db: Reader,
  table: 'search_marks' | 'underived_calls',
  turn: string,
): Promise<string | undefined> {
  const first = (after: string) =>
    db.get<{ project_id: string | null }>(
      sql`SELECT min(project_id) AS project_id FROM ${rawSql(table)} WHERE project_id > ${after}`,
    )
  return (await first(turn))?.project_id ?? (await first(''))?.project_id ?? undefined
}
