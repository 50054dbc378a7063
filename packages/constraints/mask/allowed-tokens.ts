import type { GrammarMatcher, Position } from '../grammar/matcher.ts'
import { type BytePosition, canBeCompleted, type MatcherOf, withByte } from './byte-positions.ts'
import type { Run, Runs } from './runs.ts'
import type { TokenTrie } from './token-trie.ts'
import type { BrokenTokens, CharacterSet, VocabularySlices } from './vocabulary-slices.ts'

/** Receives the tokens from `first` to before `end`; returns false when it needs no more. */
type Take = (tokens: Uint32Array, first: number, end: number) => boolean

/** Walking so few nodes is faster than finding out whether all of them are allowed. */
const fewNodes = 8
/** At the beginning of a token a run is followed to many positions, from within a token only to few. */
const fewPositions = 48
const manyPositions = 1000

/** Passes the tokens that the grammar allows to `take`, one by one, until it returns false. */
export function eachAllowed(
  matcher: GrammarMatcher,
  from: BytePosition,
  { slices, broken, rest }: VocabularySlices,
  take: (token: number) => boolean,
): void {
  const each: Take = (tokens, first, end) => {
    for (let at = first; at < end; at++) if (!take(tokens[at] as number)) return false
    return true
  }
  for (const { trie } of [...slices, ...broken, { trie: rest }]) {
    if (!walk(matcher, from, trie, each)) return
  }
}

/** Sets a bit for each allowed token, for whole slices at once where enough is known about the position. */
export function putAllowed(
  matcher: GrammarMatcher,
  runs: Runs,
  from: BytePosition,
  { slices, plain, broken, rest }: VocabularySlices,
  bits: Uint32Array,
): void {
  const put: Take = (tokens, first, end) => {
    for (let at = first; at < end; at++) putToken(bits, tokens[at] as number)
    return true
  }
  const within = (set: CharacterSet) => (position: Position, missing: number) =>
    missing <= runs.of(position, set, fewPositions).length
  const run = from.begun === undefined ? runs.of(from.position, plain, manyPositions) : undefined
  if (run?.isAll === true) {
    bits.set(plain.upTo(run.length))
  } else {
    for (const slice of slices) {
      const own = from.begun === undefined ? runs.of(from.position, slice, manyPositions) : undefined
      if (own?.isAll === true) unite(bits, slice.upTo(own.length))
      else walk(matcher, from, slice.trie, put, within(slice))
    }
  }
  for (const tokens of broken) {
    if (run?.isAll === true && endAlike(matcher, run, tokens)) {
      walk(matcher, from, tokens.endings, (groups, first, end) => {
        for (let at = first; at < end; at++) {
          const group = tokens.groups[groups[at] as number]
          const { length = 0 } = group?.tokens ?? []
          for (let i = 0; i < length && (group?.lengths[i] ?? 0) <= run.length; i++) {
            putToken(bits, group?.tokens[i] as number)
          }
        }
        return true
      })
    } else walk(matcher, from, tokens.trie, put)
  }
  walk(matcher, from, rest, put)
}

/** Whether the position after one of these characters is the same after every length of the run. */
function endAlike(matcher: GrammarMatcher, { positions }: Run, { breaks }: BrokenTokens): boolean {
  const [first, ...others] = positions
  if (first === undefined) return false
  return breaks.every((byte) => {
    const after = matcher.after(first, byte)
    return others.every((position) => matcher.after(position, byte) === after)
  })
}

function putToken(bits: Uint32Array, token: number): void {
  bits[token >>> 5] = (bits[token >>> 5] as number) | (1 << (token & 31))
}

export function unite(bits: Uint32Array, others: Uint32Array): void {
  for (let at = 0; at < bits.length; at++) bits[at] = (bits[at] as number) | (others[at] as number)
}

/**
 * False if `take` stopped it. Where `areAll` reports that any text of that many characters may follow, all tokens below
 * the node are taken.
 */
export function walk<At>(
  matcher: MatcherOf<At>,
  from: BytePosition<At>,
  { bytes, depths, ends, firsts, rests, tokens }: TokenTrie,
  take: Take,
  areAll?: (position: At, missing: number) => boolean,
): boolean {
  /** The position after the bytes before a node, by the number of bytes. */
  const positions: At[] = [from.position]
  const begun: BytePosition['begun'][] = [from.begun]
  for (let node = 0; node < bytes.length; ) {
    const depth = depths[node] as number
    const end = ends[node] as number
    const byte = bytes[node] as number
    const position = positions[depth] as At
    const open = begun[depth]
    let next: At | undefined
    let unfinished: BytePosition['begun']
    if (open === undefined && byte < 0x80) next = matcher.after(position, byte)
    else {
      unfinished = withByte(open, byte)
      if (unfinished?.left === 0) {
        next = matcher.after(position, unfinished.value)
        unfinished = undefined
      } else if (unfinished !== undefined && canBeCompleted(matcher, position, unfinished)) next = position
    }
    if (next === undefined) {
      node = end
      continue
    }
    positions[depth + 1] = next
    begun[depth + 1] = unfinished
    const isWhole =
      areAll !== undefined &&
      unfinished === undefined &&
      end - node > fewNodes &&
      areAll(next, rests[node] as number)
    const behind = isWhole ? end : node + 1
    const [first, last] = [firsts[node] as number, firsts[behind] as number]
    if (first < last && !take(tokens, first, last)) return false
    node = behind
  }
  return true
}
