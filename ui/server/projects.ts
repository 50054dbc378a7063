import { askJson } from './ask.ts'

export interface ProjectRow {
  project_id: string
  calls?: number
  last_call_at?: string | null
}

/** Those that the signed-in user reaches. */
export async function readProjects(signal: AbortSignal): Promise<ProjectRow[]> {
  return (await askJson<{ projects: ProjectRow[] }>('/projects', { signal })).projects
}
