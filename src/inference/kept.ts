export interface Kept<Key, Value> {
  get(key: Key, make: () => Value): Value
}

/** Remembers what was used lately, and lets go of what was used longest ago. */
export function createKept<Key, Value>(most: number, letGo: (value: Value) => void): Kept<Key, Value> {
  const values = new Map<Key, Value>()
  return {
    get(key, make) {
      const known = values.get(key)
      const value = known ?? make()
      values.delete(key)
      values.set(key, value)
      for (const [oldest, old] of values) {
        if (values.size <= most) break
        values.delete(oldest)
        letGo(old)
      }
      return value
    },
  }
}
