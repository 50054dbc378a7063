/** Letters of scripts that have no spaces between words: each counts as a word. */
const unspaced =
  '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}'

/** A run of letters and digits, as it was written. */
export const wordPattern = new RegExp(`[${unspaced}]|(?:(?![${unspaced}])[\\p{L}\\p{N}\\p{M}])+`, 'gu')

const eachUnspaced = new RegExp(`[${unspaced}]`, 'gu')

/** Letters and digits that have to be folded: not ASCII, nor the signs and pictures that most texts mix with it. */
const beyondPlain =
  /[\u0080-\u1fff\u2070-\u218f\u2460-\u24ff\u2776-\u2793\u2c00-\ud83c\ud83f-\udbff\ue000-\uffff]|\ud83e[\udff0-\udff9]/

/** Longer runs are not words but keys, digests, or pictures as text. */
const maxWordLength = 64
const tooLong = new RegExp(`[^ ]{${maxWordLength + 1},}`, 'g')

/**
 * The words of a text as they are searched: lower case, without accents, separated by single spaces. Both storage
 * engines get only this, so that they find the same.
 */
export function wordsOf(text: string): string {
  const folded = beyondPlain.test(text) ? foldedOf(text) : text.toLowerCase().replace(/[^a-z0-9]+/g, ' ')
  return (hasTooLong(folded) ? folded.replace(tooLong, '') : folded).trim()
}

/** Jumps from space to space; the pattern would read each character many times. */
function hasTooLong(words: string): boolean {
  for (let at = maxWordLength; at < words.length; ) {
    const space = words.lastIndexOf(' ', at)
    if (space < at - maxWordLength) return true
    at = space + maxWordLength + 1
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
