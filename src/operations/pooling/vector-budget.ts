import { refuse } from '../../domain/refusals.ts'

/** Numbers in all vectors that are being computed, of all requests together: 256 MiB. */
const maxHeld = 64 * 1024 * 1024

/** A tenant may use up to this many times what is free, so that there is always room for one that uses little. */
const timesFree = 3

export type VectorBudget = ReturnType<typeof createVectorBudget>

/** Bounds the memory of vectors that wait until the last one of their request is computed. */
export function createVectorBudget(most = maxHeld) {
  const held = new Map<string, number>()
  let total = 0
  return {
    /** Reserves room for this many numbers and returns the function that frees it. Refuses if there is none. */
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
