import { sql } from '../sql/sql.ts'
import type { Command, Reader } from '../transaction.ts'

export interface RedactionCount {
  project_id: string
  /** A kind, the name of a pattern, `dropped`, `hashed` or `failed`. */
  kind: string
  count: number
}

/** Adds to what was replaced. In order, so that two writes cannot wait for each other. */
export const addRedactionCounts: Command<readonly RedactionCount[], void> = async (tx, added) => {
  const keyOf = ({ project_id, kind }: RedactionCount) => `${project_id} ${kind}`
  for (const { project_id, kind, count } of added.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))) {
    await tx.run(
      sql`INSERT INTO redaction_counts (project_id, kind, count) VALUES (${project_id}, ${kind}, ${count})
          ON CONFLICT (project_id, kind) DO UPDATE SET count = redaction_counts.count + excluded.count`,
    )
  }
}

/** How often each kind was replaced in the project. */
export async function readRedactionCounts(db: Reader, project: string): Promise<Record<string, number>> {
  const rows = await db.all<RedactionCount>(
    sql`SELECT kind, count FROM redaction_counts WHERE project_id = ${project} ORDER BY kind`,
  )
  return Object.fromEntries(rows.map(({ kind, count }) => [kind, Number(count)]))
}
