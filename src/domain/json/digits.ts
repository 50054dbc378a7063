import { shortened } from '../described.ts'

/** A refusal names no more paths than this. */
const maxRemembered = 100

const written = new WeakMap<object, Map<string | number, string>>()

/** For messages: the number as the request wrote it, where a double would differ. */
export function rememberDigits(holder: object, key: string | number, token: string): void {
  const known = written.get(holder)
  if (known === undefined) written.set(holder, new Map([[key, shortened(token)]]))
  else if (known.size < maxRemembered || known.has(key)) known.set(key, shortened(token))
}

/** The number at this path of a JSON text as it was written; undefined if it was not remembered. */
export function digitsAt(root: unknown, path: readonly PropertyKey[]): string | undefined {
  let value = root
  let digits: string | undefined
  for (const key of path) {
    if (typeof value !== 'object' || value === null || typeof key === 'symbol') return undefined
    digits = written.get(value)?.get(key)
    value = (value as Record<string | number, unknown>)[key]
  }
  return digits
}
