import { LRUCache } from 'lru-cache'
import { controlTokensOf, type Markers, markersOf } from '../control-tokens.ts'
import { type CompiledGrammar, sizeOfGrammar } from '../grammar/compiled-grammar.ts'
import { hasMarks } from '../grammar/marks.ts'
import { createMatcher, type Position } from '../grammar/matcher.ts'
import { isSymbol, otherControlToken, symbolOfMarker } from '../grammar/symbols.ts'
import { createUniqueItemMatcher, type UniqueItemPosition } from '../grammar/unique-item-matcher.ts'
import type { TokenMask, TokenRule } from '../token-rule.ts'
import type { Vocabulary } from '../vocabulary.ts'
import { eachAllowed, putAllowed } from './allowed-tokens.ts'
import type { AvoidedTexts } from './avoided-texts.ts'
import { type AvoidingTokens, createAvoidingTokens } from './avoiding-tokens.ts'
import { afterBytes, type BytePosition } from './byte-positions.ts'
import { type ContinuedText, readContinued } from './continued.ts'
import { createRuns } from './runs.ts'
import { createSureTokens } from './sure-tokens.ts'
import { createMasks, type Masks } from './token-masks.ts'
import { unrepeatedTokens } from './unrepeated-tokens.ts'
import { sliceVocabulary, type VocabularySlices } from './vocabulary-slices.ts'

/** The tokens of a model that a grammar allows. */
export interface Constraint {
  /** Starts one answer. */
  begin(): Allowance
  /** The same constraint for answers that continue this text. Throws if no text that fits begins with it. */
  behind(continued: ContinuedText): Constraint
  /** The same constraint without these texts, and without what can only be completed with one of them. */
  avoiding(texts: AvoidedTexts): Constraint
}

export type Spacing = 'dense' | 'spaced'

/** Which tokens the grammar allows after the answer so far. */
export interface Allowance extends TokenRule {
  /**
   * A control token is allowed where the grammar continues with its symbol: the symbol of the marker that it is, or else
   * the symbol of any other control token, which does not cover end tokens. End tokens are also allowed where the grammar
   * is complete.
   */
  allows(token: number): boolean
  /** All tokens that are allowed, if they are few; the same list for the same position of the grammar. */
  few(most?: number): readonly number[] | undefined
  /** The answer is a text of the grammar. */
  readonly isComplete: boolean
  /** The answer is a text of the grammar, and nothing can follow. */
  readonly isOver: boolean
  /**
   * The tokens that come next where the grammar leaves one text alone, as the tokenizer splits it. Often none, and never
   * an end token. The rest of the list stays the same until another token is accepted.
   */
  sure(): readonly number[]
  /**
   * The text that comes next where, apart from white space, only one is left; of a long text, the beginning. It has no
   * such white space, or a space after each colon and comma; `last` is the byte before it.
   */
  ahead(space: Spacing, last: number | undefined): string
  /** Continues the answer with this token, which is allowed. False if the token only ends the answer and is no part of it. */
  accept(token: number): boolean
}

export interface Constraints {
  /**
   * `markers` are the names of the control tokens that the grammar's marker symbols stand for. What was computed for
   * one group of users is not used for another, whose time would tell.
   */
  of(grammar: CompiledGrammar, markers?: readonly string[], group?: string): Constraint
}

/** Longer lists are not made: among so many tokens some are likely ones. */
const maxListed = 256
/** Lists that are cached for one grammar. */
const maxLists = 512
/** Positions of one grammar whose masks are known. */
const maxMaskedPositions = 8192
/** Characters of the text that is left alone. */
const maxAheadLength = 64
const space = 0x20
const spacedBehind = /[:,]$/
/** Several for each of the users who answer at a time. */
const maxKept = 128
/** Of all cached grammars together. */
const maxBytes = 8 * 1024 * 1024

/**
 * Sorts the vocabulary, which takes a moment: once, when the model is loaded. A grammar that is used again is read once,
 * and what was computed for it is cached. `spell` splits a text as the tokenizer does; without it no token is sure.
 */
export function createConstraints(vocabulary: Vocabulary, spell: Spell = () => []): Constraints {
  const ends = new Set(vocabulary.ends)
  const tokens: Tokens = {
    vocabulary,
    spell,
    ends,
    controls: Array.from(controlTokensOf(vocabulary).values()).flat(),
    slices: sliceVocabulary(vocabulary),
    masks: createMasks(vocabulary.size),
  }
  const cache = new LRUCache<string, Constraint>({ max: maxKept, maxSize: maxBytes })
  function of(grammar: CompiledGrammar, markers: readonly string[] = [], group = ''): Constraint {
    const key = [group, grammar.digest, ...markers].join('\n')
    const known = cache.get(key)
    const constraint = known ?? createConstraint(grammar, tokens, markersOf(vocabulary, markers))
    if (known === undefined) cache.set(key, constraint, { size: sizeOfGrammar(grammar) })
    return constraint
  }
  return { of }
}

type Spell = (text: string) => readonly number[]

interface Tokens {
  vocabulary: Vocabulary
  spell: Spell
  ends: ReadonlySet<number>
  controls: readonly number[]
  slices: VocabularySlices
  masks: Masks
}

function createConstraint(
  grammar: CompiledGrammar,
  { vocabulary, spell, ends, controls, slices, masks }: Tokens,
  markers: Markers,
): Constraint {
  let steps = 0
  const spend = (more: number) => {
    steps += more
  }
  const matcher = createMatcher(grammar, { withoutMarks: true, spend })
  const uniqueItems = hasMarks(grammar) ? createUniqueItemMatcher(grammar, spend) : undefined
  /** The allowed tokens, or a number that they exceed. */
  const lists = new LRUCache<Position, readonly number[] | number>({ max: maxLists })
  const runs = createRuns(matcher)
  const aheadOf = new LRUCache<Position, string>({ max: maxLists, memoMethod: (at) => ahead(at, false) })
  const spacedFrom = new LRUCache<Position, string>({ max: maxLists, memoMethod: (at) => ahead(at, true) })
  const sureFrom = createSureTokens({ vocabulary, matcher, spell, few: fewOf, after: afterToken })
  const maskOf = new Map<Position, number>()

  const isComplete = ({ position, begun }: BytePosition) => begun === undefined && position.isComplete

  /** Undefined for a token that is read by its bytes. */
  function symbolOfToken(token: number): number | undefined {
    const marker = markers.get(token)
    if (marker !== undefined) return symbolOfMarker(marker)
    return vocabulary.isSpecial(token) && !ends.has(token) ? otherControlToken : undefined
  }

  /** Control tokens stand between characters, never within one. */
  function afterSymbol({ position, begun }: BytePosition, symbol: number): BytePosition | undefined {
    const next = begun === undefined ? matcher.after(position, symbol) : undefined
    return next && { position: next, begun: undefined }
  }

  function afterToken(at: BytePosition, token: number): BytePosition | undefined {
    const symbol = symbolOfToken(token)
    if (symbol !== undefined) return afterSymbol(at, symbol)
    const bytes = vocabulary.bytes(token)
    return bytes.length > 0 && !ends.has(token) ? afterBytes(matcher, at, bytes) : undefined
  }

  /** The control tokens that are allowed, and the end tokens if the answer may end. */
  function apart(at: BytePosition): number[] {
    const others = afterSymbol(at, otherControlToken) === undefined ? markers.keys() : controls
    const found = Array.from(others).filter((token) => {
      const symbol = symbolOfToken(token)
      return symbol !== undefined && afterSymbol(at, symbol) !== undefined
    })
    return isComplete(at) ? [...new Set([...found, ...ends])] : found
  }

  /** Undefined if there are more than `most`. */
  function listed(at: BytePosition, most: number): readonly number[] | undefined {
    const found: number[] = []
    eachAllowed(matcher, at, slices, (token) => found.push(token) <= most)
    if (found.length > most) return undefined
    found.push(...apart(at))
    return found.length > most ? undefined : found
  }

  function fewOf(at: BytePosition, most: number): readonly number[] | undefined {
    if (at.begun !== undefined) return listed(at, most)
    const before = lists.get(at.position)
    if (typeof before === 'object') return before.length > most ? undefined : before
    if (before !== undefined && before >= most) return undefined
    const list = listed(at, most)
    lists.set(at.position, list ?? most)
    return list
  }

  function ahead(from: Position, isSpaced: boolean): string {
    let text = ''
    for (let at: Position | undefined = from; at !== undefined && !at.isComplete; ) {
      const spaced: Position | undefined =
        isSpaced && spacedBehind.test(text) ? matcher.after(at, space) : undefined
      if (spaced !== undefined) {
        text += ' '
        at = spaced
      }
      const point = matcher.onlyPoint(at) ?? matcher.onlyPoint(at, 'orSpace')
      if (point === undefined || isSymbol(point) || text.length >= maxAheadLength) break
      text += String.fromCodePoint(point)
      at = matcher.after(at, point)
    }
    return text
  }

  function spacedAhead(from: Position, last: number | undefined): string {
    const isBehind = last !== undefined && spacedBehind.test(String.fromCharCode(last))
    const spaced = isBehind && !from.isComplete ? matcher.after(from, space) : undefined
    return spaced === undefined ? spacedFrom.memo(from) : ` ${spacedFrom.memo(spaced)}`
  }

  function masked(at: BytePosition): TokenMask {
    return masks.of((put, bits) => {
      putAllowed(matcher, runs, at, slices, bits)
      for (const token of apart(at)) put(token)
    })
  }

  function known(position: Position): TokenMask | undefined {
    const id = maskOf.get(position)
    return id === undefined ? undefined : masks.get(id)
  }

  /** A counted repetition has a position for each count, but mostly the same mask for all of them. */
  function remembered(position: Position, at: BytePosition): TokenMask {
    const before = known(position)
    if (before !== undefined) return before
    const mask = masked(at)
    if (maskOf.size === maxMaskedPositions) maskOf.clear()
    maskOf.set(position, mask.id)
    return mask
  }

  /** The part of a position's mask that repeats nothing. */
  function unrepeated(mask: TokenMask, from: BytePosition<UniqueItemPosition>): TokenMask {
    if (uniqueItems === undefined) return mask
    return masks.of((_put, bits) => {
      bits.set(mask.bits)
      unrepeatedTokens(vocabulary).keep(uniqueItems, from, bits)
      if (from.begun === undefined && from.position.isComplete) return
      for (const token of ends) bits[token >>> 5] = (bits[token >>> 5] ?? 0) & ~(1 << (token & 31))
    })
  }

  /** The constraint from these positions on, without memory and with it. */
  function from(start: Position, rememberedStart: UniqueItemPosition | undefined): Constraint {
    return {
      begin: () => begin(start, rememberedStart, undefined),
      behind,
      avoiding(texts) {
        const avoiding = createAvoidingTokens({
          matcher,
          texts,
          vocabulary,
          slices,
          masks,
          symbolOfToken,
          ends,
          controls,
        })
        return {
          begin: () => begin(start, rememberedStart, avoiding.from(start)),
          behind: (continued) => behind(continued).avoiding(texts),
          avoiding: (others) => from(start, rememberedStart).avoiding(others),
        }
      },
    }
  }

  function behind(continued: ContinuedText): Constraint {
    steps = 0
    const taken = () => steps
    const start = readContinued(continued, matcher, taken)
    return from(start, uniqueItems && readContinued(continued, uniqueItems, taken))
  }

  return from(matcher.start, uniqueItems?.start)

  function begin(
    start: Position,
    rememberedStart: UniqueItemPosition | undefined,
    avoiding: AvoidingTokens | undefined,
  ): Allowance {
    let at: BytePosition = { position: start, begun: undefined }
    /** The same position with everything that was written, if the grammar remembers it. */
    let past: BytePosition<UniqueItemPosition> | undefined = rememberedStart && {
      position: rememberedStart,
      begun: undefined,
    }
    const isDone = () => isComplete(at) && (past === undefined || past.position.isComplete)
    const pastAfter = (token: number): BytePosition<UniqueItemPosition> | undefined => {
      if (uniqueItems === undefined || past === undefined) return undefined
      const symbol = symbolOfToken(token)
      if (symbol === undefined) return afterBytes(uniqueItems, past, vocabulary.bytes(token))
      const position = past.begun === undefined ? uniqueItems.after(past.position, symbol) : undefined
      return position && { position, begun: undefined }
    }
    const isNew = (token: number) =>
      (past === undefined || pastAfter(token) !== undefined) && (avoiding?.allows(token) ?? true)
    let sure: readonly number[] = []
    return {
      allows(token) {
        if (ends.has(token) && isDone()) return true
        return afterToken(at, token) !== undefined && isNew(token)
      },
      few(most = maxListed) {
        const list = fewOf(at, most)
        if (list === undefined || (past === undefined && avoiding === undefined)) return list
        return list.filter((token) => (ends.has(token) ? isDone() : isNew(token)))
      },
      sure() {
        const isKnown = sure.length > 0 || at.begun !== undefined || past !== undefined
        if (!isKnown) sure = sureFrom(at.position)
        return sure
      },
      ahead(space, last) {
        if (at.begun !== undefined) return ''
        return space === 'dense' ? aheadOf.memo(at.position) : spacedAhead(at.position, last)
      },
      mask() {
        const mask = at.begun === undefined ? remembered(at.position, at) : masked(at)
        const left = past === undefined ? mask : unrepeated(mask, past)
        return avoiding?.narrowed(left) ?? left
      },
      get isComplete() {
        return isDone()
      },
      get isOver() {
        return isDone() && (at.position.isOver || (avoiding?.isOver ?? false))
      },
      accept(token) {
        const next = afterToken(at, token)
        if (next === undefined && ends.has(token)) return false
        if (next === undefined || !isNew(token)) {
          throw new Error(`the grammar does not allow the token ${token}`)
        }
        past = pastAfter(token)
        avoiding?.accept(token)
        at = next
        sure = sure[0] === token ? sure.slice(1) : []
        return true
      },
    }
  }
}
