import { byCaller, type Caller, requireEntities, requireRight } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { hashKey, newKey } from '../../domain/keys.ts'
import { refuse } from '../../domain/refusals.ts'
import { formatTime, formatTimeOrNull, now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { hasUser, listKeys, listUsers, ownerOfKey } from '../../storage/users/users.ts'
import type { ConfiguredPeople } from '../parts.ts'
import type { KeyBody } from './contract.ts'

/** More than a user needs at once. Revoked keys do not count. */
const maxKeys = 100

/** Whose keys a request is about: the caller's own, or for an admin any user's. */
function ownerFor(caller: Caller, user: string | undefined): string {
  if (user === undefined || user === caller.name) return caller.name
  requireRight(caller, 'operate')
  return user
}

const isConfigured = (configured: ConfiguredPeople, name: string) =>
  configured.some((person) => person.name === name)

export async function readKeys(db: Database, configured: ConfiguredPeople, caller: Caller, owner?: string) {
  const user = ownerFor(caller, owner)
  const is_configured = isConfigured(configured, user)
  if (!is_configured && !(await hasUser(db, user)))
    throw refuse('user_not_found', { field: 'user', name: user })
  const stored = is_configured && caller.role !== 'admin' ? [] : await listKeys(db, user)
  const keys = stored.map(({ id, created_at, revoked_at, settings }) => ({
    id,
    name: settings.name ?? null,
    record: settings.record ?? ('on' as const),
    created_at: formatTime(created_at),
    revoked_at: formatTimeOrNull(revoked_at),
  }))
  return { user, is_configured, keys }
}

export async function createKey(
  db: Database,
  configured: ConfiguredPeople,
  caller: Caller,
  { user: owner, name, record }: KeyBody,
) {
  const user = ownerFor(caller, owner)
  // A stored user of the same name may exist, with other access.
  if (isConfigured(configured, user)) throw refuse('user_configured', { name: user })
  if (user !== caller.name) {
    const entities = (await listUsers(db)).find((stored) => stored.name === user)?.entities
    requireEntities(caller, entities ?? [], 'user')
  }
  const live = (await listKeys(db, user)).filter(({ revoked_at }) => revoked_at === null)
  if (live.length >= maxKeys) throw refuse('too_many_keys', { name: user, limit: maxKeys })
  const key = newKey()
  const id = newId()
  const settings = { ...(name !== undefined && { name }), ...(record !== undefined && { record }) }
  const by = byCaller(caller)
  if (await db.write('addKey', { id, hash: hashKey(key), user, settings, now: now(), by })) return { id, key }
  throw refuse('user_not_found', { field: 'user', name: user })
}

/** The key of another user is reported as not found. */
export async function revokeKey(db: Database, configured: ConfiguredPeople, caller: Caller, id: string) {
  const owner = await ownerOfKey(db, id)
  const isHis =
    owner !== undefined &&
    (caller.role === 'admin' || (owner === caller.name && !isConfigured(configured, owner)))
  if (isHis && (await db.write('revokeKey', { id, now: now(), by: byCaller(caller) }))) return {}
  throw refuse('key_not_found', { id })
}
