import { askJson } from './ask.ts'

export interface ProjectRow {
  project: string
  is_being_deleted: boolean
}

export interface Projects {
  projects: ProjectRow[]
  /** Present where there are more. */
  next: string | null
}

/** Those that the signed-in user reaches, by their names. */
export const readProjects = (signal: AbortSignal): Promise<Projects> =>
  askJson('/projects?limit=1000', { signal })
