import type { ConfiguredUser } from '../config.ts'
import type { Caller } from '../domain/callers.ts'
import { hashKey } from '../domain/keys.ts'
import type { Reader } from '../storage/transaction.ts'
import { readUserSettings } from '../storage/users/settings.ts'

/** Reading their settings for each request would take longer than everything else that is looked up for these users. */
const freshMs = 1_000

/** The users of HEDDLE_USERS by the hash of their key. Changes to their settings take effect within a second. */
export function findConfigured(
  db: Reader,
  users: readonly ConfiguredUser[],
): (hash: string) => Caller | Promise<Caller> | undefined {
  const byHash = new Map(
    users.map(({ name, key, entities }): [string, { caller: Caller; readAt: number }] => {
      const role = entities.includes('*') ? 'admin' : 'member'
      return [hashKey(key), { caller: { name, role, entities: new Set(entities) }, readAt: -Infinity }]
    }),
  )
  return (hash) => {
    const user = byHash.get(hash)
    if (user === undefined) return undefined
    const now = performance.now()
    if (now - user.readAt < freshMs) return user.caller
    user.readAt = now
    return readUserSettings(db, user.caller.name).then(
      (settings) => {
        const { settings: _, ...caller } = user.caller
        user.caller = settings === undefined ? caller : { ...caller, settings }
        return user.caller
      },
      // These users can use the server even if its record fails; their last known settings still apply.
      () => user.caller,
    )
  }
}
