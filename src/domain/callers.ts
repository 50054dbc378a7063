import { refuse } from './refusals.ts'

export interface Caller {
  name: string
  role: 'member' | 'admin'
  /** `*` is all of them. */
  entities: ReadonlySet<string>
}

/**
 * The caller's grant reaches the project. Nothing is looked up, so the answer is the same whether the project exists or not.
 */
export function reach(caller: Caller, project: string, field = 'project_id'): void {
  if (!reaches(caller, project)) throw refuse('entity_forbidden', { field, given: JSON.stringify(project) })
}

export function reaches(caller: Caller, project: string): boolean {
  return caller.entities.has('*') || caller.entities.has(entityOf(project))
}

export function entityOf(project: string): string {
  return project.slice(0, project.indexOf('/'))
}
