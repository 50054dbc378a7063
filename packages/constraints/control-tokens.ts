import type { Vocabulary } from './vocabulary.ts'

/**
 * Control tokens have names, but no text can contain them. In a literal of a grammar a lone low surrogate stands for one:
 * U+DC00 for the first of the names that a caller lists, U+DC01 for the second, and so on. No other token can write it.
 */
export const firstMarker = 0xdc00
export const lastMarker = 0xdffe

const known = new WeakMap<Vocabulary, ReadonlyMap<string, readonly number[]>>()

/** Every control token by its name, in the order of the vocabulary. Computed once for each vocabulary. */
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

/** Maps a token to the index of its marker. */
export type Markers = ReadonlyMap<number, number>

export function markersOf(vocabulary: Vocabulary, names: readonly string[] = []): Markers {
  const byName = controlTokensOf(vocabulary)
  return new Map(names.flatMap((name, index) => (byName.get(name) ?? []).map((token) => [token, index])))
}
