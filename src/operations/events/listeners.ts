import { refuse } from '../../domain/refusals.ts'

/** A browser holds one for all its tabs. */
const most = { perUser: 32, total: 1_024 }

/** Counts the streams that are open. `enter` answers what counts one off again. */
export function createListeners() {
  const byUser = new Map<string, number>()
  let all = 0
  return {
    enter(user: string): () => void {
      const own = byUser.get(user) ?? 0
      if (own >= most.perUser) throw refuse('too_many_streams', { user, limit: most.perUser })
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
