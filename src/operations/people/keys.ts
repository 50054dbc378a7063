import { byCaller, type Caller, requireRight } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { hashKey, newKey } from '../../domain/keys.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import { formatTime, formatTimeOrNull, now, parseTime } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { type ApiKey, hasUser, listKeys, ownerOfKey, userNamed } from '../../storage/users/users.ts'
import type { ConfiguredPeople } from '../parts.ts'
import type { KeyBody, RotateBody } from './contract.ts'
import { requireAdminOf, requireAdminOfEntities, requireKeyWithin } from './grants.ts'

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
  const keys = stored.map(({ id, created_at, revoked_at, last_used_at, settings }) => ({
    id,
    name: settings.name ?? null,
    record: settings.record ?? ('on' as const),
    scopes: settings.scopes ?? null,
    created_at: formatTime(created_at),
    expires_at: formatTimeOrNull(settings.expires_at ?? null),
    last_used_at: formatTimeOrNull(last_used_at),
    revoked_at: formatTimeOrNull(revoked_at),
  }))
  return { user, is_configured, keys }
}

export async function createKey(
  db: Database,
  configured: ConfiguredPeople,
  caller: Caller,
  { user: owner, name, record, scopes, expires_at }: KeyBody,
) {
  const user = ownerFor(caller, owner)
  // A stored user of the same name may exist, with other access.
  if (isConfigured(configured, user)) throw refuse('user_configured', { name: user })
  if (user !== caller.name) await requireAccessOf(db, caller, user)
  const limits = { ...(scopes !== undefined && { scopes }), ...expiryOf(caller, expires_at) }
  requireKeyWithin(caller, limits)
  await requireRoom(db, user)
  const key = newKey()
  const id = newId()
  const settings = { ...(name !== undefined && { name }), ...(record !== undefined && { record }), ...limits }
  const by = byCaller(caller)
  if (await db.write('addKey', { id, hash: hashKey(key), user, settings, now: now(), by })) return { id, key }
  throw refuse('user_not_found', { field: 'user', name: user })
}

async function requireRoom(db: Database, user: string): Promise<void> {
  const isLive = ({ revoked_at, settings: { expires_at = Number.POSITIVE_INFINITY } }: ApiKey) =>
    revoked_at === null && expires_at > now()
  if ((await listKeys(db, user)).filter(isLive).length >= maxKeys)
    throw refuse('too_many_keys', { name: user, limit: maxKeys })
}

/** The key that makes another one lends it its own expiry, unless an earlier one is given. */
function expiryOf(caller: Caller, text: string | undefined): { expires_at?: number } {
  const expires_at = text === undefined ? caller.key?.expires_at : parseTime(text)
  if (expires_at === undefined) return {}
  if (expires_at > now()) return { expires_at }
  const accepted = 'a time in the future'
  throw wrong('expires_at', text ?? '', accepted)
}

const secondMicros = 1_000_000

/** A new key with the settings of the old one; both work until the old one expires. */
export async function rotateKey(
  db: Database,
  configured: ConfiguredPeople,
  caller: Caller,
  id: string,
  { overlap_seconds = 86_400, expires_at }: RotateBody,
) {
  const owner = await ownerOfKey(db, id)
  if (owner === undefined || !isOwnerOf(configured, caller, owner)) throw refuse('key_not_found', { id })
  if (owner !== caller.name) await requireAccessOf(db, caller, owner)
  const old = (await listKeys(db, owner)).find((key) => key.id === id)
  const limits = expires_at === undefined ? {} : expiryOf(caller, expires_at)
  requireKeyWithin(caller, { ...old?.settings, ...limits })
  await requireRoom(db, owner)
  const key = newKey()
  const next = { id: newId(), hash: hashKey(key), ...limits }
  const until = now() + overlap_seconds * secondMicros
  if (await db.write('rotateKey', { id, next, until, now: now(), by: byCaller(caller) }))
    return { id: next.id, key }
  throw refuse('key_not_found', { id })
}

const isOwnerOf = (configured: ConfiguredPeople, caller: Caller, owner: string): boolean =>
  caller.role === 'admin' || (owner === caller.name && !isConfigured(configured, owner))

/** Nobody gets a key to more than they may use themselves. */
async function requireAccessOf(db: Database, caller: Caller, user: string): Promise<void> {
  const found = await userNamed(db, user)
  if (found?.grants === undefined) requireAdminOfEntities(caller, found?.entities ?? [], 'user')
  else requireAdminOf(caller, found.grants, 'user')
}

/** The key of another user is reported as not found. */
export async function revokeKey(db: Database, configured: ConfiguredPeople, caller: Caller, id: string) {
  const owner = await ownerOfKey(db, id)
  const isAllowed = owner !== undefined && isOwnerOf(configured, caller, owner)
  if (isAllowed && (await db.write('revokeKey', { id, now: now(), by: byCaller(caller) }))) return {}
  throw refuse('key_not_found', { id })
}
