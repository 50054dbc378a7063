import { refuse } from '../domain/refusals.ts'

interface ConcurrencyBounds {
  perUser: number
  total: number
}

/**
 * Counts answers that stay open. `enter` returns a function that ends the count of one, or refuses if there are too
 * many.
 */
export function createConcurrencyLimit(
  most: ConcurrencyBounds,
  tooMany: 'too_many_streams' | 'too_many_exports',
) {
  const byUser = new Map<string, number>()
  let all = 0
  return {
    enter(user: string): () => void {
      const own = byUser.get(user) ?? 0
      if (own >= most.perUser) throw refuse(tooMany, { user, limit: most.perUser })
      if (all >= most.total) throw refuse('queue_full')
      byUser.set(user, own + 1)
      all++
      return () => {
        all--
        const left = (byUser.get(user) ?? 1) - 1
        if (left > 0) byUser.set(user, left)
        else byUser.delete(user)
      }
    },
  }
}
