import { refuse } from '../../domain/refusals.ts'

/** Numbers of all vectors that are being made, of all requests together: 256 MiB. */
const mostHeld = 64 * 1024 * 1024

/** A tenant may hold so many times what is free, so there is always room for one that holds little. */
const timesFree = 3

export type HeldValues = ReturnType<typeof createHeldValues>

/** Memory for vectors that wait until the last of their request is there. */
export function createHeldValues(most = mostHeld) {
  const held = new Map<string, number>()
  let total = 0
  return {
    /** Takes room for so many numbers, and answers how to give it back. Refuses where there is none. */
    take(tenant: string, values: number): () => void {
      const own = (held.get(tenant) ?? 0) + values
      const free = most - total - values
      if (total > 0 && (free < 0 || own > timesFree * free)) throw refuse('queue_full')
      held.set(tenant, own)
      total += values
      return () => {
        const left = (held.get(tenant) ?? 0) - values
        if (left > 0) held.set(tenant, left)
        else held.delete(tenant)
        total -= values
      }
    },
  }
}
