/** Who asked for nothing for so long counts no more. */
const activeMs = 300_000

/** Remembered at most, the latest. */
const mostTenants = 1_000

export type ActiveTenants = ReturnType<typeof createActiveTenants>

/** The tenants that have asked lately. */
export function createActiveTenants(now: () => number = () => performance.now()) {
  // In the order of their last requests.
  const asked = new Map<string, number>()

  return {
    noteRequest(tenant: string): void {
      asked.delete(tenant)
      asked.set(tenant, now())
      const [oldest] = asked.keys()
      if (asked.size > mostTenants && oldest !== undefined) asked.delete(oldest)
    },
    /** Whether others than this one are active. */
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
