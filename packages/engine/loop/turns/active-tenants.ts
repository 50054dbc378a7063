/** A tenant without requests for this long is no longer active. */
const activeMs = 300_000

/** Only the latest so many are remembered. */
const maxTenants = 1_000

export type ActiveTenants = ReturnType<typeof createActiveTenants>

/** The tenants with recent requests. */
export function createActiveTenants(now: () => number = () => performance.now()) {
  // In the order of their last requests.
  const asked = new Map<string, number>()

  return {
    noteRequest(tenant: string): void {
      asked.delete(tenant)
      asked.set(tenant, now())
      const [oldest] = asked.keys()
      if (asked.size > maxTenants && oldest !== undefined) asked.delete(oldest)
    },
    /** Whether any other tenant is active. */
    hasOthers(tenant: string): boolean {
      const since = now() - activeMs
      for (const [name, last] of asked) {
        if (last < since) asked.delete(name)
        else if (name !== tenant) return true
      }
      return false
    },
  }
}
