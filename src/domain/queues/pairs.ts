import { createHash } from 'node:crypto'

/** The type of the feedback in which a reviewer says which of two calls is better. */
export const preferenceType = 'heddle.preference'

/** The payload of such feedback, which is about the first call. */
export interface Preference {
  /** The better call; null if neither is. */
  preferred: string | null
  /** The second call of the pair. */
  other: string
  reason?: string | null
}

/** What an item of a queue is about: one call, or two to compare. */
export interface ItemCalls {
  call_id: string
  other_call_id: string | null
}

/** The same for a pair in either order. */
export const keyOfCalls = ({ call_id, other_call_id }: ItemCalls): string =>
  other_call_id === null ? call_id : [call_id, other_call_id].sort().join('\n')

/** Which call a reviewer sees on which side: by chance, and for one reviewer and item always the same. */
export function sidesOf({ call_id, other_call_id, id }: ItemCalls & { id: string }, user: string) {
  if (other_call_id === null) return null
  const [byte = 0] = createHash('sha256')
    .update(JSON.stringify([id, user]))
    .digest()
  return byte % 2 === 0 ? { left: call_id, right: other_call_id } : { left: other_call_id, right: call_id }
}

/** By what the calls of a pair are told apart. */
export const makers = ['model', 'op', 'prompt'] as const
export type Maker = (typeof makers)[number]
