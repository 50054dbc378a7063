/**
 * Control tokens have names, but no text can contain them. Those that matter to the reader of an answer are its
 * *markers*: in the answer's text each is one lone low surrogate, which no other token can write. So a name that is
 * spelt out in letters is never mistaken for a marker. In a grammar a marker is a symbol: see
 * `grammar/symbols.ts` of packages/constraints.
 */

/**
 * The first marker is this code unit, the next one the code unit after it, and so on: those of grammars. Written again
 * here, so that the server's own process need not load the library; a test compares them.
 */
export const firstMarker = 0xdc00
export const lastMarker = 0xdffe

/** The code unit of the marker with this index in the answer's text. */
export function unitOfMarker(index: number): string {
  return String.fromCharCode(firstMarker + index)
}

/** A text of an answer, with the names of markers instead of their code units. */
export function withNames(text: string, markers: readonly string[] = []): string {
  return text.replace(/\p{Surrogate}/gu, (unit) => markers[unit.charCodeAt(0) - firstMarker] ?? unit)
}

/** Matches each name in a text, the longest if several begin at the same position. As a separator it keeps them. */
export function namesPattern(names: readonly string[]): RegExp {
  const byLength = names.toSorted((a, b) => b.length - a.length)
  const escaped = byLength.map((name) => name.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'))
  return new RegExp(`(${escaped.join('|')})`, 'g')
}
