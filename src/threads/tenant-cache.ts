import { LRUCache } from 'lru-cache'

/** Whose question this thread or process answers: it answers one at a time, and waits for nothing in between. */
let asking = ''

/** To be called before a question is answered. */
export function answerTenant(tenant: string): void {
  asking = tenant
}

/** The tenant whose question is being answered. */
export function answeredTenant(): string {
  return asking
}

interface CacheBounds<Value> {
  max: number
  maxSize?: number
  sizeOf?(value: Value, key: string): number
}

/**
 * An LRU cache in a thread or process that answers all tenants. What was made for one of them is not found for another:
 * the time of its answer would tell what the first one had sent.
 */
export function createTenantCache<Value extends object>({ max, maxSize, sizeOf }: CacheBounds<Value>) {
  const all = new LRUCache<string, Value>({
    max,
    ...(maxSize !== undefined && sizeOf && { maxSize, sizeCalculation: sizeOf }),
  })
  // No name of a tenant has a line break.
  const ownKey = (key: string) => `${asking}\n${key}`

  const get = (key: string): Value | undefined => all.get(ownKey(key))
  const set = (key: string, value: Value): void => void all.set(ownKey(key), value)
  return {
    get,
    set,
    /** Makes the value if it is not there. */
    memo(key: string, make: () => Value): Value {
      const known = get(key)
      if (known !== undefined) return known
      const made = make()
      set(key, made)
      return made
    },
  }
}
