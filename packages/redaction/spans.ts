/** A piece of a text that is replaced by the name of its kind. */
export interface Span {
  kind: string
  from: number
  to: number
}

/** Reports every piece of one kind. Takes time in proportion to the length of the text, whatever it says. */
export type Finder = (text: string, found: (from: number, to: number) => void) => void

/**
 * What may stand before a number or a key: no letter, digit or dot, and no hyphen that follows a letter. Letters also end line
 * breaks in JSON within JSON, percent-encoded signs and the colours of a terminal.
 */
export const leftOfNumber = String.raw`(?:(?<![\w.]|\w-)|(?<=\\[bfnrt]|%(?:25)?[0-9A-Fa-f]{2}|\[[\d;]{1,12}m))`

/** Between the groups of a number, for a class of characters. Word processors and models write them without breaks. */
export const spaces = String.raw` \u00a0\u2007\u2009\u202f`
export const hyphens = String.raw`\u2010-\u2013\uff0d-`

/** Not the punctuation of Chinese and Japanese texts, which may stand next to a number. */
const lookalike =
  /[\uff0b\uff10-\uff19\uff20-\uff3a\uff3f\uff41-\uff5a\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\ufe6b]/g
const zeros = [0x660, 0x6f0, 0x966]

/** With the digits and signs of ASCII for those of wide, Arabic and Indic writing: each a character, so that places stay. */
export const inAscii = (text: string): string =>
  text.replace(lookalike, (character) => {
    if (character === '\ufe6b') return '@'
    const code = character.charCodeAt(0)
    if (code >= 0xff01) return String.fromCharCode(code - 0xfee0)
    return String(code - (zeros.findLast((zero) => code >= zero) ?? code))
  })

/** All matches of a global expression. `matchAll` would compile it again for each text. */
export function eachMatch(expression: RegExp, text: string, use: (match: RegExpExecArray) => void): void {
  expression.lastIndex = 0
  for (let match = expression.exec(text); match !== null; match = expression.exec(text)) use(match)
}

/** In order, without overlaps: pieces that overlap are one, of the kind that begins first. */
function merged(spans: Span[]): Span[] {
  spans.sort((a, b) => a.from - b.from || b.to - a.to)
  const apart: Span[] = []
  for (const span of spans) {
    const last = apart.at(-1)
    if (last !== undefined && span.from < last.to) last.to = Math.max(last.to, span.to)
    else apart.push({ ...span })
  }
  return apart
}

/** The text with `[kind]` in the place of each span; `count` is called for each. */
export function withoutSpans(text: string, spans: Span[], count: (kind: string) => void): string {
  let out = ''
  let from = 0
  for (const span of merged(spans)) {
    out += `${text.slice(from, span.from)}[${span.kind}]`
    from = span.to
    count(span.kind)
  }
  return out + text.slice(from)
}
