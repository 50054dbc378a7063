import type { ProjectSettings } from '../../domain/project-settings.ts'
import { wrong } from '../../domain/refusals.ts'
import { type Change, changed, storedSettings } from '../settings.ts'
import { sql } from '../sql/sql.ts'
import type { Command, Reader } from '../transaction.ts'

/** Everything that changes data about the project itself takes this lock. */
export const projectLock = (project: string) => `project ${project}`

export const settingsOf = (text: string | undefined): ProjectSettings =>
  storedSettings<ProjectSettings>(text, { retention_days: true, redaction: true })

export async function readProjectSettings(db: Reader, project: string): Promise<ProjectSettings> {
  const row = await db.get<{ settings: string }>(
    sql`SELECT settings FROM projects WHERE project_id = ${project}`,
  )
  return settingsOf(row?.settings)
}

/** Where private texts are replaced, nothing may wait on the disk as a model is to read it. */
export async function requireUnredacted(
  db: Reader,
  projects: readonly string[],
  refusal: Parameters<typeof wrong>,
): Promise<void> {
  const settings = await Promise.all(projects.map((project) => readProjectSettings(db, project)))
  if (settings.some(({ redaction }) => redaction)) throw wrong(...refusal)
}

/** Returns all settings of the project. The project may still be empty. */
export const changeProjectSettings: Command<
  { project_id: string; change: Change<ProjectSettings> },
  ProjectSettings
> = async (tx, { project_id, change }) => {
  await tx.lock(projectLock(project_id))
  const row = await tx.get<{ settings: string }>(
    sql`SELECT settings FROM projects WHERE project_id = ${project_id}`,
  )
  const settings = changed(row?.settings, change)
  await tx.run(
    sql`INSERT INTO projects (project_id, settings) VALUES (${project_id}, ${settings})
        ON CONFLICT (project_id) DO UPDATE SET settings = excluded.settings`,
  )
  return settingsOf(settings)
}
