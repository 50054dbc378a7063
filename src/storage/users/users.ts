import type { KeySettings, UserSettings } from '../../domain/user-settings.ts'
import { stopMonitorsOf } from '../monitors/monitors.ts'
import { type Change, changed, storedSettings } from '../settings.ts'
import { rawSql, sql } from '../sql/sql.ts'
import type { Command, Reader } from '../transaction.ts'
import { settingsOf } from './settings.ts'

export type Role = 'member' | 'admin'

export interface User {
  name: string
  role: Role
  entities: string[]
  created_at: number
  /** Absent if nothing was set. */
  settings?: UserSettings
}

interface ApiKey {
  id: string
  user_name: string
  created_at: number
  revoked_at: number | null
  settings: KeySettings
}

interface UserRow extends Omit<User, 'entities' | 'settings'> {
  entities: string
  settings: string | null
}

/** A subquery and not a join, for the reason given at `userOfKey`. */
const columns = rawSql(
  'name, role, entities, created_at, (SELECT settings FROM user_settings WHERE user_name = name) AS settings',
)

const keySettingsOf = (text: string | null): KeySettings =>
  storedSettings<KeySettings>(text, { record: true, name: true })

const userOf = ({ settings, ...row }: UserRow): User => ({
  ...row,
  entities: JSON.parse(row.entities) as string[],
  ...(settings !== null && { settings: settingsOf(settings) }),
})

/**
 * The user whose unrevoked key has this hash. Two statements and not a join: this runs for each request, and SQLite
 * would plan the join anew every time, which takes ten times as long as both statements.
 */
export async function userOfKey(
  db: Reader,
  hash: string,
): Promise<(User & { key: KeySettings; keyId: string }) | undefined> {
  const key = await db.get<{ id: string; user_name: string; settings: string | null }>(
    sql`SELECT id, user_name, settings FROM api_keys WHERE hash = ${hash} AND revoked_at IS NULL`,
  )
  if (key === undefined) return undefined
  const row = await db.get<UserRow>(sql`SELECT ${columns} FROM users WHERE name = ${key.user_name}`)
  return row && { ...userOf(row), key: keySettingsOf(key.settings), keyId: key.id }
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
    sql`SELECT id, user_name, created_at, revoked_at, settings FROM api_keys WHERE user_name = ${user} ORDER BY created_at, id`,
  )
  return rows.map((row) => ({ ...row, settings: keySettingsOf(row.settings) }))
}

export async function ownerOfKey(db: Reader, id: string): Promise<string | undefined> {
  return (await db.get<{ user_name: string }>(sql`SELECT user_name FROM api_keys WHERE id = ${id}`))
    ?.user_name
}

interface NewKey {
  id: string
  hash: string
  settings?: KeySettings
}

/** Stores the user and its first key together. False if the name is taken. */
export const addUser: Command<{ user: User; key: NewKey }, boolean> = async (tx, { user, key }) => {
  const added = await tx.run(
    sql`INSERT INTO users (name, role, entities, created_at)
        VALUES (${user.name}, ${user.role}, ${JSON.stringify(user.entities)}, ${user.created_at}) ON CONFLICT (name) DO NOTHING`,
  )
  return added === 1 && addKey(tx, { ...key, user: user.name, now: user.created_at })
}

/** Adds the first user of a record that has none. If two processes start together, only one adds it. */
export const addFirstUser: typeof addUser = async (tx, first) => {
  await tx.lock('first user')
  if (await tx.get(sql`SELECT name FROM users LIMIT 1`)) return false
  return addUser(tx, first)
}

interface RemovedUser {
  name: string
  now: number
  /** A user of this name is also in HEDDLE_USERS, and stays. */
  isConfigured: boolean
}

/** Also removes its keys and settings, expires its answers, and stops its monitors. False if there is no such user. */
export const removeUser: Command<RemovedUser, boolean> = async (tx, { name, now, isConfigured }) => {
  if ((await tx.run(sql`DELETE FROM users WHERE name = ${name}`)) === 0) return false
  await tx.run(sql`DELETE FROM user_settings WHERE user_name = ${name}`)
  await tx.run(sql`UPDATE responses SET expire_at = 0 WHERE user_name = ${name}`)
  if (!isConfigured) await stopMonitorsOf(tx, { user: name, now })
  return true
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
