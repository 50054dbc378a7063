import type { ProjectSettings } from '../../domain/project-settings.ts'
import { type Change, changed, storedSettings } from '../settings.ts'
import { sql } from '../sql/sql.ts'
import type { Command, Reader } from '../transaction.ts'

/** Whatever changes what is known of a project itself takes turns. */
export const projectTurn = (project: string) => `project ${project}`

export const settingsOf = (text: string | undefined): ProjectSettings =>
  storedSettings<ProjectSettings>(text, { retention_days: true })

export async function readProjectSettings(db: Reader, project: string): Promise<ProjectSettings> {
  const row = await db.get<{ settings: string }>(
    sql`SELECT settings FROM projects WHERE project_id = ${project}`,
  )
  return settingsOf(row?.settings)
}

/** Answers all settings of the project, which need not hold anything yet. */
export const changeProjectSettings: Command<
  { project_id: string; change: Change<ProjectSettings> },
  ProjectSettings
> = async (tx, { project_id, change }) => {
  await tx.turn(projectTurn(project_id))
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
