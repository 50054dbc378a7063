import type { UserSettings } from '../../domain/user-settings.ts'
import { type Change, changed, storedSettings } from '../settings.ts'
import { sql } from '../sql/sql.ts'
import type { Command, Reader } from '../transaction.ts'

export type SettingsChange = Change<UserSettings>

export const settingsOf = (text: string): UserSettings =>
  storedSettings<UserSettings>(text, {
    requests_per_minute: true,
    tokens_per_minute: true,
    requests_at_once: true,
    default_project: true,
    models: true,
    disabled: true,
  })

export async function readUserSettings(db: Reader, name: string): Promise<UserSettings | undefined> {
  const row = await db.get<{ settings: string }>(
    sql`SELECT settings FROM user_settings WHERE user_name = ${name}`,
  )
  return row && settingsOf(row.settings)
}

interface UserChange {
  name: string
  change: SettingsChange
  /** The user is one of HEDDLE_USERS, which the record does not contain. */
  isConfigured: boolean
  now: number
}

/** Returns all settings of the user; undefined if there is no such user. */
export const changeUserSettings: Command<UserChange, UserSettings | undefined> = async (tx, update) => {
  const { name, change, isConfigured, now } = update
  await tx.lock(`settings of ${name}`)
  if (!isConfigured && !(await tx.get(sql`SELECT name FROM users WHERE name = ${name}`))) return undefined
  const row = await tx.get<{ settings: string }>(
    sql`SELECT settings FROM user_settings WHERE user_name = ${name}`,
  )
  const settings = changed(row?.settings, change)
  await tx.run(
    sql`INSERT INTO user_settings (user_name, settings, changed_at) VALUES (${name}, ${settings}, ${now})
        ON CONFLICT (user_name) DO UPDATE SET settings = excluded.settings, changed_at = excluded.changed_at`,
  )
  return settingsOf(settings)
}
