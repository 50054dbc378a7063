import { absent, exactly, short } from './literals.ts'
import type { Searcher } from './source.ts'

/** Searches for a text; `found` is returned where it matches. */
export function textSearcher<T>(text: string, found: T): Searcher<T> {
  const match = exactly(text)
  return {
    firsts: new Set([text.charCodeAt(0)]),
    seek(answer, at) {
      const end = match(answer, at)
      return end === short ? 'more' : end === absent ? 'no' : found
    },
  }
}
