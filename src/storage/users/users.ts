import type { Caller } from '../../domain/callers.ts'
import { type Grant, grantsOf, type ServerRole, summaryOf } from '../../domain/roles.ts'
import type { KeySettings, UserSettings } from '../../domain/user-settings.ts'
import { type Change, changed, storedSettings } from '../settings.ts'
import { rawSql, sql } from '../sql/sql.ts'
import type { Command, Reader, Transaction } from '../transaction.ts'
import { settingsOf } from './settings.ts'

export interface User {
  name: string
  role: ServerRole
  entities: string[]
  /** Absent for users that have a role and entities only. */
  grants?: Grant[]
  created_at: number
  /** Absent if nothing was set. */
  settings?: UserSettings
}

export interface ApiKey {
  id: string
  user_name: string
  created_at: number
  revoked_at: number | null
  /** To the minute; null if never. */
  last_used_at: number | null
  settings: KeySettings
}

interface UserRow extends Omit<User, 'entities' | 'grants' | 'settings'> {
  entities: string
  grants: string | null
  settings: string | null
}

/** A subquery and not a join, for the reason given at `userOfKey`. */
const columns = rawSql(
  'name, role, entities, grants, created_at, (SELECT settings FROM user_settings WHERE user_name = name) AS settings',
)

const keySettingsOf = (text: string | null): KeySettings =>
  storedSettings<KeySettings>(text, { record: true, name: true, scopes: true, expires_at: true })

const userOf = ({ settings, grants, ...row }: UserRow): User => ({
  ...row,
  entities: JSON.parse(row.entities) as string[],
  ...(grants !== null && { grants: JSON.parse(grants) as Grant[] }),
  ...(settings !== null && { settings: settingsOf(settings) }),
})

/**
 * The user whose key, neither revoked nor expired, has this hash. Two statements and not a join: this runs for each
 * request, and SQLite would plan the join anew every time, which takes ten times as long as both statements.
 */
export async function userOfKey(
  db: Reader,
  hash: string,
  now: number,
): Promise<(User & { key: KeySettings & { id: string } }) | undefined> {
  const key = await db.get<{ id: string; user_name: string; settings: string | null }>(
    sql`SELECT id, user_name, settings FROM api_keys WHERE hash = ${hash} AND revoked_at IS NULL`,
  )
  if (key === undefined) return undefined
  const settings = keySettingsOf(key.settings)
  if (settings.expires_at !== undefined && settings.expires_at <= now) return undefined
  const row = await db.get<UserRow>(sql`SELECT ${columns} FROM users WHERE name = ${key.user_name}`)
  return row && { ...userOf(row), key: { ...settings, id: key.id } }
}

/** A key that may not operate the server leaves its user's other rights as they are. */
export function callerOf({ created_at: _, ...user }: User & { key?: Caller['key'] }): Caller {
  const caller = { ...user, entities: new Set(user.entities) }
  const { scopes } = user.key ?? {}
  if (scopes === undefined || scopes.includes('operate')) return caller
  return { ...caller, grants: grantsOf(user), role: 'member' }
}

export async function listUsers(db: Reader): Promise<User[]> {
  return (await db.all<UserRow>(sql`SELECT ${columns} FROM users ORDER BY name`)).map(userOf)
}

export async function userNamed(db: Reader, name: string): Promise<User | undefined> {
  const row = await db.get<UserRow>(sql`SELECT ${columns} FROM users WHERE name = ${name}`)
  return row && userOf(row)
}

export async function hasUser(db: Reader, name: string): Promise<boolean> {
  return (await db.get(sql`SELECT name FROM users WHERE name = ${name}`)) !== undefined
}

export async function listKeys(db: Reader, user: string): Promise<ApiKey[]> {
  const rows = await db.all<Omit<ApiKey, 'settings'> & { settings: string | null }>(
    sql`SELECT id, user_name, created_at, revoked_at, last_used_at, settings FROM api_keys WHERE user_name = ${user} ORDER BY created_at, id`,
  )
  return rows.map((row) => ({ ...row, settings: keySettingsOf(row.settings) }))
}

export async function ownerOfKey(db: Reader, id: string): Promise<string | undefined> {
  return (await db.get<{ user_name: string }>(sql`SELECT user_name FROM api_keys WHERE id = ${id}`))
    ?.user_name
}

/** Replaces what the user may do where. */
export const setGrants: Command<GrantsChange, GrantsResult> = async (tx, change) => {
  const { name, grants, expected, roleStays = false, lastAdminStays } = change
  await tx.lock('admins')
  const user = await userNamed(tx, name)
  if (user === undefined) return { result: 'unknown' }
  const before = grantsOf(user)
  if (expected !== undefined && JSON.stringify(expected) !== JSON.stringify(before))
    return { result: 'changed' }
  const summary = summaryOf(grants)
  const isUnsaid = user.role === 'admin' && summaryOf(before).role !== 'admin'
  const { role, entities } = roleStays && isUnsaid ? { ...summary, role: user.role } : summary
  if (lastAdminStays && role !== 'admin' && (await isLastAdmin(tx, user))) return { result: 'last admin' }
  await tx.run(
    sql`UPDATE users SET role = ${role}, entities = ${JSON.stringify(entities)}, grants = ${JSON.stringify(grants)}
        WHERE name = ${name}`,
  )
  return { result: 'set', before }
}

interface GrantsChange {
  name: string
  grants: readonly Grant[]
  /** Changes nothing if the user has others by now. */
  expected?: readonly Grant[]
  /** An admin from before there were grants, which do not say so, remains one. */
  roleStays?: boolean
  /** Refused if nobody else in the record may operate the server. */
  lastAdminStays: boolean
}

type GrantsResult =
  | { result: 'unknown' | 'changed' | 'last admin' }
  | { result: 'set'; before: readonly Grant[] }

export async function isLastAdmin(tx: Transaction, { name, role }: User): Promise<boolean> {
  if (role !== 'admin') return false
  return (
    (await tx.get(sql`SELECT name FROM users WHERE role = 'admin' AND name <> ${name} LIMIT 1`)) === undefined
  )
}

interface NewKey {
  id: string
  hash: string
  settings?: KeySettings
}

/** False if the name is taken. */
export const insertUser: Command<User, boolean> = async (tx, user) =>
  (await tx.run(
    sql`INSERT INTO users (name, role, entities, grants, created_at)
        VALUES (${user.name}, ${user.role}, ${JSON.stringify(user.entities)}, ${user.grants ? JSON.stringify(user.grants) : null}, ${user.created_at}) ON CONFLICT (name) DO NOTHING`,
  )) === 1

/** Stores the user and its first key together. False if the name is taken. */
export const addUser: Command<{ user: User; key: NewKey }, boolean> = async (tx, { user, key }) =>
  (await insertUser(tx, user)) && addKey(tx, { ...key, user: user.name, now: user.created_at })

/** Adds the first user of a record that has none. If two processes start together, only one adds it. */
export const addFirstUser: typeof addUser = async (tx, first) => {
  await tx.lock('first user')
  if (await tx.get(sql`SELECT name FROM users LIMIT 1`)) return false
  return addUser(tx, first)
}

/** False if there is no such user. */
export const addKey: Command<NewKey & { user: string; now: number }, boolean> = async (tx, key) =>
  (await tx.run(
    sql`INSERT INTO api_keys (id, user_name, hash, created_at, settings)
        SELECT ${key.id}, name, ${key.hash}, ${key.now}, ${JSON.stringify(key.settings ?? {})} FROM users WHERE name = ${key.user}`,
  )) === 1

/** Returns all settings of the key; undefined if there is no such key, or if it was revoked. */
export const changeKeySettings: Command<
  { id: string; change: Change<KeySettings> },
  KeySettings | undefined
> = async (tx, { id, change }) => {
  await tx.lock(`settings of key ${id}`)
  const row = await tx.get<{ settings: string | null }>(
    sql`SELECT settings FROM api_keys WHERE id = ${id} AND revoked_at IS NULL`,
  )
  if (row === undefined) return undefined
  const settings = changed(row.settings, change)
  await tx.run(sql`UPDATE api_keys SET settings = ${settings} WHERE id = ${id}`)
  return keySettingsOf(settings)
}

/** False if there is no such key, or if it is already revoked. */
export const revokeKey: Command<{ id: string; now: number }, boolean> = async (tx, { id, now }) =>
  (await tx.run(sql`UPDATE api_keys SET revoked_at = ${now} WHERE id = ${id} AND revoked_at IS NULL`)) === 1

interface Rotation {
  id: string
  next: { id: string; hash: string; expires_at?: number }
  /** Until when the old key also works. */
  until: number
  now: number
}

/** Adds a key with the settings of another, which then expires. False if that one does not work any more. */
export const rotateKey: Command<Rotation, boolean> = async (tx, { id, next, until, now }) => {
  await tx.lock(`settings of key ${id}`)
  const row = await tx.get<{ user_name: string; settings: string | null }>(
    sql`SELECT user_name, settings FROM api_keys WHERE id = ${id} AND revoked_at IS NULL`,
  )
  const settings = keySettingsOf(row?.settings ?? null)
  const { expires_at: end = Number.MAX_SAFE_INTEGER } = settings
  if (row === undefined || end <= now) return false
  const ends = changed<KeySettings>(row.settings, { expires_at: Math.min(end, until) })
  await tx.run(sql`UPDATE api_keys SET settings = ${ends} WHERE id = ${id}`)
  const { expires_at = settings.expires_at, ...key } = next
  const own = { ...settings, ...(expires_at !== undefined && { expires_at }) }
  return addKey(tx, { ...key, user: row.user_name, settings: own, now })
}

/** At most once a minute, by all servers together. */
export const noteKeyUse: Command<readonly { id: string; at: number }[], void> = async (tx, uses) => {
  for (const { id, at } of uses) {
    await tx.run(
      sql`UPDATE api_keys SET last_used_at = ${at}
          WHERE id = ${id} AND (last_used_at IS NULL OR last_used_at <= ${at - minuteMicros})`,
    )
  }
}

export const minuteMicros = 60_000_000
