import type { Vocabulary } from './vocabulary.ts'

/**
 * Control tokens have names, but no text can contain them. Those that matter to the reader of an answer are its *markers*: in
 * the answer's text each is one lone low surrogate, which no text of characters holds, and in a grammar it is one symbol
 * beyond all characters.
 */

const firstUnit = 0xdc00
const lastUnit = 0xdfff
const firstSymbol = 0x110000

/** Markers have the units before the last. */
export const mostMarkers = lastUnit - firstUnit

/** How the answer's text shows the marker of this index. */
export function unitOfMarker(index: number): string {
  return String.fromCharCode(firstUnit + index)
}

/** A text of an answer, with the names of markers instead of their units. */
export function withNames(text: string, markers: readonly string[] = []): string {
  return text.replace(/\p{Surrogate}/gu, (unit) => markers[unit.charCodeAt(0) - firstUnit] ?? unit)
}

export function symbolOfMarker(index: number): number {
  return firstSymbol + index
}

/** What a grammar goes on with where any control token may stand that is no marker. */
export const anyOtherSymbol = firstSymbol + mostMarkers

const known = new WeakMap<Vocabulary, ReadonlyMap<string, readonly number[]>>()

/** Every control token by its name, in the order of the vocabulary. Found once for each vocabulary. */
export function controlTokensOf(vocabulary: Vocabulary): ReadonlyMap<string, readonly number[]> {
  const before = known.get(vocabulary)
  if (before !== undefined) return before
  const byName = new Map<string, number[]>()
  for (let token = 0; token < vocabulary.size; token++) {
    if (!vocabulary.isSpecial(token)) continue
    const name = Buffer.from(vocabulary.bytes(token)).toString()
    if (name !== '') byName.set(name, [...(byName.get(name) ?? []), token])
  }
  known.set(vocabulary, byName)
  return byName
}

/** The index of the marker that a token is. */
export type Markers = ReadonlyMap<number, number>

export function markersOf(vocabulary: Vocabulary, names: readonly string[] = []): Markers {
  const byName = controlTokensOf(vocabulary)
  return new Map(names.flatMap((name, index) => (byName.get(name) ?? []).map((token) => [token, index])))
}

/** Finds each name in a text, the longest where several begin. As a separator it keeps them. */
export function namesPattern(names: readonly string[]): RegExp {
  const longestFirst = names.toSorted((one, other) => other.length - one.length)
  const escaped = longestFirst.map((name) => name.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'))
  return new RegExp(`(${escaped.join('|')})`, 'g')
}
