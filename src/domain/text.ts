/**
 * Text as both engines can hold it: PostgreSQL has no U+0000 and no halves of surrogate pairs, so they read as U+FFFD
 * everywhere, in values and in what they are compared with.
 */
export function storableText(text: string): string {
  // Nearly every text is one already, and to look is cheaper than to make another.
  return text.isWellFormed() && !text.includes('\0') ? text : text.toWellFormed().replaceAll('\0', '\ufffd')
}

/** Lower case, and without the special shape of a sigma that ends a word, which would hide a part of a longer word. */
export function foldCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ')
}

/** By code point, which is the order of UTF-8 bytes and not that of JavaScript's strings. */
export function compareText(left: string, right: string): number {
  let at = 0
  while (at < left.length && left.charCodeAt(at) === right.charCodeAt(at)) at++
  // What differs in its second half differs as a whole.
  const start = at > 0 && /[\ud800-\udbff]/.test(left[at - 1] as string) ? at - 1 : at
  return pointAt(left, start) - pointAt(right, start) || pointAt(left, at) - pointAt(right, at)
}

function pointAt(text: string, at: number): number {
  return text.codePointAt(at) ?? -1
}

const booleans = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

export function parseBoolean(text: string): boolean | null {
  return booleans.get(text) ?? null
}
