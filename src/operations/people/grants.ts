import {
  byCaller,
  type Caller,
  hasAccess,
  hasScope,
  requireAccess,
  requireRight,
  requireScope,
} from '../../domain/callers.ts'
import { refuse } from '../../domain/refusals.ts'
import { type Grant, grantsOf, rightsOf } from '../../domain/roles.ts'
import type { Database } from '../../storage/database.ts'
import { userNamed } from '../../storage/users/users.ts'
import type { ConfiguredPeople } from '../parts.ts'

/** Nobody gives roles where they are no admin, so nobody raises themselves. */
export function requireAdminOf(caller: Caller, grants: readonly Grant[], field: string): void {
  for (const [index, { scope }] of grants.entries())
    requireAccess(caller, scope, `${field}.${index}.scope`, 'administer')
}

/** Whoever gets an entity as a whole becomes an editor of it, or an admin. */
export function requireAdminOfEntities(caller: Caller, entities: Iterable<string>, field: string): void {
  for (const entity of entities) requireAccess(caller, entity, field, 'administer')
}

/** A key gives only what it may be used for itself. */
export function requireWithinScopes(caller: Caller, grants: readonly Grant[]): void {
  for (const right of new Set(grants.flatMap(rightsOf))) requireScope(caller, right)
}

export function requireGrantable(caller: Caller, grants: readonly Grant[], field: string): void {
  requireAdminOf(caller, grants, field)
  requireWithinScopes(caller, grants)
}

/** Whether somebody else remains who may operate the server, whatever the record says. */
export const hasConfiguredAdmin = (configured: ConfiguredPeople): boolean =>
  configured.some(({ entities }) => entities.includes('*'))

/** Replaces the grants of a user where the caller is an admin; those elsewhere stay as they are. */
export async function changeGrants(
  db: Database,
  configured: ConfiguredPeople,
  caller: Caller,
  name: string,
  grants: readonly Grant[],
): Promise<{ name: string; grants: readonly Grant[] }> {
  requireGrantable(caller, grants, 'grants')
  if (grants.length > 0) requireNoLonger(caller)
  if (name === caller.name) throw refuse('own_user_stays', { name })
  if (configured.some((person) => person.name === name)) throw refuse('user_configured', { name })
  const user = await userNamed(db, name)
  if (user === undefined) throw refuse('user_not_found', { field: 'name', name })
  // Who operates the server is not for the admins of one entity to say.
  if (user.role === 'admin') requireRight(caller, 'operate')
  const before = grantsOf(user)
  const elsewhere = before.filter(({ scope }) => !hasAccess(caller, scope, 'administer'))
  const changed = await db.write('setGrants', {
    name,
    grants: [...elsewhere, ...grants],
    expected: before,
    roleStays: true,
    lastAdminStays: !hasConfiguredAdmin(configured),
    by: byCaller(caller),
  })
  switch (changed.result) {
    case 'set':
      return { name, grants }
    case 'unknown':
      throw refuse('user_not_found', { field: 'name', name })
    case 'last admin':
      throw refuse('last_admin', { name })
    case 'changed':
      // Somebody else changed them meanwhile; each try that fails is one that succeeded elsewhere.
      return changeGrants(db, configured, caller, name, grants)
  }
}

/** A key makes and renews only keys that may do no more, and no longer, than itself. */
export function requireKeyWithin(
  caller: Caller,
  { scopes, expires_at }: Pick<NonNullable<Caller['key']>, 'scopes' | 'expires_at'>,
): void {
  const own = caller.key ?? {}
  if (own.scopes !== undefined) {
    const wider = scopes === undefined ? 'all' : scopes.find((scope) => !hasScope(caller, scope))
    if (wider !== undefined) throw refuse('scope_forbidden', { scope: wider, scopes: own.scopes.join(', ') })
  }
  requireNoLonger(caller, expires_at)
}

/** Users and their grants have no expiry, so a key with one gives none, and invites nobody. */
export function requireNoLonger({ key }: Caller, expires_at = Number.POSITIVE_INFINITY): void {
  if (key?.expires_at !== undefined && expires_at > key.expires_at) throw refuse('key_outlives', {})
}
