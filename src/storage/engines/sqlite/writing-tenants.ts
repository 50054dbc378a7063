import { LRUCache } from 'lru-cache'

/** A tenant that has written nothing for this long does not count. */
const activeMs = 10_000

/** Writes less than this apart count as simultaneous. */
const besideMs = 250

/** A tenant that had several jobs in one group within this time counts as having many waiting. */
const severalForMs = 100

/** The shortest rest that is worthwhile, and the longest rests: in general, and for bytes that are being flushed. */
const minRestMs = 1
const maxRestMs = 250
const maxBytesRestMs = 1_000

/**
 * A write cannot be interrupted: after one that takes longer than this, the tenant rests for this many times as long.
 */
const longMs = 3
const longRests = 3

/**
 * While other tenants write, bytes of files and large values are accepted at 32 MiB a second: the next writer waits for
 * the disk that receives them.
 */
const bytesPerMs = 32 * 1024

/**
 * When one transaction has more bytes than this, which others had to wait for, the rest for the same bytes is half as
 * long again.
 */
const longBytes = 1024 * 1024
const longBytesRests = 1.5

/** What the writes of one tenant cost. */
interface Cost {
  /** The expected duration of its next write. */
  ms: number
  restsUntil: number
  /** When it last had several jobs in a group. */
  severalAt: number
}

/** What the jobs of one tenant took in a group. */
export interface Spent {
  jobs: number
  ms: number
  bytes: number
}

/** Tenants that write at the same time. The server itself, which has no name, is not counted. */
export function createWritingTenants(now: () => number) {
  const costs = new LRUCache<string, Cost>({ max: 1_000 })
  let last: string | undefined
  let lastAt = Number.NEGATIVE_INFINITY
  /** When a tenant other than the last one wrote. */
  let othersAt = Number.NEGATIVE_INFINITY
  /** When a tenant without many waiting jobs last wrote. */
  let fewAt = Number.NEGATIVE_INFINITY

  const hasOthers = (tenant: string, within = activeMs) =>
    now() - (tenant === last ? othersAt : lastAt) < within

  function noteJobs(tenant: string, jobs: number): void {
    const cost = costs.get(tenant)
    if (cost === undefined) return
    if (jobs > 1) cost.severalAt = now()
    else if (now() - cost.severalAt >= severalForMs) fewAt = now()
  }

  const restMs = (tenant: string) => (costs.get(tenant)?.restsUntil ?? 0) - now()

  return {
    /** Notes how long a write of the tenant took. */
    note(tenant: string, ms: number): void {
      if (tenant === '') return
      const { ms: before = 0, restsUntil = 0, severalAt = Number.NEGATIVE_INFINITY } = costs.get(tenant) ?? {}
      costs.set(tenant, { ms: Math.max(ms, before / 2), restsUntil, severalAt })
      if (tenant !== last) othersAt = lastAt
      last = tenant
      lastAt = now()
    },
    /** Whether other tenants have written recently. */
    hasOthers: (tenant: string): boolean => hasOthers(tenant),
    /** Whether several tenants are writing. */
    get areSeveral(): boolean {
      return last !== undefined && now() - lastAt < besideMs && hasOthers(last, besideMs)
    },
    expectedMs: (tenant: string): number => costs.get(tenant)?.ms ?? 0,
    /**
     * Called after a group, with its duration. A tenant that writes while others do rests for as long as it wrote, so
     * that it has at most half of the writer's time, or a quarter with long writes. Its bytes also have to reach the
     * disk, which takes about as long again if there are many. Each group costs a flush, whatever is in it. A tenant
     * with several jobs in the group is charged for it, up to the length of a long write, so that a tenant with many
     * waiting jobs sends them in fewer groups. If all tenants have many waiting, none is charged for the flush: the
     * writer would be idle while there is work.
     */
    rest(spent: ReadonlyMap<string, Spent>, groupMs: number): void {
      for (const [tenant, { jobs }] of spent) noteJobs(tenant, jobs)
      for (const [tenant, { jobs, ms: jobsMs, bytes }] of spent) {
        const took = Math.min(groupMs, 2 * jobsMs)
        const flushMs = jobs > 1 && now() - fewAt < besideMs ? Math.min(groupMs, longMs) : 0
        const restMs = Math.max(took > longMs ? longRests * took : took, flushMs)
        const bytesMs = ((bytes > longBytes ? longBytesRests : 1) * bytes) / bytesPerMs
        const ms = Math.max(Math.min(restMs, maxRestMs), Math.min(bytesMs, maxBytesRestMs))
        const cost = costs.get(tenant)
        if (cost !== undefined && ms >= minRestMs && hasOthers(tenant, besideMs)) cost.restsUntil = now() + ms
      }
    },
    rests: (tenant: string): boolean => restMs(tenant) > 0,
    restMs,
  }
}
