import type { Following, Position } from '../grammar/following.ts'
import { type BytePosition, canBeCompleted, type FollowingOf, withByte } from './byte-following.ts'
import type { Run, Runs } from './runs.ts'
import type { TokenTrie } from './token-trie.ts'
import type { BrokenTokens, CharacterSet, VocabularySlices } from './vocabulary-slices.ts'

/** Takes the tokens from one index to before another; false when it has enough. */
type Take = (tokens: Uint32Array, first: number, end: number) => boolean

/** Fewer nodes are walked sooner than it is known whether all of them are allowed. */
const fewNodes = 8
/** What leads to more is followed at once where a token begins, but not from within one. */
const fewPositions = 48
const manyPositions = 1000

/** Tells the tokens that the grammar goes on with, one by one, until `take` says that it has enough. */
export function eachAllowed(
  following: Following,
  from: BytePosition,
  { slices, broken, rest }: VocabularySlices,
  take: (token: number) => boolean,
): void {
  const each: Take = (tokens, first, end) => {
    for (let at = first; at < end; at++) if (!take(tokens[at] as number)) return false
    return true
  }
  for (const { trie } of [...slices, ...broken, { trie: rest }]) {
    if (!walk(following, from, trie, each)) return
  }
}

/** The same as a bit for each: whole slices at once where what is known of the position is enough. */
export function putAllowed(
  following: Following,
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
      else walk(following, from, slice.trie, put, within(slice))
    }
  }
  for (const tokens of broken) {
    if (run?.isAll === true && endAlike(following, run, tokens)) {
      walk(following, from, tokens.endings, (groups, first, end) => {
        for (let at = first; at < end; at++) {
          const group = tokens.groups[groups[at] as number]
          const { length = 0 } = group?.tokens ?? []
          for (let i = 0; i < length && (group?.lengths[i] ?? 0) <= run.length; i++) {
            putToken(bits, group?.tokens[i] as number)
          }
        }
        return true
      })
    } else walk(following, from, tokens.trie, put)
  }
  walk(following, from, rest, put)
}

/** Whether what follows such a character is the same, however many of the run come before it. */
function endAlike(following: Following, { positions }: Run, { breaks }: BrokenTokens): boolean {
  const [first, ...others] = positions
  if (first === undefined) return false
  return breaks.every((byte) => {
    const after = following.after(first, byte)
    return others.every((position) => following.after(position, byte) === after)
  })
}

function putToken(bits: Uint32Array, token: number): void {
  bits[token >>> 5] = (bits[token >>> 5] as number) | (1 << (token & 31))
}

function unite(bits: Uint32Array, others: Uint32Array): void {
  for (let at = 0; at < bits.length; at++) bits[at] = (bits[at] as number) | (others[at] as number)
}

/** False when `take` had enough. Where `areAll` says that any text of as many characters may follow, all that begins so is taken. */
export function walk<At>(
  following: FollowingOf<At>,
  from: BytePosition<At>,
  { bytes, depths, ends, firsts, rests, tokens }: TokenTrie,
  take: Take,
  areAll?: (position: At, missing: number) => boolean,
): boolean {
  /** Where the bytes before a node led, by their number. */
  const positions: At[] = [from.position]
  const begun: BytePosition['begun'][] = [from.begun]
  for (let node = 0; node < bytes.length; ) {
    const depth = depths[node] as number
    const end = ends[node] as number
    const byte = bytes[node] as number
    const position = positions[depth] as At
    const open = begun[depth]
    let next: At | undefined
    let part: BytePosition['begun']
    if (open === undefined && byte < 0x80) next = following.after(position, byte)
    else {
      part = withByte(open, byte)
      if (part?.left === 0) {
        next = following.after(position, part.value)
        part = undefined
      } else if (part !== undefined && canBeCompleted(following, position, part)) next = position
    }
    if (next === undefined) {
      node = end
      continue
    }
    positions[depth + 1] = next
    begun[depth + 1] = part
    const isWhole =
      areAll !== undefined &&
      part === undefined &&
      end - node > fewNodes &&
      areAll(next, rests[node] as number)
    const behind = isWhole ? end : node + 1
    const [first, last] = [firsts[node] as number, firsts[behind] as number]
    if (first < last && !take(tokens, first, last)) return false
    node = behind
  }
  return true
}
