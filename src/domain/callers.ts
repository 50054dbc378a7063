import { refuse } from './refusals.ts'
import type { KeySettings, UserSettings } from './user-settings.ts'

/** Who sent a request. */
export interface Caller {
  name: string
  role: 'member' | 'admin'
  /** `*` is all of them. */
  entities: ReadonlySet<string>
  /** Absent where nothing was set. */
  settings?: UserSettings
  /** What was set for the key of this request. */
  key?: KeySettings
}

/** Whom the audit log names. */
export const byCaller = ({ name }: Caller) => ({ via: 'http' as const, name })

/** Nothing is looked up, so the refusal is the same whether the project exists or not. */
export function requireAccess(caller: Caller, project: string, field = 'project_id'): void {
  if (!hasAccess(caller, project)) throw refuse('entity_forbidden', { field, given: JSON.stringify(project) })
}

export function hasAccess(caller: Caller, project: string): boolean {
  return caller.entities.has('*') || caller.entities.has(entityOf(project))
}

/** Nobody gives others the use of what is out of its own reach. */
export function requireEntities(caller: Caller, entities: Iterable<string>, field: string): void {
  if (caller.entities.has('*')) return
  for (const entity of entities) {
    if (!caller.entities.has(entity))
      throw refuse('entity_forbidden', { field, given: JSON.stringify(entity) })
  }
}

function entityOf(project: string): string {
  return project.slice(0, project.indexOf('/'))
}
