import type { UniqueItemMatcher, UniqueItemPosition } from '../grammar/unique-item-matcher.ts'
import type { Vocabulary } from '../vocabulary.ts'
import { walk } from './allowed-tokens.ts'
import type { BytePosition } from './byte-positions.ts'
import { orderTokens } from './token-order.ts'
import { type TokenTrie, trieOf } from './token-trie.ts'

/** The tokens, sorted by whether they can repeat an earlier item. */
interface UnrepeatedTokens {
  /** Removes the tokens that would repeat something from those that the grammar allows. */
  keep(uniqueItems: UniqueItemMatcher, from: BytePosition<UniqueItemPosition>, bits: Uint32Array): void
}

const comma = 0x2c
const brace = 0x7d

const known = new WeakMap<Vocabulary, UnrepeatedTokens>()

/** Takes a moment for a large vocabulary; done when a grammar first remembers something. */
export function unrepeatedTokens(vocabulary: Vocabulary): UnrepeatedTokens {
  const before = known.get(vocabulary)
  if (before !== undefined) return before
  const made = created(vocabulary)
  known.set(vocabulary, made)
  return made
}

function created(vocabulary: Vocabulary): UnrepeatedTokens {
  const { tokens, others } = orderTokens(vocabulary)
  const isEnding = (token: number) => {
    const bytes = vocabulary.bytes(token)
    return bytes.includes(comma) || bytes.includes(brace)
  }
  const trie = (list: readonly number[]) => trieOf(list, (at) => vocabulary.bytes(list[at] as number))
  const plainTokens = Array.from(tokens).filter((token) => !isEnding(token))
  /** These stay within one item, unless it is one whose members come in any order. */
  const plain = trie(plainTokens)
  /** With these another item may begin and end. */
  const ending = trie(Array.from(tokens).filter(isEnding))
  const words = Math.ceil(vocabulary.size / 32)
  const outside = bitsOf(others, words)
  const inside = bitsOf([...others, ...plainTokens], words)

  const put = (
    bits: Uint32Array,
    uniqueItems: UniqueItemMatcher,
    from: BytePosition<UniqueItemPosition>,
    of: TokenTrie,
  ) => {
    const isWhole = of === plain ? (position: UniqueItemPosition) => position.isFree : undefined
    walk(
      uniqueItems,
      from,
      of,
      (list, first, end) => {
        for (let at = first; at < end; at++) {
          const token = list[at] as number
          bits[token >>> 5] = (bits[token >>> 5] as number) | (1 << (token & 31))
        }
        return true
      },
      isWhole,
    )
  }

  return {
    keep(uniqueItems, from, bits) {
      const { isFree } = from.position
      const allowed = Uint32Array.from(isFree ? inside : outside)
      if (!isFree) put(allowed, uniqueItems, from, plain)
      put(allowed, uniqueItems, from, ending)
      for (let at = 0; at < bits.length; at++) bits[at] = (bits[at] as number) & (allowed[at] as number)
    },
  }
}

function bitsOf(tokens: readonly number[], words: number): Uint32Array {
  const bits = new Uint32Array(words)
  for (const token of tokens) bits[token >>> 5] = (bits[token >>> 5] as number) | (1 << (token & 31))
  return bits
}
