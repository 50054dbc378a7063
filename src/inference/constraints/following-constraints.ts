import { LRUCache } from 'lru-cache'
import type { TokenMask, TokenRule } from '../sampling/logits.ts'
import type { Vocabulary } from '../vocabulary.ts'
import { type CompiledGrammar, sizeOfGrammar } from './grammar/compiled-grammar.ts'
import { createFollowing, type Position } from './grammar/following.ts'
import { eachAllowed } from './mask/allowed-tokens.ts'
import { afterBytes, type BytePosition } from './mask/byte-following.ts'
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
  /** All that are allowed, when they are few; the same list for the same position of the grammar. */
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
/** Of the positions of one grammar. */
const mostLists = 512
/** A position is no more than a name for a mask that others may have too, … */
const mostMaskedPositions = 4096
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
  const lists = new LRUCache<Position, readonly number[] | 'many', BytePosition>({
    max: mostLists,
    memoMethod: (_place, _stale, { context }) => listed(context),
  })
  const mostMasks = Math.max(16, Math.floor((8 * mostMaskBytes) / vocabulary.size))
  const masks = new Map<Position, TokenMask>()
  const different = new Set<TokenMask>()

  const isComplete = ({ position, begun }: BytePosition) => begun === undefined && position.isComplete

  function listed(at: BytePosition): readonly number[] | 'many' {
    const found: number[] = []
    eachAllowed(following, at, order, (token) => found.push(token) <= mostListed)
    if (found.length > mostListed) return 'many'
    return isComplete(at) ? [...found, ...ends] : found
  }

  function masked(at: BytePosition): TokenMask {
    return maskOf((put) => {
      eachAllowed(following, at, order, (token) => {
        put(token)
        return true
      })
      if (isComplete(at)) for (const token of ends) put(token)
    })
  }

  /** A counted repetition has a position for each count, and mostly one mask for all of them. */
  function remembered(position: Position, at: BytePosition): TokenMask {
    const known = masks.get(position)
    if (known !== undefined) return known
    const mask = masked(at)
    if (masks.size === mostMaskedPositions || different.size === mostMasks) {
      masks.clear()
      different.clear()
    }
    masks.set(position, mask)
    different.add(mask)
    return mask
  }

  return {
    begin() {
      let at: BytePosition = { position: following.start, begun: undefined }
      const after = (token: number) => afterBytes(following, at, vocabulary.bytes(token))
      return {
        allows(token) {
          if (ends.has(token)) return isComplete(at)
          return (
            vocabulary.bytes(token).length > 0 && !vocabulary.isSpecial(token) && after(token) !== undefined
          )
        },
        few() {
          const list = at.begun === undefined ? lists.memo(at.position, { context: at }) : listed(at)
          return list === 'many' ? undefined : list
        },
        mask: () => (at.begun === undefined ? remembered(at.position, at) : masked(at)),
        get isComplete() {
          return isComplete(at)
        },
        get isOver() {
          return isComplete(at) && at.position.isOver
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
