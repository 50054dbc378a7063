import { LRUCache } from 'lru-cache'

/** Whom the constraints that are compiled now are for. */
let group = () => ''

/**
 * What was made for one group is not found for another: the time of an answer would tell what others had sent. `current`
 * names the group at any time; without this call, everybody in the process is one group.
 */
export function rememberByGroup(current: () => string): void {
  group = current
}

interface CacheBounds<Value> {
  max: number
  maxSize?: number
  sizeOf?(value: Value): number
}

/** An LRU cache of what was made of texts. */
export function createGroupCache<Value extends object>({ max, maxSize, sizeOf }: CacheBounds<Value>) {
  const values = new LRUCache<string, Value>({
    max,
    ...(maxSize !== undefined && sizeOf && { maxSize, sizeCalculation: sizeOf }),
  })
  const keyOf = (text: string) => `${group()}\n${text}`
  return {
    get: (text: string): Value | undefined => values.get(keyOf(text)),
    set: (text: string, value: Value): void => void values.set(keyOf(text), value),
    memo(text: string, make: () => Value): Value {
      const key = keyOf(text)
      const known = values.get(key)
      if (known !== undefined) return known
      const made = make()
      values.set(key, made)
      return made
    },
  }
}
