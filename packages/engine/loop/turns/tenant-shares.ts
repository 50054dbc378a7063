/**
 * How tenants share the time of the model while several have something to run. A tenant that has used more than another
 * waits where it would delay that one. A new tenant starts behind nobody, and unused time is not saved up.
 */
export function createTenantShares() {
  /** Milliseconds used by each tenant that has something to run. */
  const used = new Map<string, number>()
  /** Never decreases, so that a tenant that leaves and returns again and again overtakes the others only briefly. */
  let level = 0

  return {
    /** Called before each batch with the tenants that have something to run in it. */
    meet(tenants: ReadonlySet<string>): void {
      for (const tenant of used.keys()) if (!tenants.has(tenant)) used.delete(tenant)
      if (used.size > 0) level = Math.max(level, Math.min(...used.values()))
      for (const tenant of tenants) if (!used.has(tenant)) used.set(tenant, level)
    },
    /** The tenant that has used the least; of equals, the one that came last. */
    get next(): string | undefined {
      let least: string | undefined
      for (const [tenant, ms] of used) {
        if (least === undefined || ms <= (used.get(least) ?? 0)) least = tenant
      }
      return least
    },
    /** Whether it has used `ms` more than another. */
    isAhead(tenant: string, ms: number): boolean {
      return (used.get(tenant) ?? 0) - Math.min(...used.values()) > ms
    },
    /** A batch took `ms`; each tenant pays for its tokens. */
    pay(tokens: ReadonlyMap<string, number>, ms: number): void {
      let all = 0
      for (const count of tokens.values()) all += count
      for (const [tenant, count] of tokens) used.set(tenant, (used.get(tenant) ?? 0) + (ms * count) / all)
    },
  }
}
