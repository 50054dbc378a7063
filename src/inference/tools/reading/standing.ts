import { absent, exactly, short } from './literals.ts'
import type { Seeker } from './source.ts'

/** Searches for a text; `found` is returned where it matches. */
export function standing<T>(text: string, found: T): Seeker<T> {
  const match = exactly(text)
  return {
    firsts: new Set([text.charCodeAt(0)]),
    seek(given, at) {
      const end = match(given, at)
      return end === short ? 'more' : end === absent ? 'no' : found
    },
  }
}
