import { hasAccess } from '../domain/callers.ts'
import { newId } from '../domain/ids.ts'
import { isDisabled } from '../domain/user-settings.ts'
import { readUserSettings } from '../storage/users/settings.ts'
import { callerOf, hasUser, userNamed } from '../storage/users/users.ts'
import type { GenerationContext } from './generation/generation.ts'
import type { OperationParts } from './parts.ts'

/** Work for which no caller waits is asked as its user, with the access of that user, behind all callers. */
export async function backgroundAsking(
  db: OperationParts['db'],
  name: string,
  project: string,
  signal: AbortSignal,
): Promise<GenerationContext> {
  const settings = await readUserSettings(db, name)
  return {
    caller: { name, role: 'member', entities: new Set(), ...(settings && { settings }) },
    id: newId(),
    arrived: performance.now(),
    lane: 'background',
    project,
    signal,
    note: () => undefined,
  }
}

/** Usage and money are counted, but limits do not apply: they are for users' own requests. */
export const withoutLimits = (services: OperationParts): OperationParts => ({
  ...services,
  charge: (caller, tokens) => services.usage.spent(caller.name, tokens),
})

/** Whether the user still exists and has access to the project: both may have ended since the work was asked for. */
export async function mayStillAct({ db, people }: OperationParts, user: string, project: string) {
  if (isDisabled({ settings: await readUserSettings(db, user) })) return false
  const configured = people.find(({ name }) => name === user)
  if (configured !== undefined)
    return hasAccess({ role: 'member', entities: new Set(configured.entities) }, project)
  const found = await userNamed(db, user)
  return found !== undefined && hasAccess(callerOf(found), project)
}

/** A user of HEDDLE_USERS no longer exists once the server starts without it. */
export const isKnownUser = async ({ db, people }: OperationParts, user: string): Promise<boolean> =>
  people.some(({ name }) => name === user) || hasUser(db, user)
