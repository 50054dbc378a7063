import { refuse } from '../domain/refusals.ts'

/** Jobs in a queue, taken in rounds: one of each tenant, so that a tenant with many jobs does not delay one with few. */
export interface FairQueue<Job> {
  /** Refuses when the queue of the tenant, or the queue as a whole, is full. */
  add(tenant: string, job: Job): void
  take(): Job | undefined
  /** Does nothing when the job has been taken. */
  remove(tenant: string, job: Job): void
  /** Empties the queue and returns what was in it. */
  clear(): Job[]
}

export function createFairQueue<Job>(most: { perTenant: number; total: number }): FairQueue<Job> {
  const queues = new Map<string, Set<Job>>()
  let size = 0

  function remove(tenant: string, job: Job): void {
    const queue = queues.get(tenant)
    if (!queue?.delete(job)) return
    size--
    if (queue.size === 0) queues.delete(tenant)
  }

  return {
    add(tenant, job) {
      const queue = queues.get(tenant) ?? new Set()
      if (queue.size >= most.perTenant || size >= most.total) throw refuse('queue_full')
      queue.add(job)
      queues.set(tenant, queue)
      size++
    },
    take() {
      const [first] = queues
      if (first === undefined) return undefined
      const [tenant, queue] = first
      const [job] = queue
      if (job === undefined) return undefined
      // To the end of the round, or out of it.
      queues.delete(tenant)
      queues.set(tenant, queue)
      remove(tenant, job)
      return job
    },
    remove,
    clear() {
      const all = [...queues.values()].flatMap((queue) => [...queue])
      queues.clear()
      size = 0
      return all
    },
  }
}
