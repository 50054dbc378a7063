/** Letters of scripts that have no spaces between words: each is a word. */
const unspaced =
  '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}'

/** A run of letters and digits of a text as it was written. */
export const wordPattern = new RegExp(`[${unspaced}]|(?:(?![${unspaced}])[\\p{L}\\p{N}\\p{M}])+`, 'gu')

const eachUnspaced = new RegExp(`[${unspaced}]`, 'gu')

/** Letters and digits that have to be folded: not ASCII, nor the signs and pictures that stand among it in most texts. */
const beyondPlain = /[\u0080-\u1fff\u2070-\u218f\u2460-\u24ff\u2c00-\ud83c\ud83f-\udbff\ue000-\uffff]/

/** What is longer is no word: keys, digests and pictures in letters. */
const longestWord = 64
const tooLong = new RegExp(`[^ ]{${longestWord + 1},}`, 'g')

/**
 * The words of a text as they are looked for, in lower case, without accents, with one space between two. Both storage
 * engines are given this and nothing else, so that they find the same.
 */
export function wordsOf(text: string): string {
  const folded = beyondPlain.test(text) ? foldedOf(text) : text.toLowerCase().replace(/[^a-z0-9]+/g, ' ')
  return (hasTooLong(folded) ? folded.replace(tooLong, '') : folded).trim()
}

/** Hops from space to space: the pattern would look at each character many times. */
function hasTooLong(words: string): boolean {
  for (let at = longestWord; at < words.length; ) {
    const space = words.lastIndexOf(' ', at)
    if (space < at - longestWord) return true
    at = space + longestWord + 1
  }
  return false
}

function foldedOf(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[\u0300-\u036f]+/g, '')
    .replace(eachUnspaced, ' $& ')
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, ' ')
}
