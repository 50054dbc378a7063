import { Lexer, type Token } from 'marked'

/**
 * The time of the lexer grows with the square of a paragraph, and 150 kB of `_a` block a browser for a minute. Texts within
 * these limits take less than a second, whatever they contain.
 */
const longestText = 60_000
const longestParagraph = 6_000

/** Deeper quotes and lists are shown as source: browsers limit the depth of nested elements. */
export const deepest = 30

/** The tokens of the text; undefined where it is to be shown as plain text. */
export function parseMarkdown(text: string): Token[] | undefined {
  if (text.length > longestText || hasLongParagraph(text)) return undefined
  try {
    return new Lexer({ gfm: true }).lex(text)
  } catch (error) {
    // A few thousand nested quotes are too deep for the lexer itself.
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
