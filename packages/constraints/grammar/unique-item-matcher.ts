import { parseLossless } from '../../json/index.ts'
import { canonicalOf } from '../schema/values.ts'
import type { CompiledGrammar } from './compiled-grammar.ts'
import { lastText, type Mark, markOf } from './marks.ts'
import { createMatcher, type Position } from './matcher.ts'

/**
 * Follows a text through a grammar with marks, and remembers what is written between them. An item that equals an earlier
 * one is not a text of the grammar, and ways that lead only to such items are not continued. So no answer repeats an
 * item, and none gets stuck. Items with equal values are written alike (`canonical` in the schema's emission), so texts
 * are compared.
 */
export interface UniqueItemMatcher {
  readonly start: UniqueItemPosition
  after(from: UniqueItemPosition, point: number): UniqueItemPosition | undefined
  /** Whether some code point of this range may come next. */
  canBegin(from: UniqueItemPosition, first: number, last: number): boolean
  /** The same position without the ways that continue with one of these ranges; undefined if nothing is left. */
  without(from: UniqueItemPosition, ranges: readonly number[]): UniqueItemPosition | undefined
  /** The position of everything that may come next at either of the two. */
  either(left: UniqueItemPosition, right: UniqueItemPosition): UniqueItemPosition
  /** The ranges of code points that may come next, and some of those that would repeat something. */
  rangesOf(from: UniqueItemPosition): readonly (readonly number[])[]
}

export interface UniqueItemPosition extends Position {
  /** The ways that are open, each with what it remembers. */
  readonly ways: readonly Way[]
  /** Where the text would lead if it repeated something. */
  readonly lost: readonly Position[]
  /** No item that is open now can become a repetition before another item begins. */
  readonly isFree: boolean
}

interface Way {
  readonly at: Position
  readonly set: OpenSet | undefined
}

interface OpenSet {
  /** What was written, in canonical form: equal values have the same text. */
  readonly seen: readonly string[]
  readonly item: Item | undefined
  readonly outer: OpenSet | undefined
}

interface Item {
  readonly text: string
  /** Earlier items that begin as this one does. */
  readonly alike: readonly string[]
  readonly quoting: Place
  /** What was written of an object whose members come in any order. */
  readonly loose: string | undefined
}

/** White space counts within strings only. */
export type Place = 'outside' | 'string' | 'escape'

/** Ways to read a text; if a grammar has more, the others are not followed. */
const maxWays = 64
/** Of the items of one set: one step for each that could be repeated. */
const maxSteps = 100_000
const none: readonly string[] = []
const spaces = [0x20, 0x0a, 0x09, 0x0d]

/** `spend` is called with the steps that are taken. */
export function createUniqueItemMatcher(
  grammar: CompiledGrammar,
  spend: (steps: number) => void = () => {},
): UniqueItemMatcher {
  const matcher = createMatcher(grammar, { spend })
  const known = new WeakMap<Position, readonly { mark: Mark; to: Position }[]>()
  /** Positions at which nothing is remembered. */
  const outside = new WeakMap<Position, UniqueItemPosition | null>()

  function marksAt(at: Position): readonly { mark: Mark; to: Position }[] {
    const before = known.get(at)
    if (before !== undefined) return before
    const found = matcher.pointsFrom(at, lastText + 1).flatMap((point) => {
      const [mark, to] = [markOf(point), matcher.after(at, point)]
      return mark === undefined || to === undefined ? [] : [{ mark, to }]
    })
    known.set(at, found)
    return found
  }

  /** The position of everything that is open where these ways lead, after every mark that they can pass. */
  function remembered(next: readonly Way[], lostBefore: readonly Position[]): UniqueItemPosition | undefined {
    const [only] = next
    if (next.length > 1 || only === undefined || only.set !== undefined || lostBefore.length > 0) {
      return found(next, lostBefore)
    }
    let at = outside.get(only.at)
    if (at === undefined) {
      at = found(next, lostBefore) ?? null
      outside.set(only.at, at)
    }
    return at ?? undefined
  }

  function found(next: readonly Way[], lostBefore: readonly Position[]): UniqueItemPosition | undefined {
    const ways: Way[] = []
    const lost = new Set<Position>()
    const pending = [...next]
    for (let way = pending.pop(); way !== undefined; way = pending.pop()) {
      if (ways.length === maxWays) break
      if (hasText(way.at)) {
        if (canGoOn(way)) ways.push(way)
        else lost.add(way.at)
      }
      for (const { mark, to } of marksAt(way.at)) {
        const set = passed(way.set, mark)
        if (set === 'repeated') lose(to, lost)
        else pending.push({ at: to, set })
      }
    }
    if (ways.length === 0) return undefined
    for (const at of lostBefore) lose(at, lost)
    return settled(ways, lost)
  }

  function settled(ways: readonly Way[], lost: ReadonlySet<Position>): UniqueItemPosition {
    const isComplete = ways.some(({ at }) => at.isComplete)
    return {
      ways,
      lost: [...lost],
      isComplete,
      isOver: isComplete && ways.every(({ at }) => at.isOver),
      isFree: lost.size === 0 && ways.every(({ set }) => set?.item === undefined || !isAlike(set.item)),
    }
  }

  /** Adds the position, and everything after the marks that it can pass. */
  function lose(at: Position, lost: Set<Position>): void {
    if (lost.has(at) || lost.size >= maxWays) return
    if (hasText(at)) lost.add(at)
    for (const { to } of marksAt(at)) lose(to, lost)
  }

  /** Whether anything but marks may come next. */
  function hasText(at: Position): boolean {
    return at.isComplete || matcher.canBegin(at, 0, lastText)
  }

  /** Whether some continuation repeats nothing in its set. */
  function canGoOn({ at, set }: Way): boolean {
    return set?.item === undefined || !isAlike(set.item) || hasNew(at, set.item)
  }

  function hasNew(from: Position, begun: Item): boolean {
    const pending: { at: Position; item: Item }[] = [{ at: from, item: begun }]
    const spaced = new Map<readonly string[], Set<Position>>()
    for (let steps = 0; steps < maxSteps; steps++) {
      const open = pending.pop()
      if (open === undefined) return false
      const { at, item } = open
      const { text, alike } = item
      spend(1 + alike.length)
      for (const { mark } of marksAt(at)) {
        if (mark === 'loose') return true
        if (mark === 'done' && !alike.includes(text)) return true
      }
      const further = new Set<number>()
      for (const earlier of alike) {
        const point = earlier.codePointAt(text.length)
        if (point !== undefined) further.add(point)
      }
      const isSpace = (point: number) => item.quoting === 'outside' && spaces.includes(point)
      const isTaken = (point: number) => further.has(point) || isSpace(point)
      if (matcher.canBegin(at, 0, lastText, isTaken)) return true
      steps += further.size
      for (const point of further) {
        const next = matcher.after(at, point)
        if (next !== undefined) pending.push({ at: next, item: written(item, point) })
      }
      if (item.quoting !== 'outside') continue
      const before = spaced.get(alike) ?? new Set<Position>()
      spaced.set(alike, before)
      for (const point of spaces) {
        const next = matcher.after(at, point)
        if (next === undefined || before.has(next)) continue
        before.add(next)
        pending.push({ at: next, item })
      }
    }
    return false
  }

  const start = remembered([{ at: matcher.start, set: undefined }], [])
  if (start === undefined) throw new Error('the grammar accepts no text')

  function after(from: UniqueItemPosition, point: number): UniqueItemPosition | undefined {
    const ways: Way[] = []
    for (const { at, set } of from.ways) {
      const to = matcher.after(at, point)
      if (to === undefined) continue
      spend(1 + (set?.item?.alike.length ?? 0))
      ways.push({ at: to, set: withPoint(set, point) })
    }
    if (ways.length === 0) return undefined
    const lost = from.lost.flatMap((at) => matcher.after(at, point) ?? [])
    return remembered(ways, lost)
  }

  return {
    start,
    after,
    canBegin(from, first, last) {
      const isTaken = from.isFree ? undefined : (point: number) => after(from, point) === undefined
      return from.ways.some(({ at }) => matcher.canBegin(at, first, last, isTaken))
    },
    rangesOf: ({ ways }) => ways.flatMap(({ at }) => matcher.rangesOf(at)),
    without(from, ranges) {
      const left = (at: Position) => {
        const to = matcher.without(at, ranges)
        return to !== undefined && hasText(to) ? [to] : []
      }
      const ways = from.ways.flatMap(({ at, set }) => left(at).map((to) => ({ at: to, set }))).filter(canGoOn)
      return ways.length === 0 ? undefined : settled(ways, new Set(from.lost.flatMap(left)))
    },
    either(left, right) {
      const isNew = ({ at, set }: Way) => !left.ways.some((way) => way.at === at && way.set === set)
      const ways = [...left.ways, ...right.ways.filter(isNew)].slice(0, maxWays)
      return settled(ways, new Set([...left.lost, ...right.lost].slice(0, maxWays)))
    },
  }
}

/** What is remembered after a mark. */
function passed(set: OpenSet | undefined, mark: Mark): OpenSet | undefined | 'repeated' {
  if (mark === 'open') return { seen: none, item: undefined, outer: set }
  if (set === undefined) throw new Error(`the mark ${mark} is in no set`)
  const { seen, item, outer } = set
  if (mark === 'close') return outer
  if (mark === 'item') {
    return { seen, item: { text: '', alike: seen, quoting: 'outside', loose: undefined }, outer }
  }
  if (item === undefined) throw new Error(`the mark ${mark} is in no item`)
  switch (mark) {
    case 'done':
      return item.alike.includes(item.text)
        ? 'repeated'
        : { seen: [...seen, item.text], item: undefined, outer }
    case 'loose':
      return { ...set, item: { ...item, loose: '' } }
    case 'tight': {
      const text = item.text + canonicalOf(parseLossless(item.loose ?? ''))
      const alike = item.alike.filter((earlier) => earlier.startsWith(text))
      return { ...set, item: { text, alike, quoting: 'outside', loose: undefined } }
    }
  }
}

/** Sets nest within items only where these are loose. */
function withPoint(set: OpenSet | undefined, point: number): OpenSet | undefined {
  if (set === undefined) return undefined
  const item = set.item && written(set.item, point)
  const outer = withPoint(set.outer, point)
  return item === set.item && outer === set.outer ? set : { ...set, item, outer }
}

function written(item: Item, point: number): Item {
  const character = String.fromCodePoint(point)
  if (item.loose !== undefined) return { ...item, loose: item.loose + character }
  if (item.quoting === 'outside' && spaces.includes(point)) return item
  const { text, alike } = item
  return {
    text: text + character,
    alike: alike.length === 0 ? none : alike.filter((earlier) => earlier.startsWith(character, text.length)),
    quoting: placeAfter(item.quoting, character),
    loose: undefined,
  }
}

export function placeAfter(quoting: Place, character: string): Place {
  if (quoting === 'escape') return 'string'
  if (character === '"') return quoting === 'string' ? 'outside' : 'string'
  return quoting === 'string' && character === '\\' ? 'escape' : quoting
}

/** It may still become equal to an earlier item. */
function isAlike({ loose, alike }: Item): boolean {
  return loose === undefined && alike.length > 0
}
