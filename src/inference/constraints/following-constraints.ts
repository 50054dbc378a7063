import { LRUCache } from 'lru-cache'
import type { TokenMask, TokenRule } from '../sampling/logits.ts'
import type { Vocabulary } from '../vocabulary.ts'
import { type CompiledGrammar, sizeOfGrammar } from './grammar/compiled-grammar.ts'
import { createFollowing, type Place } from './grammar/following.ts'
import { eachAllowed } from './mask/allowed-tokens.ts'
import { afterBytes, type BytePlace } from './mask/byte-following.ts'
import { createMasks } from './mask/token-masks.ts'
import { orderTokens, type TokenOrder } from './mask/token-order.ts'

/** What the tokens of a model may say by a grammar. */
export interface Constraint {
  /** For one answer. */
  begin(): Allowance
}

/** Which tokens the grammar allows after the answer so far. */
export interface Allowance extends TokenRule {
  /** A token that ends the answer is allowed where the grammar is complete, other special tokens never. */
  allows(token: number): boolean
  /** All that are allowed, when they are few; the same list for the same place of the grammar. */
  few(): readonly number[] | undefined
  /** The answer is a text of the grammar. */
  readonly isComplete: boolean
  /** It is, and nothing can follow. */
  readonly isOver: boolean
  /** The answer goes on with this token, which is allowed. */
  accept(token: number): void
}

export interface Constraints {
  of(grammar: CompiledGrammar): Constraint
}

/** More are not listed: among so many there are likely ones. */
const mostListed = 256
/** Of the places of one grammar. */
const mostLists = 512
/** A place is no more than a name for a mask that others may have too, … */
const mostMaskedPlaces = 4096
/** … and this is for the masks of a grammar. */
const mostMaskBytes = 1024 * 1024
const mostKept = 32
/** Of the grammars that are kept. */
const mostBytes = 8 * 1024 * 1024

/**
 * Puts the vocabulary in order, which takes a moment: once, when the model is loaded. Grammars that are used again are read
 * once, and what was learnt of them stays.
 */
export function createConstraints(vocabulary: Vocabulary): Constraints {
  const ends = new Set(vocabulary.ends)
  const tokens: Tokens = {
    vocabulary,
    ends,
    order: orderTokens(vocabulary),
    maskOf: createMasks(vocabulary.size),
  }
  const cache = new LRUCache<string, Constraint>({ max: mostKept, maxSize: mostBytes })
  return {
    of(grammar) {
      const known = cache.get(grammar.digest)
      const constraint = known ?? createConstraint(grammar, tokens)
      if (known === undefined) cache.set(grammar.digest, constraint, { size: sizeOfGrammar(grammar) })
      return constraint
    },
  }
}

interface Tokens {
  vocabulary: Vocabulary
  ends: ReadonlySet<number>
  order: TokenOrder
  maskOf: ReturnType<typeof createMasks>
}

function createConstraint(grammar: CompiledGrammar, { vocabulary, ends, order, maskOf }: Tokens): Constraint {
  const following = createFollowing(grammar)
  const lists = new LRUCache<Place, readonly number[] | 'many', BytePlace>({
    max: mostLists,
    memoMethod: (_place, _stale, { context }) => listed(context),
  })
  const mostMasks = Math.max(16, Math.floor((8 * mostMaskBytes) / vocabulary.size))
  const masks = new Map<Place, TokenMask>()
  const different = new Set<TokenMask>()

  const isComplete = ({ place, begun }: BytePlace) => begun === undefined && place.isComplete

  function listed(at: BytePlace): readonly number[] | 'many' {
    const found: number[] = []
    eachAllowed(following, at, order, (token) => found.push(token) <= mostListed)
    if (found.length > mostListed) return 'many'
    return isComplete(at) ? [...found, ...ends] : found
  }

  function masked(at: BytePlace): TokenMask {
    return maskOf((put) => {
      eachAllowed(following, at, order, (token) => {
        put(token)
        return true
      })
      if (isComplete(at)) for (const token of ends) put(token)
    })
  }

  /** A counted repetition has a place for each count, and mostly one mask for all of them. */
  function remembered(place: Place, at: BytePlace): TokenMask {
    const known = masks.get(place)
    if (known !== undefined) return known
    const mask = masked(at)
    if (masks.size === mostMaskedPlaces || different.size === mostMasks) {
      masks.clear()
      different.clear()
    }
    masks.set(place, mask)
    different.add(mask)
    return mask
  }

  return {
    begin() {
      let at: BytePlace = { place: following.start, begun: undefined }
      const after = (token: number) => afterBytes(following, at, vocabulary.bytes(token))
      return {
        allows(token) {
          if (ends.has(token)) return isComplete(at)
          return (
            vocabulary.bytes(token).length > 0 && !vocabulary.isSpecial(token) && after(token) !== undefined
          )
        },
        few() {
          const list = at.begun === undefined ? lists.memo(at.place, { context: at }) : listed(at)
          return list === 'many' ? undefined : list
        },
        mask: () => (at.begun === undefined ? remembered(at.place, at) : masked(at)),
        get isComplete() {
          return isComplete(at)
        },
        get isOver() {
          return isComplete(at) && at.place.isOver
        },
        accept(token) {
          if (ends.has(token)) return
          const next = after(token)
          if (next === undefined) throw new Error(`the grammar does not allow the token ${token}`)
          at = next
        },
      }
    },
  }
}
