/**
 * Text that both engines can store. PostgreSQL stores neither U+0000 nor halves of surrogate pairs, so they read as
 * U+FFFD everywhere, both in values and in what they are compared with.
 */
export function storableText(text: string): string {
  // Nearly every text is already storable, and checking is cheaper than making a copy.
  return text.isWellFormed() && !text.includes('\0') ? text : text.toWellFormed().replaceAll('\0', '\ufffd')
}

/** Lower case, without the final form of sigma, which would keep a part of a longer word from matching. */
export function foldCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ')
}

/** Compares by code point, which is the order of UTF-8 bytes but not of JavaScript strings. */
export function compareText(left: string, right: string): number {
  let at = 0
  while (at < left.length && left.charCodeAt(at) === right.charCodeAt(at)) at++
  // If the second halves of surrogate pairs differ, compare the whole pairs.
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
