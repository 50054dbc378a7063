import type { Vocabulary } from '../vocabulary.ts'
import { orderTokens } from './token-order.ts'
import { isFirst, type TokenTrie, trieOf } from './token-trie.ts'

/**
 * The tokens, sorted by what a JSON string allows. At most positions of a JSON text whole slices are allowed or not,
 * without looking at a single token.
 */
export interface VocabularySlices {
  /**
   * Tokens that consist only of characters that need no escape in a string, each in the first slice that has all of its
   * characters.
   */
  readonly slices: readonly Slice[]
  /** All of these slices together. */
  readonly plain: CharacterSet
  /**
   * Tokens that begin with such characters and continue with one that ends a string, begins an escape or may not be in a
   * string.
   */
  readonly broken: readonly BrokenTokens[]
  /** Longer tokens, and those that begin or end in the middle of a character. */
  readonly rest: TokenTrie
}

export interface CharacterSet {
  /** Its number among all sets. */
  readonly id: number
  /** The first and the last of each range. */
  readonly ranges: readonly number[]
  /** Its tokens of up to this many characters. */
  upTo(characters: number): Uint32Array
}

interface Slice extends CharacterSet {
  readonly trie: TokenTrie
}

export interface BrokenTokens {
  /** The first byte after the plain characters is one of these. */
  readonly breaks: readonly number[]
  readonly trie: TokenTrie
  /** The parts of the tokens from that byte on; the tokens of this trie are indices of `groups`. */
  readonly endings: TokenTrie
  readonly groups: readonly BrokenGroup[]
}

/** Tokens with the same ending, sorted by the number of characters before it. */
interface BrokenGroup {
  readonly tokens: readonly number[]
  readonly lengths: readonly number[]
}

/** The longest token of a slice, in characters. */
export const maxPlainLength = 32

const upper = [0x41, 0x5a]
const lower = [0x61, 0x7a]
const digits = [0x30, 0x39]
/** All characters beyond ASCII, except for what patterns treat as a space or the end of a line. */
const foreign = [
  ...[0xa1, 0x167f, 0x1681, 0x1fff, 0x200b, 0x2027, 0x202a, 0x202e, 0x2030, 0x205e, 0x2060, 0x2fff],
  ...[0x3001, 0xd7ff, 0xe000, 0xfefe, 0xff00, 0x10ffff],
]
const sets: readonly (readonly number[])[] = [
  lower,
  [...digits, ...upper, ...lower],
  foreign,
  [0x20, 0x20, ...digits, ...upper, ...lower, ...foreign],
  [0x20, 0x21, 0x23, 0x5b, 0x5d, 0xd7ff, 0xe000, 0x10ffff],
]
const quote = [0x22]
const backslash = [0x5c]
const controls = Array.from({ length: 0x20 }, (_, byte) => byte)

const known = new WeakMap<Vocabulary, VocabularySlices>()

/** Takes a moment for a large vocabulary; done once for each. */
export function sliceVocabulary(vocabulary: Vocabulary): VocabularySlices {
  const slices = known.get(vocabulary) ?? sliced(vocabulary)
  known.set(vocabulary, slices)
  return slices
}

function sliced(vocabulary: Vocabulary): VocabularySlices {
  const { tokens } = orderTokens(vocabulary)
  const plain: number[][] = sets.map(() => [])
  const broken = [quote, backslash, controls].map((breaks) => ({ breaks, tokens: [] as number[] }))
  const rest: number[] = []
  for (const token of tokens) {
    const bytes = vocabulary.bytes(token)
    const { length, slice, end } = plainStart(bytes)
    const list =
      length > maxPlainLength
        ? rest
        : end === bytes.length
          ? plain[slice]
          : broken.find(({ breaks }) => breaks.includes(bytes[end] as number))?.tokens
    ;(list ?? rest).push(token)
  }
  const trie = (list: readonly number[]) => trieOf(list, (at) => vocabulary.bytes(list[at] as number))
  const set = (id: number, list: readonly number[]) => ({
    id,
    ranges: sets[id] ?? [],
    upTo: masksByLength(list, vocabulary),
  })
  return {
    slices: plain.map((list, id) => ({ ...set(id, list), trie: trie(list) })),
    plain: { ...set(sets.length - 1, plain.flat()), id: sets.length },
    broken: broken.map(({ breaks, tokens: list }) => ({
      breaks,
      trie: trie(list),
      ...endingsOf(list, vocabulary),
    })),
    rest: trie(rest),
  }
}

/**
 * The whole characters at the beginning that need no escape: how many there are, the slice that has all of them, and
 * where they end.
 */
function plainStart(bytes: Uint8Array): { length: number; slice: number; end: number } {
  let length = 0
  let end = 0
  const text = decoder.decode(bytes)
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0
    // A partial character decodes to U+FFFD, and so does U+FFFD itself.
    if (point === 0xfffd && bytes[end] !== 0xef) break
    if (point === 0xfffd && (bytes[end + 1] !== 0xbf || bytes[end + 2] !== 0xbd)) break
    if (!has(sets.at(-1) ?? [], point)) break
    end += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4
    length++
  }
  return { length, slice: sets.findIndex((set) => isOf(text, length, set)), end }
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

function isOf(text: string, length: number, set: readonly number[]): boolean {
  let read = 0
  for (const character of text) {
    if (read++ === length) break
    if (!has(set, character.codePointAt(0) ?? 0)) return false
  }
  return true
}

function has(ranges: readonly number[], point: number): boolean {
  for (let at = 0; at < ranges.length; at += 2) {
    if ((ranges[at] as number) <= point && point <= (ranges[at + 1] as number)) return true
  }
  return false
}

function endingsOf(
  list: readonly number[],
  vocabulary: Vocabulary,
): { endings: TokenTrie; groups: BrokenGroup[] } {
  const byEnding = Map.groupBy(list, (token) => {
    const bytes = vocabulary.bytes(token)
    return Buffer.from(bytes.subarray(plainStart(bytes).end)).toString('latin1')
  })
  const endings = [...byEnding.keys()].sort()
  const groups = endings.map((ending) => {
    const tokens = (byEnding.get(ending) ?? [])
      .map((token) => ({ token, length: plainStart(vocabulary.bytes(token)).length }))
      .sort((a, b) => a.length - b.length)
    return { tokens: tokens.map(({ token }) => token), lengths: tokens.map(({ length }) => length) }
  })
  return {
    endings: trieOf(
      endings.map((_, at) => at),
      (at) => Buffer.from(endings[at] ?? '', 'latin1'),
    ),
    groups,
  }
}

function masksByLength(list: readonly number[], vocabulary: Vocabulary): (characters: number) => Uint32Array {
  const byLength = Array.from({ length: maxPlainLength + 1 }, (): number[] => [])
  for (const token of list) byLength[countOf(vocabulary.bytes(token))]?.push(token)
  const longest = byLength.findLastIndex((tokens) => tokens.length > 0)
  const masks = [new Uint32Array(Math.ceil(vocabulary.size / 32))]
  return (characters) => {
    const most = Math.max(0, Math.min(characters, longest))
    while (masks.length <= most) {
      const bits = Uint32Array.from(masks.at(-1) ?? [])
      for (const token of byLength[masks.length] ?? []) {
        bits[token >>> 5] = (bits[token >>> 5] ?? 0) | (1 << (token & 31))
      }
      masks.push(bits)
    }
    return masks[most] as Uint32Array
  }
}

function countOf(bytes: Uint8Array): number {
  let count = 0
  for (const byte of bytes) if (isFirst(byte)) count++
  return count
}
