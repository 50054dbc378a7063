import type { GrammarMatcher, Position } from '../grammar/matcher.ts'
import type { TokenMask } from '../token-rule.ts'
import type { Vocabulary } from '../vocabulary.ts'
import { unite, walk } from './allowed-tokens.ts'
import { type AvoidedTexts, type AvoidingPosition, createAvoidingMatcher } from './avoided-texts.ts'
import { afterBytes, type BytePosition } from './byte-positions.ts'
import type { Masks } from './token-masks.ts'
import { maxPlainLength, type VocabularySlices } from './vocabulary-slices.ts'

interface AvoidingParts {
  matcher: GrammarMatcher
  texts: AvoidedTexts
  vocabulary: Vocabulary
  slices: VocabularySlices
  masks: Masks
  /** Undefined for a token that is read by its bytes. */
  symbolOfToken(token: number): number | undefined
  ends: ReadonlySet<number>
  controls: readonly number[]
}

/** Which tokens leave the rest of an answer possible without the texts to avoid. */
export interface AvoidingTokens {
  allows(token: number): boolean
  /** The mask of the grammar without the other tokens. */
  narrowed(mask: TokenMask): TokenMask
  accept(token: number): void
  /** Nothing can follow without one of the texts. */
  readonly isOver: boolean
}

const maxTokenLength = 255
/** Positions of an answer whose masks are known. */
const maxMasks = 1024

export function createAvoidingTokens(sources: AvoidingParts) {
  const { vocabulary, masks, symbolOfToken, ends } = sources
  const { slices, broken, rest } = sources.slices
  const others = [...broken.map(({ trie }) => trie), rest]
  const matcher = createAvoidingMatcher(sources.matcher, sources.texts)
  const maskOf = new Map<AvoidingPosition, readonly [mask: number, narrowed: number]>()

  function after(from: BytePosition<AvoidingPosition>, token: number): typeof from | undefined {
    const symbol = symbolOfToken(token)
    if (symbol === undefined) return afterBytes(matcher, from, vocabulary.bytes(token))
    const position = from.begun === undefined ? matcher.afterToken(from.position, symbol, token) : undefined
    return position && { position, begun: undefined }
  }

  function narrowedAt(at: BytePosition<AvoidingPosition> | undefined, mask: TokenMask): TokenMask {
    return masks.of((put, bits) => {
      const isThere = (token: number) => (((mask.bits[token >>> 5] ?? 0) >>> (token & 31)) & 1) === 1
      for (const token of ends) if (isThere(token)) put(token)
      if (at === undefined) return
      const take = (tokens: Uint32Array, first: number, end: number) => {
        for (let index = first; index < end; index++) put(tokens[index] as number)
        return true
      }
      const whole = at.begun === undefined ? matcher.safe(at.position).whole : 0
      for (const slice of slices) {
        if (whole >= maxPlainLength) unite(bits, slice.upTo(maxPlainLength))
        else walk(matcher, at, slice.trie, take, (state, missing) => missing <= matcher.safe(state).whole)
      }
      for (const trie of others)
        walk(matcher, at, trie, take, (state, missing) => missing <= matcher.safe(state).any)
      for (let word = 0; word < bits.length; word++)
        bits[word] = (bits[word] as number) & (mask.bits[word] as number)
      for (const token of sources.controls) if (isThere(token) && after(at, token) !== undefined) put(token)
    })
  }

  return {
    /** For one answer, from this position of the grammar on. */
    from(start: Position): AvoidingTokens {
      const begin = matcher.from(start)
      let at: BytePosition<AvoidingPosition> | undefined = begin && { position: begin, begun: undefined }
      let isFree = false
      // The texts themselves are left out by another rule; here everything else is allowed, by all methods alike.
      const isUnknown = () => isFree || (at !== undefined && matcher.hasGivenUp(at.position))
      return {
        allows: (token) => isUnknown() || (at !== undefined && after(at, token) !== undefined),
        narrowed(mask) {
          if (isUnknown()) return mask
          if (at?.begun !== undefined || at === undefined) return narrowedAt(at, mask)
          const { position } = at
          if (matcher.safe(position).any >= maxTokenLength) return mask
          const [of, id] = maskOf.get(position) ?? []
          const known = of === mask.id && id !== undefined ? masks.get(id) : undefined
          if (known !== undefined) return known
          const narrowed = narrowedAt(at, mask)
          if (maskOf.size === maxMasks) maskOf.clear()
          maskOf.set(position, [mask.id, narrowed.id])
          return narrowed
        },
        accept(token) {
          const next = at && after(at, token)
          isFree = next === undefined && isUnknown()
          at = next
        },
        get isOver() {
          if (isFree) return false
          return at === undefined || (at.begun === undefined && matcher.isOver(at.position))
        },
      }
    },
  }
}
