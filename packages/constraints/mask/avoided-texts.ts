import { placeOf, united, withoutPoints } from '../grammar/code-point-ranges.ts'
import type { GrammarMatcher, Position } from '../grammar/matcher.ts'
import { isSymbol, symbolOfMarker } from '../grammar/symbols.ts'
import type { MatcherOf } from './byte-positions.ts'
import { maxPlainLength } from './vocabulary-slices.ts'

/** Texts that an answer must not contain, followed by states: 0 at its beginning. */
export interface AvoidedTexts {
  /** The characters of the texts. Any other one leads to the state 0. */
  readonly points: readonly number[]
  /** Undefined when the character completes one of the texts. */
  afterPoint(state: number, point: number): number | undefined
  /** The same for a token, which may be a control token. */
  after(state: number, token: number): number | undefined
}

/** A position of the grammar, and how much of the texts has been written. */
export interface AvoidingPosition {
  readonly position: Position
  readonly state: number
  /** Where characters lead; null where nothing can follow that avoids the texts. */
  readonly to: Map<number, AvoidingPosition | null>
  /** Every position to which a character leads; undefined while it is not known, null if there are too many. */
  successors: readonly AvoidingPosition[] | null | undefined
  /** Whether a character of several bytes is left out here, which a token could begin. Known with the successors. */
  hasHalves: boolean
  /** Whether the grammar can be completed from here without the texts. */
  isLive: boolean | undefined
  safe: Safety | undefined
}

/** No text of up to so many characters leads to where it cannot be completed. */
interface Safety {
  /** For texts that end with a whole character. */
  whole: number
  /** For those that end within one, too. */
  any: number
}

/** A grammar without the texts to avoid and without what can only end in them. */
interface AvoidingMatcher extends MatcherOf<AvoidingPosition> {
  /** Undefined if every text of the grammar has one of the texts. */
  from(position: Position): AvoidingPosition | undefined
  afterToken(from: AvoidingPosition, symbol: number, token: number): AvoidingPosition | undefined
  /** Whether nothing can follow. */
  isOver(at: AvoidingPosition): boolean
  /** For how many characters all that the grammar and the texts allow can be completed. */
  safe(at: AvoidingPosition): Safety
  /** It takes too many steps to find out what can be completed from here: everything counts as if it could. */
  hasGivenUp(at: AvoidingPosition): boolean
}

/** Steps of one search for the end of the grammar, and of all searches of a request. */
const maxSteps = 40_000
const maxAllSteps = 600_000
/** A look at all other characters costs as much as this many. */
const stepsOfSpread = 10
/** Characters of the texts that may come next at a position; where there are more, it is not searched. */
const maxPoints = 1_000
/** Positions that one search may pass to find out how many characters are safe. */
const maxPositions = 2_000
/** So many known successors are looked at in the time of one step. */
const knownInStep = 8
/** Beginnings of tokens that the masks of a request may follow: some walks through a large vocabulary. */
const maxFollowed = 4_000_000
/** Of all positions together. */
const maxKnown = 100_000

const firstSymbol = symbolOfMarker(0)

/**
 * What cannot be completed is left out before it is entered. Where that takes too many steps to find out, which a
 * recursive grammar or thousands of counted characters can cause, a position counts as one that can be completed.
 */
export function createAvoidingMatcher(matcher: GrammarMatcher, texts: AvoidedTexts): AvoidingMatcher {
  const points = new Set(texts.points)
  const sorted = [...points].sort((a, b) => a - b)
  const positions = new WeakMap<Position, Map<number, AvoidingPosition>>()
  const filled: AvoidingPosition[] = []
  let known = 0
  let left = maxAllSteps
  let followed = 0

  function at(position: Position, state: number): AvoidingPosition {
    const byState = positions.get(position) ?? new Map<number, AvoidingPosition>()
    positions.set(position, byState)
    const before = byState.get(state)
    if (before !== undefined) return before
    left -= 1
    const made: AvoidingPosition = {
      position,
      state,
      to: new Map(),
      successors: undefined,
      hasHalves: false,
      isLive: position.isComplete ? true : undefined,
      safe: undefined,
    }
    byState.set(state, made)
    return made
  }

  /** Where a character leads, whether it can be completed there or not. */
  function next(from: AvoidingPosition, point: number): AvoidingPosition | undefined {
    const position = matcher.after(from.position, point)
    if (position === undefined) return undefined
    // What follows a control token is told by the token; here any could be meant.
    if (isSymbol(point)) return at(position, from.state)
    const state = points.has(point) ? texts.afterPoint(from.state, point) : 0
    return state === undefined ? undefined : at(position, state)
  }

  /** The characters of the texts in this range. */
  const within = (first: number, last: number) =>
    sorted.slice(placeOf(sorted, first), placeOf(sorted, last + 1))

  function successorsOf(from: AvoidingPosition): readonly AvoidingPosition[] | null {
    if (from.successors !== undefined) return from.successors
    const possible = united(matcher.rangesOf(from.position))
    const own = possible.flatMap(([first, last]) => within(first, last))
    const others = possible.flatMap(([first, last]) => withoutPoints(within(first, last), first, last))
    left -= stepsOfSpread + own.length + possible.length
    const spread = left > 0 && own.length <= maxPoints ? matcher.spread(from.position, others) : undefined
    if (spread === undefined) {
      from.successors = null
      return null
    }
    const found = new Set(spread.to.map((position) => at(position, 0)))
    for (const point of [...own, ...matcher.pointsFrom(from.position, firstSymbol)]) {
      const to = next(from, point)
      if (to !== undefined) found.add(to)
      else if (point >= 0x80 && matcher.after(from.position, point) !== undefined) from.hasHalves = true
    }
    from.successors = [...found]
    return from.successors
  }

  function isLive(from: AvoidingPosition): boolean {
    from.isLive ??= search(from)
    return from.isLive
  }

  /** The nearest end of the grammar, or all positions that have none. */
  function search(start: AvoidingPosition): boolean {
    const before = new Map<AvoidingPosition, AvoidingPosition | undefined>([[start, undefined]])
    const least = left - maxSteps
    for (const position of before.keys()) {
      if (position.isLive === false) continue
      const isFurther = position.isLive === undefined && left > Math.max(least, 0)
      const successors = isFurther ? successorsOf(position) : null
      if (successors === null) {
        for (let on: AvoidingPosition | undefined = position; on !== undefined; on = before.get(on))
          on.isLive = true
        return true
      }
      left -= 1 + successors.length / knownInStep
      for (const successor of successors) if (!before.has(successor)) before.set(successor, position)
    }
    for (const position of before.keys()) position.isLive = false
    return false
  }

  function safeFrom(start: AvoidingPosition): Safety {
    let any: number | undefined
    const upTo = (whole: number): Safety => ({ whole, any: any ?? whole })
    const seen = new Set([start])
    let level = [start]
    for (let length = 0; length < maxPlainLength; length++) {
      const further: AvoidingPosition[] = []
      for (const position of level) {
        const successors = successorsOf(position)
        if (successors === null || seen.size > maxPositions || left <= 0) return upTo(length)
        if (position.hasHalves) any ??= length
        left -= 1 + successors.length / knownInStep
        for (const successor of successors) {
          if (!isLive(successor)) return upTo(length)
          if (seen.has(successor)) continue
          seen.add(successor)
          further.push(successor)
        }
      }
      if (further.length === 0) {
        const safe = upTo(Number.POSITIVE_INFINITY)
        // Whatever leads on from any of them leads to another of them.
        if (any === undefined) for (const position of seen) position.safe = safe
        return safe
      }
      level = further
    }
    return upTo(maxPlainLength)
  }

  const live = (to: AvoidingPosition | undefined) => (to !== undefined && isLive(to) ? to : undefined)

  return {
    from: (position) => live(at(position, 0)),
    after(from, point) {
      followed += 1
      const before = from.to.get(point)
      if (before !== undefined) return before ?? undefined
      const to = live(next(from, point))
      if (known++ === maxKnown) {
        for (const position of filled.splice(0)) position.to.clear()
        known = 1
      }
      if (from.to.size === 0) filled.push(from)
      from.to.set(point, to ?? null)
      return to
    },
    afterToken(from, symbol, token) {
      const position = matcher.after(from.position, symbol)
      const state = texts.after(from.state, token)
      return position === undefined || state === undefined ? undefined : live(at(position, state))
    },
    canBegin(from, first, last) {
      followed += 1
      if (!matcher.canBegin(from.position, first, last)) return false
      const own = within(first, last)
      if (own.length > Math.min(maxPoints, left)) return true
      left -= own.length
      if (own.some((point) => live(next(from, point)) !== undefined)) return true
      const spread = matcher.spread(from.position, withoutPoints(own, first, last))
      return spread === undefined || spread.to.some((position) => isLive(at(position, 0)))
    },
    isOver: (from) => successorsOf(from)?.every((successor) => !isLive(successor)) ?? false,
    safe(from) {
      from.safe ??= safeFrom(from)
      return from.safe
    },
    hasGivenUp: (from) => left <= 0 || followed > maxFollowed || successorsOf(from) === null,
  }
}
