import { refuse } from './refusals.ts'
import type { KeySettings, UserSettings } from './user-settings.ts'

/** The user that sent a request. */
export interface Caller {
  name: string
  role: 'member' | 'admin'
  /** `*` means all entities. */
  entities: ReadonlySet<string>
  /** Absent if nothing was set. */
  settings?: UserSettings
  /** Settings of the key that this request was sent with. */
  key?: KeySettings
  /** Absent for a key of HEDDLE_USERS. */
  keyId?: string
}

/** The caller as the audit log names it. */
export const byCaller = ({ name }: Caller) => ({ via: 'http' as const, name })

/** Nothing is looked up, so the refusal is the same whether or not the project exists. */
export function requireAccess(caller: Caller, project: string, field = 'project_id'): void {
  if (!hasAccess(caller, project)) throw refuse('entity_forbidden', { field, given: JSON.stringify(project) })
}

export function hasAccess(caller: Pick<Caller, 'entities'>, project: string): boolean {
  return caller.entities.has('*') || caller.entities.has(entityOf(project))
}

/** Callers cannot give others access that they do not have themselves. */
export function requireEntities(caller: Caller, entities: Iterable<string>, field: string): void {
  if (caller.entities.has('*')) return
  for (const entity of entities) {
    if (!caller.entities.has(entity))
      throw refuse('entity_forbidden', { field, given: JSON.stringify(entity) })
  }
}

export function entityOf(project: string): string {
  return project.slice(0, project.indexOf('/'))
}
