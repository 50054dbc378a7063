import { wordsOf } from './words.ts'

/** Something that is looked for: words that follow each other. */
export interface Term {
  words: readonly string[]
  /** The last word may go on. */
  isOpen: boolean
  isExcluded: boolean
}

export const mostTerms = 32
/** A word of fewer letters is looked for as it is: too many begin with it. */
const shortestOpen = 3

const parts = /(-?)(?:"([^"]*)"?|([^\s"]+))/g

/**
 * What a text looks for. All of it has to be there: words, and longer ones that begin with them; in quotation marks as it
 * stands; without what follows a minus. Any text can be read.
 */
export function readSearch(text: string): Term[] {
  const terms: Term[] = []
  for (const [, minus, quoted, bare] of text.matchAll(parts)) {
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
