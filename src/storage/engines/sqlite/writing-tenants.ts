import { LRUCache } from 'lru-cache'

/** Who has written nothing for so long does not count. */
const activeMs = 10_000

/** Whether several tenants write, and what the writes of each take: the next one is expected to take about as long. */
export function createWritingTenants(now: () => number) {
  const costs = new LRUCache<string, number>({ max: 1_000 })
  let last: string | undefined
  /** When another tenant than the last wrote. */
  let othersAt = Number.NEGATIVE_INFINITY
  let lastAt = Number.NEGATIVE_INFINITY

  return {
    /** A write of the tenant took so long. The server itself, which has no name, is no tenant. */
    note(tenant: string, ms: number): void {
      if (tenant === '') return
      costs.set(tenant, Math.max(ms, (costs.get(tenant) ?? 0) / 2))
      if (tenant !== last) othersAt = lastAt
      last = tenant
      lastAt = now()
    },
    /** Whether others than this tenant have written lately. */
    hasOthers(tenant: string): boolean {
      return now() - (tenant === last ? othersAt : lastAt) < activeMs
    },
    expectedMs: (tenant: string): number => costs.get(tenant) ?? 0,
  }
}
