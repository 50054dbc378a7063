import { LRUCache } from 'lru-cache'

/** Who has written nothing for so long does not count. */
const activeMs = 10_000

/** Writes that come one after the other are closer together than this. */
const besideMs = 250

/** Who had several jobs in a group this lately has many waiting. */
const severalForMs = 100

/** The shortest rest that is worth it, and the longest, but for bytes that are on their way to the disk. */
const leastRestMs = 1
const mostRestMs = 250
const mostBytesRestMs = 1_000

/** A write cannot be interrupted: behind one that takes longer than this, others get so many times as long. */
const longMs = 3
const longRests = 3

/** Beside others, the bytes of files and of large values come in at 32 MiB a second: who writes next waits for the disk that takes them. */
const bytesPerMs = 32 * 1024

/** More than this came in one transaction, behind which others have waited: the same bytes rest half as long again. */
const longBytes = 1024 * 1024
const longBytesRests = 1.5

/** What the writes of one tenant take. */
interface Cost {
  /** The next one is expected to take about as long. */
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

/** Tenants that write beside each other. The server itself, which has no name, is not counted. */
export function createWritingTenants(now: () => number) {
  const costs = new LRUCache<string, Cost>({ max: 1_000 })
  let last: string | undefined
  let lastAt = Number.NEGATIVE_INFINITY
  /** When another than the last wrote. */
  let othersAt = Number.NEGATIVE_INFINITY
  /** When somebody last wrote who has not many waiting. */
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
    /** A write of the tenant took so long. */
    note(tenant: string, ms: number): void {
      if (tenant === '') return
      const { ms: before = 0, restsUntil = 0, severalAt = Number.NEGATIVE_INFINITY } = costs.get(tenant) ?? {}
      costs.set(tenant, { ms: Math.max(ms, before / 2), restsUntil, severalAt })
      if (tenant !== last) othersAt = lastAt
      last = tenant
      lastAt = now()
    },
    /** Whether others than this tenant have written lately. */
    hasOthers: (tenant: string): boolean => hasOthers(tenant),
    /** Whether several are writing. */
    get areSeveral(): boolean {
      return last !== undefined && now() - lastAt < besideMs && hasOthers(last, besideMs)
    },
    expectedMs: (tenant: string): number => costs.get(tenant)?.ms ?? 0,
    /**
     * After a group that took so long: who writes beside others rests for as long as it wrote, so that it has half of the
     * writer's time at most, and a quarter with long writes. What it wrote has to reach the disk too, which takes about as long
     * again where it is much. The flush that each group costs, whatever is in it, counts for who had several jobs in it, up to the
     * length of a long write: who has many waiting sends them in fewer groups. Tenants who all have many waiting do not rest so for
     * each other: the writer would stand still while there is work.
     */
    rest(spent: ReadonlyMap<string, Spent>, groupMs: number): void {
      for (const [tenant, { jobs }] of spent) noteJobs(tenant, jobs)
      for (const [tenant, { jobs, ms: jobsMs, bytes }] of spent) {
        const took = Math.min(groupMs, 2 * jobsMs)
        const flushMs = jobs > 1 && now() - fewAt < besideMs ? Math.min(groupMs, longMs) : 0
        const restMs = Math.max(took > longMs ? longRests * took : took, flushMs)
        const bytesMs = ((bytes > longBytes ? longBytesRests : 1) * bytes) / bytesPerMs
        const ms = Math.max(Math.min(restMs, mostRestMs), Math.min(bytesMs, mostBytesRestMs))
        const cost = costs.get(tenant)
        if (cost !== undefined && ms >= leastRestMs && hasOthers(tenant, besideMs))
          cost.restsUntil = now() + ms
      }
    },
    rests: (tenant: string): boolean => restMs(tenant) > 0,
    restMs,
  }
}
