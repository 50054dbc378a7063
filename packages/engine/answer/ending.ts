import type { Vocabulary } from '../../constraints/index.ts'
import type { Ending, FinishReason } from '../backend.ts'

export interface End {
  reason: FinishReason
  stop: string | number | null
}

/** The tokens that end an answer, and what is reported for each: null for the end of text, otherwise the token itself. */
type EndTokens = ReadonlyMap<number, number | null>

export function endTokens(ending: Ending, vocabulary: Vocabulary): EndTokens {
  const ends = new Map<number, number | null>()
  for (const token of ending.stopTokens) ends.set(token, token)
  if (ending.ignoreEos) return ends
  for (const token of vocabulary.ends) ends.set(token, token)
  if (vocabulary.eos !== undefined) ends.set(vocabulary.eos, null)
  return ends
}

/** Tokens that cannot be drawn before the minimum length: all that end answers, even where these are ignored. */
export function bannedEnds(ending: Ending, vocabulary: Vocabulary): number[] {
  return [...new Set([...ending.stopTokens, ...vocabulary.ends])]
}

/**
 * Called once after each token of an answer, with all of its tokens: whether the newest one ends it. Stop strings are
 * searched elsewhere. `isHeld`: the answer is incomplete, so that only a stop token of the request ends it here.
 */
type EndCheck = (tokens: readonly number[], isHeld?: boolean) => End | undefined

export function createEndCheck(ending: Ending, ends: EndTokens, maxTokens: number): EndCheck {
  const repeats = ending.repetition && createRepetition(ending.repetition, maxTokens)
  const requested = new Set(ending.stopTokens)
  return (tokens, isHeld = false) => {
    // Called even while it does not count yet, because it keeps track of earlier tokens.
    const repeated = repeats?.(tokens) ?? false
    const token = tokens.at(-1)
    if (token === undefined) return undefined
    if (tokens.length >= ending.minTokens) {
      const stop = ends.get(token)
      if (stop !== undefined && (!isHeld || requested.has(token))) return { reason: 'stop', stop }
    }
    if (tokens.length >= maxTokens) return { reason: 'length', stop: null }
    if (repeated && tokens.length >= ending.minTokens) {
      return { reason: 'repetition', stop: 'repetition_detected' }
    }
    return undefined
  }
}

export interface RepetitionRule {
  /** Tokens of the shortest pattern; 0 counts as 1. */
  minPattern: number
  /** Tokens of the longest pattern; 0 turns the search off. */
  maxPattern: number
  /** How many times in a row. */
  count: number
}

/** Returns after each token whether the answer now ends with a pattern repeated `count` times. */
type Repetition = (tokens: readonly number[]) => boolean

/**
 * A block of L tokens is repeated `count` times at the end if each of the last L · (count − 1) tokens equals the one L
 * positions before it. For each L the number of such tokens is tracked, so a token costs one comparison for each L,
 * however long the answer is.
 */
export function createRepetition(rule: RepetitionRule, maxTokens: number): Repetition {
  const shortest = Math.max(1, rule.minPattern)
  const longest = Math.min(rule.maxPattern, Math.floor(maxTokens / rule.count))
  if (!(longest >= shortest)) return () => false
  const equal = new Uint32Array(longest - shortest + 1)
  return (tokens) => {
    const last = tokens.length - 1
    const token = tokens[last]
    for (let length = shortest; length <= longest && length <= last; length++) {
      const run = tokens[last - length] === token ? (equal[length - shortest] ?? 0) + 1 : 0
      if (run >= length * (rule.count - 1)) return true
      equal[length - shortest] = run
    }
    return false
  }
}
