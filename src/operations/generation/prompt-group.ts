import type { Caller } from '../../domain/callers.ts'
import { grantsOf } from '../../domain/roles.ts'

/** Whose requests may continue from the same computed prompts. */
export type PromptSharing = 'user' | 'entity' | 'all'

/**
 * The group of the caller; undefined if it shares with nobody. By entity, a group is users with exactly the same
 * entities: a user with more of them would show what it sent for one to the users of another. `*` is not every entity
 * here but one of its own. No name of a user is a JSON list.
 */
export function promptGroupOf(
  caller: Pick<Caller, 'role' | 'entities' | 'grants'>,
  sharing: PromptSharing,
): string | undefined {
  if (sharing === 'all') return ''
  const scopes = new Set(grantsOf(caller).map(({ scope }) => scope))
  // A judge has no entities, and shares with its user alone.
  if (sharing === 'user' || scopes.size === 0) return undefined
  return JSON.stringify([...scopes].sort())
}
