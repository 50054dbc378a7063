import { Lexer, type Token } from 'marked'

/**
 * The lexer's time grows with the square of a paragraph, and 150 kB of `_a` stop a browser for a minute. Texts within these
 * bounds take less than a second, however they were made.
 */
const longestText = 60_000
const longestParagraph = 6_000

/** Deeper quotes and lists are shown as they are written: elements below elements have a depth that a browser can draw. */
export const deepest = 30

/** The text as Markdown; undefined where it is to be shown as it is. */
export function laidOut(text: string): Token[] | undefined {
  if (text.length > longestText || hasLongParagraph(text)) return undefined
  try {
    return new Lexer({ gfm: true }).lex(text)
  } catch (error) {
    // A few thousand quotes within each other are too deep for the lexer itself.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function hasLongParagraph(text: string): boolean {
  let start = 0
  for (const { index, 0: gap } of text.matchAll(/\n[ \t]*\n/g)) {
    if (index - start > longestParagraph) return true
    start = index + gap.length
  }
  return text.length - start > longestParagraph
}
