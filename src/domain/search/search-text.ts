import { wordsOf } from './words.ts'

/** A search term: words that follow each other. */
export interface Term {
  words: readonly string[]
  /** The last word may be the beginning of a longer one. */
  isOpen: boolean
  isExcluded: boolean
}

export const maxTerms = 32
/** A shorter word matches only itself, because too many words begin with it. */
const shortestOpen = 3

const termPattern = /(-?)(?:"([^"]*)"?|([^\s"]+))/g

/**
 * Parses a search. All terms must match: words, and longer words that begin with them; text in quotation marks exactly;
 * text after a minus must not occur. Any input is valid.
 */
export function readSearch(text: string): Term[] {
  const terms: Term[] = []
  for (const [, minus, quoted, bare] of text.matchAll(termPattern)) {
    const words = wordsOf(quoted ?? bare ?? '')
      .split(' ')
      .filter(Boolean)
    if (words.length === 0) continue
    const last = words.at(-1) as string
    const isOpen = quoted === undefined && [...last].length >= shortestOpen
    terms.push({ words, isOpen, isExcluded: minus !== '' })
  }
  return terms
}
