import { refuse } from '../domain/refusals.ts'

/** Jobs that wait, taken in rounds: one of each tenant, so that who brings many waits behind who brings one. */
export interface FairLine<Job> {
  /** Refuses when the line of the tenant, or the line as a whole, is full. */
  join(tenant: string, job: Job): void
  take(): Job | undefined
  /** Nothing when the job has been taken. */
  leave(tenant: string, job: Job): void
  /** Everyone who waits, who then waits no more. */
  clear(): Job[]
}

export function createFairLine<Job>(most: { ofTenant: number; ofAll: number }): FairLine<Job> {
  const lines = new Map<string, Set<Job>>()
  let waiting = 0

  function leave(tenant: string, job: Job): void {
    const line = lines.get(tenant)
    if (!line?.delete(job)) return
    waiting--
    if (line.size === 0) lines.delete(tenant)
  }

  return {
    join(tenant, job) {
      const line = lines.get(tenant) ?? new Set()
      if (line.size >= most.ofTenant || waiting >= most.ofAll) throw refuse('queue_full')
      line.add(job)
      lines.set(tenant, line)
      waiting++
    },
    take() {
      const [first] = lines
      if (first === undefined) return undefined
      const [tenant, line] = first
      const [job] = line
      if (job === undefined) return undefined
      // To the end of the round, or out of it.
      lines.delete(tenant)
      lines.set(tenant, line)
      leave(tenant, job)
      return job
    },
    leave,
    clear() {
      const all = [...lines.values()].flatMap((line) => [...line])
      lines.clear()
      waiting = 0
      return all
    },
  }
}
