import { changed } from '../settings.ts'
import { sql } from '../sql/sql.ts'
import type { Reader, Transaction } from '../transaction.ts'

/** What long work on a project has done stands beside the project's settings: a step is counted in its own transaction. */
interface Beside {
  erasures: Record<string, unknown>
  redaction_pass: object
}

const settingsText = async (db: Reader, project: string): Promise<string | undefined> =>
  (await db.get<{ settings: string }>(sql`SELECT settings FROM projects WHERE project_id = ${project}`))
    ?.settings

export async function readBeside<T>(db: Reader, project: string, name: keyof Beside): Promise<T | undefined> {
  const text = await settingsText(db, project)
  return text === undefined ? undefined : (JSON.parse(text) as Record<string, T>)[name]
}

/** Null removes it. The caller holds the lock of the project. */
export async function keepBeside<Name extends keyof Beside>(
  tx: Transaction,
  project: string,
  name: Name,
  value: Beside[Name] | null,
): Promise<void> {
  const settings = changed<Beside>(await settingsText(tx, project), { [name]: value })
  await tx.run(
    sql`INSERT INTO projects (project_id, settings) VALUES (${project}, ${settings})
        ON CONFLICT (project_id) DO UPDATE SET settings = excluded.settings`,
  )
  if (value !== null) return
  await tx.run(
    sql`DELETE FROM projects WHERE project_id = ${project} AND settings = '{}' AND deletion IS NULL`,
  )
}
