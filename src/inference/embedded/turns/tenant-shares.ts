/**
 * How tenants share the time of the model while several have something to run. A tenant that had more than another waits where
 * it would hold that one up. Who comes begins behind nobody, and nobody saves up what it does not use.
 */
export function createTenantShares() {
  /** Milliseconds, of those that have something to run. */
  const used = new Map<string, number>()
  /** Never goes down, so that a tenant that comes again and again overtakes the others for a moment only. */
  let level = 0

  return {
    /** Before each batch: who has something to run in it. */
    meet(tenants: ReadonlySet<string>): void {
      for (const tenant of used.keys()) if (!tenants.has(tenant)) used.delete(tenant)
      if (used.size > 0) level = Math.max(level, Math.min(...used.values()))
      for (const tenant of tenants) if (!used.has(tenant)) used.set(tenant, level)
    },
    /** Of those that have met, the one that had least; of equals, who came last. */
    get next(): string | undefined {
      let least: string | undefined
      for (const [tenant, ms] of used) {
        if (least === undefined || ms <= (used.get(least) ?? 0)) least = tenant
      }
      return least
    },
    /** Whether it had so much more than another. */
    isAhead(tenant: string, ms: number): boolean {
      return (used.get(tenant) ?? 0) - Math.min(...used.values()) > ms
    },
    /** A batch took so long; each tenant pays for its tokens. */
    pay(tokens: ReadonlyMap<string, number>, ms: number): void {
      let all = 0
      for (const count of tokens.values()) all += count
      for (const [tenant, count] of tokens) used.set(tenant, (used.get(tenant) ?? 0) + (ms * count) / all)
    },
  }
}
