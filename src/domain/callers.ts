import { refuse } from './refusals.ts'
import {
  covers,
  type Grant,
  grantsOf,
  highestOf,
  mayWith,
  type Right,
  type Role,
  rights,
  rightsOfServer,
  type Scope,
  type ServerRole,
} from './roles.ts'
import type { KeySettings, UserSettings } from './user-settings.ts'

/** The user that sent a request. */
export interface Caller {
  name: string
  /** `admin` may operate the server. */
  role: ServerRole
  /** `*` means all entities. */
  entities: ReadonlySet<string>
  /** What the user may do where; without them, its role in all of its entities. */
  grants?: readonly Grant[]
  /** What the route of this request does. Without a route: `write`. */
  right?: Right
  /** Absent if nothing was set. */
  settings?: UserSettings
  /** Settings of the key that this request was sent with. */
  key?: (KeySettings & { id?: string }) | undefined
}

type Access = Pick<Caller, 'role' | 'entities' | 'grants' | 'right'>

/** The caller as the audit log names it. */
export const byCaller = ({ name }: Caller) => ({ via: 'http' as const, name })

/** Every check of a project comes here. Nothing is looked up, so the refusal is the same whether or not it exists. */
export function requireAccess(
  caller: Caller,
  project: string,
  field = 'project_id',
  right = rightOf(caller),
): void {
  const held = rolesIn(caller, project)
  if (mayWith(held, right)) return
  const highest = highestOf(held)
  if (highest === undefined) throw refuse('entity_forbidden', { field, received: project })
  const operation = `${right} in ${project}`
  throw refuse('role_forbidden', { role: rights[right][0], operation, received: highest })
}

export function hasAccess(caller: Access, project: string, right = rightOf(caller)): boolean {
  return mayWith(rolesIn(caller, project), right)
}

/** Where the caller may do what the route does: entities, projects, or `*` for all. */
export const scopesOf = (caller: Access): string[] =>
  grantsOf(caller).flatMap(({ scope, role }) => (mayWith([role], rightOf(caller)) ? [scope] : []))

const rightOf = ({ right }: Access): Right => right ?? 'write'

const rolesIn = (caller: Access, project: string): Role[] =>
  grantsOf(caller).flatMap(({ scope, role }) => (covers(scope, project) ? [role] : []))

/** Checks what the route of a request does, before anything of its body is read. */
export function requireRight(caller: Caller, right: Right): void {
  requireScope(caller, right)
  if (hasRight(caller, right)) return
  const highest = rightsOfServer.includes(right)
    ? caller.role
    : highestOf(grantsOf(caller).map(({ role }) => role))
  const [role] = rights[right]
  throw refuse('role_forbidden', { operation: right, role, received: highest ?? 'none' })
}

/** Whether the user has the right somewhere. */
function hasRight(caller: Caller, right: Right): boolean {
  if (right === 'own' || right === 'keys') return true
  if (right === 'operate') return caller.role === 'admin'
  // The role of a user with a limited key may be less than its grants.
  if (right === 'scrape') return caller.role === 'admin' || rolesIn(caller, '*').includes('admin')
  return grantsOf(caller).some(({ role }) => mayWith([role], right))
}

export function requireScope(caller: Pick<Caller, 'key'>, right: Right): void {
  if (hasScope(caller, right)) return
  throw refuse('scope_forbidden', { scope: right, scopes: caller.key?.scopes?.join(', ') ?? '' })
}

/** Whether the key of the request may be used for this. */
export const hasScope = ({ key }: Pick<Caller, 'key'>, right: Right): boolean =>
  key?.scopes === undefined || allows(key.scopes, right)

/** What the caller may do somewhere with this key. */
export const operationsOf = (caller: Caller): Right[] =>
  allRights.filter((right) => hasScope(caller, right) && hasRight(caller, right))

/** What the caller may do where; what is for the whole server is no part of it. */
export const operationsByGrant = (caller: Caller): (Grant & { operations: Right[] })[] =>
  grantsOf(caller).map(({ scope, role }) => ({
    scope,
    role,
    operations: rightsInProjects.filter((right) => mayWith([role], right) && hasScope(caller, right)),
  }))

const allRights = Object.keys(rights) as Right[]
const rightsInProjects = allRights.filter((right) => !['own', 'keys', ...rightsOfServer].includes(right))

/** Whether a key with these scopes may do this. */
const allows = (scopes: readonly Scope[], right: Right): boolean =>
  right === 'own' ||
  scopes.some((scope) => scope === right || (implied[right] as readonly Scope[] | undefined)?.includes(scope))

const implied: { [Of in Right]?: readonly Scope[] } = {
  read_queues: ['read', 'review'],
  write_calls: ['write'],
  scrape: ['operate'],
}

export function entityOf(project: string): string {
  return project.slice(0, project.indexOf('/'))
}
