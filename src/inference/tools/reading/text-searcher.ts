import { absent, exactly, short } from './literals.ts'
import type { Searcher } from './source.ts'

/** Searches for a text; `found` is returned where it matches. */
export function textSearcher<T>(text: string, found: T): Searcher<T> {
  const match = exactly(text)
  return {
    firsts: new Set([text.charCodeAt(0)]),
    seek(given, at) {
      const end = match(given, at)
      return end === short ? 'more' : end === absent ? 'no' : found
    },
  }
}
