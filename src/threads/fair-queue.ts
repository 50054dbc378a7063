import { refuse } from '../domain/refusals.ts'

/**
 * Jobs in a queue, taken in rounds, one job of each tenant per round, so that a tenant with many jobs does not delay
 * one with few.
 */
interface FairQueue<Job> {
  readonly size: number
  /** Whether this tenant has a job in the queue. */
  has(tenant: string): boolean
  /** Whether a tenant other than this one has a job in the queue. */
  hasOthers(tenant: string): boolean
  /** Refuses if the queue of the tenant, or the queue as a whole, is full. */
  add(tenant: string, job: Job): void
  /** Puts a job, or what is left of it, back as the tenant's first. */
  putBack(tenant: string, job: Job): void
  /** The next job that `mayRun` accepts, considering only the first job of each tenant; the others keep their turn. */
  take(mayRun?: (tenant: string, job: Job) => boolean): { tenant: string; job: Job } | undefined
  /** Does nothing if the job has been taken. */
  remove(tenant: string, job: Job): void
  /** Empties the queue and returns what was in it. */
  clear(): Job[]
}

export interface QueueBounds {
  perTenant: number
  total: number
}

export function createFairQueue<Job>(most: QueueBounds): FairQueue<Job> {
  const queues = new Map<string, Set<Job>>()
  let size = 0
  /** The tenant that had the last turn. Tenants that arrived since then go first. */
  let served = ''

  function remove(tenant: string, job: Job): void {
    const queue = queues.get(tenant)
    if (!queue?.delete(job)) return
    size--
    if (queue.size === 0) queues.delete(tenant)
  }

  return {
    get size() {
      return size
    },
    has: (tenant) => queues.has(tenant),
    hasOthers: (tenant) => queues.size > (queues.has(tenant) ? 1 : 0),
    add(tenant, job) {
      const queue = queues.get(tenant) ?? new Set()
      if (queue.size >= most.perTenant || size >= most.total) throw refuse('queue_full')
      queue.add(job)
      queues.set(tenant, queue)
      size++
    },
    putBack(tenant, job) {
      queues.set(tenant, new Set([job, ...(queues.get(tenant) ?? [])]))
      size++
    },
    take(mayRun = () => true) {
      const last = queues.get(served)
      if (last !== undefined) {
        queues.delete(served)
        queues.set(served, last)
      }
      for (const [tenant, queue] of queues) {
        const [job] = queue
        if (job === undefined || !mayRun(tenant, job)) continue
        remove(tenant, job)
        served = tenant
        return { tenant, job }
      }
      return undefined
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
