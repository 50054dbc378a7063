import type { Caller } from '../../domain/callers.ts'

/** Whose requests may continue from the same computed prompts. */
export type PromptSharing = 'user' | 'entity' | 'all'

/**
 * The group of the caller; undefined if it shares with nobody. By entity, a group is users with exactly the same
 * entities: a user with more of them would show what it sent for one to the users of another. `*` is not every entity
 * here but one of its own. No name of a user is a JSON list.
 */
export function promptGroupOf(
  { entities }: Pick<Caller, 'entities'>,
  sharing: PromptSharing,
): string | undefined {
  if (sharing === 'all') return ''
  // A judge has no entities, and shares with its user alone.
  if (sharing === 'user' || entities.size === 0) return undefined
  return JSON.stringify([...entities].sort())
}
