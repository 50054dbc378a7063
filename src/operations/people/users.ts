import { byCaller, type Caller } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { hashKey, newKey } from '../../domain/keys.ts'
import { refuse } from '../../domain/refusals.ts'
import { grantsOf, summaryOf } from '../../domain/roles.ts'
import { formatTime, now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { readUserSettings } from '../../storage/users/settings.ts'
import { listUsers, type User } from '../../storage/users/users.ts'
import type { ConfiguredPeople } from '../parts.ts'
import type { SettingsBody, UserBody } from './contract.ts'
import {
  hasConfiguredAdmin,
  requireAdminOfEntities,
  requireGrantable,
  requireNoLonger,
  requireWithinScopes,
} from './grants.ts'

const userShown = ({ created_at, settings = {}, ...user }: User) => ({
  ...user,
  grants: [...grantsOf(user)],
  created_at: formatTime(created_at),
  is_configured: false,
  settings,
})

export async function readUsers(db: Database, configured: ConfiguredPeople) {
  const set = await Promise.all(
    configured.map(async ({ name, entities }) => {
      const access = { role: entities.includes('*') ? ('admin' as const) : ('member' as const), entities }
      return {
        name,
        ...access,
        grants: [...grantsOf(access)],
        created_at: null,
        is_configured: true,
        settings: (await readUserSettings(db, name)) ?? {},
      }
    }),
  )
  // If a configured and a stored user have the same name, the keys of both work. The stored one can be removed here, so
  // it is listed as well.
  const stored = (await listUsers(db)).map(userShown)
  const users = [...set, ...stored].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  return { users }
}

export async function createUser(
  db: Database,
  configured: ConfiguredPeople,
  caller: Caller,
  { name, ...asked }: UserBody,
) {
  const access = accessOf(caller, asked)
  requireNoLonger(caller)
  if (configured.some((person) => person.name === name)) throw refuse('user_exists', { name })
  const key = newKey()
  const id = newId()
  const created_at = now()
  const user = { name, ...access, created_at }
  const by = byCaller(caller)
  const added = await db.write('addUser', { user: { ...user }, key: { id, hash: hashKey(key) }, by })
  if (!added) throw refuse('user_exists', { name })
  return { user: userShown(user), key: { id, key } }
}

/** Role and entities, grants, or all of them together. Callers give only what they have themselves. */
function accessOf(caller: Caller, { role = 'member', entities, grants }: Omit<UserBody, 'name'>) {
  requireAdminOfEntities(caller, entities ?? [], 'entities')
  requireGrantable(caller, grants ?? [], 'grants')
  const access = { role, entities: [...new Set(entities)] }
  // That the key may operate the server, as an admin may, is checked for the route.
  requireWithinScopes(caller, grantsOf(access))
  if (grants === undefined) return access
  const all = [...grantsOf(access), ...grants]
  return { ...summaryOf(all), ...(role === 'admin' && { role }), grants: all }
}

/** Takes effect at once. Nobody can disable themselves. */
export async function changeSettings(
  db: Database,
  configured: ConfiguredPeople,
  caller: Caller,
  name: string,
  change: SettingsBody,
) {
  if (change.disabled && name === caller.name) throw refuse('own_user_stays', { name })
  const isConfigured = configured.some((person) => person.name === name)
  const by = byCaller(caller)
  const settings = await db.write('changeUserSettings', { name, change, isConfigured, now: now(), by })
  if (settings === undefined) throw refuse('user_not_found', { field: 'name', name })
  return { settings }
}

/** No user can remove itself, so that someone who can sign in always remains. */
export async function removeUser(db: Database, configured: ConfiguredPeople, caller: Caller, name: string) {
  if (name === caller.name) throw refuse('own_user_stays', { name })
  const isConfigured = configured.some((person) => person.name === name)
  if (
    await db.write('removeUser', {
      name,
      isConfigured,
      lastAdminStays: !hasConfiguredAdmin(configured),
      now: now(),
      by: byCaller(caller),
    })
  )
    return {}
  if (isConfigured) throw refuse('user_configured', { name })
  throw refuse('user_not_found', { field: 'name', name })
}
