import type { GrammarMatcher, Position } from '../grammar/matcher.ts'
import { type CharacterSet, maxPlainLength } from './vocabulary-slices.ts'

/** The texts that may follow a position and consist only of characters of one set. */
export interface Run {
  /** Any text of up to this many of them is allowed. */
  readonly length: number
  /** Longer texts of these characters are not allowed, or are longer than any token. */
  readonly isAll: boolean
  /** Where these texts lead. */
  readonly positions: readonly Position[]
  /** The most positions to which it was followed. */
  readonly most: number
}

export interface Runs {
  /** A run that leads to more positions than `most` is not followed to its end; only a shorter length is known then. */
  of(position: Position, set: CharacterSet, most: number): Run
}

export function createRuns(matcher: GrammarMatcher): Runs {
  const known = new WeakMap<Position, (Run | undefined)[]>()

  function learnt(position: Position): (Run | undefined)[] {
    let runs = known.get(position)
    if (runs === undefined) {
      runs = []
      known.set(position, runs)
    }
    return runs
  }

  return {
    of(position, { id, ranges }, most) {
      const before = learnt(position)[id]
      if (before !== undefined && (before.isAll || most <= before.most)) return before
      const { run, isClosed } = found(matcher, position, ranges, most)
      // Positions that lead only to one another all have the same run.
      if (isClosed) for (const member of run.positions) learnt(member)[id] = run
      learnt(position)[id] = run
      return run
    },
  }
}

function found(
  matcher: GrammarMatcher,
  from: Position,
  ranges: readonly number[],
  most: number,
): { run: Run; isClosed: boolean } {
  const positions = new Set([from])
  let level = [from]
  let isNew = true
  let isClosed = false
  for (let length = 0; length < maxPlainLength && !isClosed; length++) {
    const next = new Set<Position>()
    let isEnd = isNew
    let isTotal = true
    for (const position of level) {
      const spread = matcher.spread(position, ranges)
      if (spread === undefined || spread.to.length > 0) isEnd = false
      if (spread?.isTotal !== true) isTotal = false
      else for (const target of spread.to) next.add(target)
    }
    if (!isTotal) return { run: { length, isAll: isEnd, positions: [...positions], most }, isClosed }
    isNew = !next.values().some((position) => positions.has(position))
    level = [...next].filter((position) => !positions.has(position))
    for (const position of level) positions.add(position)
    if (positions.size > most)
      return { run: { length: length + 1, isAll: false, positions: [], most }, isClosed }
    isClosed = level.length === 0
  }
  return { run: { length: maxPlainLength, isAll: true, positions: [...positions], most }, isClosed }
}
