import { createFollowing, type Following, type Place } from '../grammar/following.ts'
import { writtenGrammar } from '../grammar/given-grammar.ts'
import type { Vocabulary } from '../vocabulary.ts'
import { afterBytes, type BytePlace } from './byte-following.ts'
import { orderTokens, type TokenOrder } from './token-order.ts'

/** What the tokens of a model may say by a grammar. */
export interface Constraint {
  /** For one answer. */
  begin(): Allowance
}

/** Which tokens the grammar allows after the answer so far. */
export interface Allowance {
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
  of(grammar: string): Constraint
}

/** More are not listed: among so many there are likely ones. */
const mostListed = 256
const mostKept = 32
/** Of the texts of the grammars that are kept. */
const mostCharacters = 2 * 1024 * 1024

/**
 * Puts the vocabulary in order, which takes a moment: once, when the model is loaded. Grammars that are used again are read
 * once, and what was learnt of them stays.
 */
export function createConstraints(vocabulary: Vocabulary): Constraints {
  const kept = new Map<string, Constraint>()
  const ends = new Set(vocabulary.ends)
  let characters = 0
  const order = orderTokens(vocabulary)
  return {
    of(grammar) {
      const known = kept.get(grammar)
      const constraint = known ?? createConstraint(grammar, vocabulary, ends, order)
      if (known === undefined) characters += grammar.length
      kept.delete(grammar)
      kept.set(grammar, constraint)
      for (const oldest of kept.keys()) {
        if (kept.size === 1 || (kept.size <= mostKept && characters <= mostCharacters)) break
        kept.delete(oldest)
        characters -= oldest.length
      }
      return constraint
    },
  }
}

function createConstraint(
  grammar: string,
  vocabulary: Vocabulary,
  ends: ReadonlySet<number>,
  order: TokenOrder,
): Constraint {
  const following = createFollowing(writtenGrammar(grammar))
  const lists = new WeakMap<Place, readonly number[] | 'many'>()

  const isComplete = ({ place, begun }: BytePlace) => begun === undefined && place.isComplete

  function listed(at: BytePlace): readonly number[] | 'many' {
    const found = listOf(following, at, vocabulary, order)
    if (found === undefined) return 'many'
    return isComplete(at) ? [...found, ...ends] : found
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
          let list = at.begun === undefined ? lists.get(at.place) : undefined
          if (list === undefined) {
            list = listed(at)
            if (at.begun === undefined) lists.set(at.place, list)
          }
          return list === 'many' ? undefined : list
        },
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

/** Undefined when there are too many. What begins as something did that is not allowed is passed over. */
function listOf(
  following: Following,
  from: BytePlace,
  vocabulary: Vocabulary,
  { tokens, shared }: TokenOrder,
): number[] | undefined {
  const found: number[] = []
  /** Where the bytes of the last token led, so many of them as its index. */
  const places: BytePlace[] = [from]
  for (let at = 0; at < tokens.length; at++) {
    const common = shared[at] as number
    // As many bytes as the last one could not say lead nowhere here either.
    if (common >= places.length) continue
    places.length = common + 1
    const token = tokens[at] as number
    const bytes = vocabulary.bytes(token)
    while (places.length <= bytes.length) {
      const length = places.length
      const next = afterBytes(following, places[length - 1] as BytePlace, bytes.subarray(length - 1, length))
      if (next === undefined) break
      places.push(next)
    }
    if (places.length <= bytes.length) continue
    if (found.length === mostListed) return undefined
    found.push(token)
  }
  return found
}
