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

const booleans = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

export function parseBoolean(text: string): boolean | null {
  return booleans.get(text) ?? null
}
