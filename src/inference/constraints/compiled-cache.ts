import { LRUCache } from 'lru-cache'
import type { Compiled, CompileQuestion } from './constraint.ts'

/** For one tenant. */
const maxKept = 16
const maxBytes = 1024 * 1024
const maxTenants = 32
/** Comparing a constraint that is larger or deeper would block this thread. */
const maxWeight = 128 * 1024
const deepest = 64
/** The weight of a value, in addition to its text. */
const weightOfValue = 16

type TenantCache = LRUCache<string, Compiled>

/**
 * What was compiled lately for each tenant. A tenant that uses a constraint again does not wait for others whose
 * constraints are being compiled, and they do not evict its constraints.
 */
export function createCompiledCache() {
  const tenants = new LRUCache<string, TenantCache>({ max: maxTenants })

  return {
    /** The cache key of a question; undefined if it is not cached. */
    keyOf: ({ constraint, options }: CompileQuestion): string | undefined =>
      isSmall(constraint) ? JSON.stringify([constraint, options]) : undefined,
    get: (tenant: string, key: string): Compiled | undefined => tenants.get(tenant)?.get(key),
    set(tenant: string, key: string, compiled: Compiled): void {
      const cache: TenantCache = tenants.get(tenant) ?? new LRUCache({ max: maxKept, maxSize: maxBytes })
      cache.set(key, compiled, { size: 2 * key.length + compiled.bytes })
      tenants.set(tenant, cache)
    },
  }
}

function isSmall(root: unknown): boolean {
  let weight = 0
  let level: unknown[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) return false
    const next: unknown[] = []
    for (const value of level) {
      weight += weightOfValue
      if (typeof value === 'string') weight += value.length
      else if (typeof value === 'object' && value !== null)
        for (const [name, member] of Object.entries(value)) {
          weight += name.length
          next.push(member)
        }
      if (weight > maxWeight || next.length * weightOfValue > maxWeight) return false
    }
    level = next
  }
  return true
}
