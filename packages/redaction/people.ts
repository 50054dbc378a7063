import { eachMatch, type Finder, leftOfNumber } from './spans.ts'

/** An at sign, as a URL writes it, and as JSON within JSON may. */
const atSigns = ['@', '%40', '\\u0040']
const localCharacter = /[\w.%+'\u00c0-\u024f-]/
const maxLocal = 128
/** Names of up to eight labels, the last of letters: `pkg@1.2.3` is a version. */
const domain =
  /(?:[a-z0-9\u00c0-\u024f][a-z0-9\u00c0-\u024f-]{0,62}\.){1,8}(?:xn--[a-z0-9-]{2,59}|[a-z\u00c0-\u024f]{2,24})(?![a-z0-9])/iy

/** E-mail addresses: each is found by its at sign, so that a text without one takes no time. */
export const findEmails: Finder = (text, found) => {
  for (const sign of atSigns) {
    for (let at = text.indexOf(sign); at !== -1; at = text.indexOf(sign, at + 1)) {
      domain.lastIndex = at + sign.length
      if (!domain.test(text)) continue
      const end = domain.lastIndex
      let from = at
      while (from > 0 && at - from < maxLocal && localCharacter.test(text.charAt(from - 1))) from--
      // The second character of a line break within JSON within JSON.
      if (text.charAt(from - 1) === '\\' && /[bfnrt]/.test(text.charAt(from)) && from < at - 1) from++
      const local = text.slice(from, at)
      // The user of every repository, in addresses such as git@example.com:group/name.
      if (local !== '' && local !== 'git') found(from, end)
    }
  }
}

const international = new RegExp(
  String.raw`${leftOfNumber}(?<![)+])(?:\+[1-9]\d{0,2}|00[1-9]\d{0,2}(?=[ ./-]))(?:[ .()\u00a0/-]{0,2}\d){5,12}(?![\w]|[.,]\d)`,
  'g',
)
const northAmerican = new RegExp(
  String.raw`${leftOfNumber}(?:\([2-9]\d{2}\) ?|[2-9]\d{2}-)[2-9]\d{2}-\d{4}(?![\w]|-\w)`,
  'g',
)
const minDigits = 8

/** Telephone numbers as they are dialled from abroad, and those of North America with their hyphens. */
export const findPhones: Finder = (text, found) => {
  eachMatch(international, text, ({ index, 0: number }) => {
    if (number.replace(/\D/g, '').length >= minDigits) found(index, index + number.length)
  })
  eachMatch(northAmerican, text, ({ index, 0: number }) => found(index, index + number.length))
}
