import { isWhiteSpace, meets, meetsOther, meetsSome, piecesOf } from './code-point-ranges.ts'
import type { CompiledGrammar } from './compiled-grammar.ts'
import { fewer, type Node, type Rule, readNode } from './grammar-nodes.ts'

/**
 * Follows a text through a grammar, code point by code point. A position is everything that may come next. Equal
 * positions are the same object, and each caches where its code points lead, so that following a known path costs a
 * look-up.
 */
export interface GrammarMatcher {
  readonly start: Position
  /** Undefined if nothing in the grammar continues with this code point. */
  after(position: Position, point: number): Position | undefined
  /** Whether some code point of this range may come next, not counting those that are taken. */
  canBegin(position: Position, first: number, last: number, isTaken?: (point: number) => boolean): boolean
  /** Where the code points of these ranges lead; undefined if that would take long to compute. */
  spread(position: Position, ranges: readonly number[]): Spread | undefined
  /** The position without the ways that continue with one of these ranges; undefined if nothing is left. */
  without(position: Position, ranges: readonly number[]): Position | undefined
  /** The position of everything that may come next at either of the two. */
  either(left: Position, right: Position): Position
  /** How many steps it took to find everything that may come next. */
  stepsTo(position: Position): number
  /** Some code points that may come next. */
  pointsOf(position: Position, most: number): number[]
  /** The ranges of code points that may come next. */
  rangesOf(position: Position): readonly (readonly number[])[]
  /** The only code point that may come next, with `orSpace` apart from white space; undefined if there are several, or none. */
  onlyPoint(position: Position, orSpace?: 'orSpace'): number | undefined
  /** The code points from `first` on that may come next, each of which is a range of its own. */
  pointsFrom(position: Position, first: number): number[]
}

export interface Position {
  /** The text so far is a text of the grammar. */
  readonly isComplete: boolean
  /** No text can follow. */
  readonly isOver: boolean
}

interface Spread {
  readonly to: readonly Position[]
  /** Each code point leads somewhere. */
  readonly isTotal: boolean
}

interface OpenPosition extends Position {
  readonly rests: readonly PointRest[]
  readonly steps: number
  readonly ascii: (OpenPosition | null | undefined)[]
  /** Where it leads, by the rests that continue, as bits; there are far fewer of these combinations than characters. */
  readonly ways: Map<number, OpenPosition>
  /** By character, if there are more rests than bits. */
  readonly others: Map<number, OpenPosition | null>
}

/** What is still to be read, as a list whose tails are shared: equal rests are the same object. */
interface Rest {
  readonly id: number
  /** Undefined if nothing is left, or if one of several rests follows. */
  readonly node: Node | undefined
  readonly next: Rest | undefined
  /** The rests of which one follows: all that were waiting for the end of the same rule. */
  readonly either: readonly Rest[] | undefined
  readonly before: Map<Node, Rest>
}

type PointRest = Rest & { readonly node: Extract<Node, { kind: 'point' }>; readonly next: Rest }

/**
 * For one position. The grammar of a schema stays below it however deeply a text is nested, because everything that waits
 * for the same rule waits together. If a caller's grammar is so ambiguous that a long text exceeds it, the remaining ways
 * are not followed: fewer texts are possible, but each still fits.
 */
const maxSteps = 50_000
/** If more than this is cached, the cache is cleared and starts again. */
const maxCachedPositions = 100_000
/** How many rests can be told apart by the bits of a number. */
const maxBits = 31

interface MatcherOptions {
  maxSteps?: number
  /** Marks are treated as the empty text. */
  withoutMarks?: boolean
  /** Is called with the number of steps that each position takes. */
  spend?: (steps: number) => void
}

export function createMatcher(
  grammar: CompiledGrammar,
  { maxSteps: most = maxSteps, withoutMarks = false, spend }: MatcherOptions = {},
): GrammarMatcher {
  const nodes: (Node | undefined)[] = []
  const points = new Map<number, Node>()
  let ids = 0
  let remembered = 0
  let positions = new Map<string, OpenPosition>()
  let unions = new Map<string, Rest>()
  const end: Rest = { id: ids++, node: undefined, next: undefined, either: undefined, before: new Map() }

  function nodeAt(number: number): Node {
    nodes[number] ??= readNode(grammar, number, nodeAt, withoutMarks)
    return nodes[number]
  }

  function before(node: Node, next: Rest): Rest {
    const known = next.before.get(node)
    if (known !== undefined) return known
    const rest: Rest = { id: ids++, node, next, either: undefined, before: new Map() }
    next.before.set(node, rest)
    remembered++
    return rest
  }

  /** What follows a rule that several rests wait for. */
  function either(rests: readonly Rest[]): Rest {
    const all = new Set(rests)
    // Rests that are part of another one are already covered.
    for (const rest of rests) for (const inner of rest.either ?? []) all.delete(inner)
    const sorted = [...all].sort((a, b) => a.id - b.id)
    if (sorted.length === 1) return sorted[0] as Rest
    const key = sorted.map(({ id }) => id).join()
    const known = unions.get(key)
    if (known !== undefined) return known
    const rest: Rest = { id: ids++, node: undefined, next: undefined, either: sorted, before: new Map() }
    unions.set(key, rest)
    remembered += 1 + sorted.length
    return rest
  }

  function forget(): void {
    for (const position of positions.values()) {
      position.ascii.length = 0
      position.ways.clear()
      position.others.clear()
    }
    positions = new Map()
    unions = new Map()
    end.before.clear()
    remembered = 0
  }

  /** The position of everything that may come next where one of these rests begins. */
  function positionOf(rests: readonly Rest[]): OpenPosition {
    if (remembered > maxCachedPositions) forget()
    const found: PointRest[] = []
    const seen = new Set<Rest>()
    const pending = [...rests]
    const calls: Call[] = []
    let isComplete = false
    let steps = 0
    while (++steps <= most || found.length === 0) {
      const rest = pending.pop()
      if (rest === undefined) {
        // Everything that may begin with this rule is open by now, so all rests that wait for it are known.
        const call = calls.pop()
        if (call === undefined) break
        pending.push(before(nodeAt(call.rule.body), either(call.waiting)))
        continue
      }
      if (seen.has(rest)) continue
      seen.add(rest)
      if (isPoint(rest)) found.push(rest)
      else if (rest.either !== undefined) pending.push(...rest.either)
      else if (rest.node === undefined || rest.next === undefined) isComplete = true
      else if (rest.node.kind === 'rule') {
        addCall(calls, rest.node, rest.next)
        if (rest.node.canBeEmpty) pending.push(rest.next)
      } else open(rest.node, rest.next, pending)
    }
    spend?.(steps)
    found.sort((a, b) => a.id - b.id)
    const key = `${isComplete}${found.map(({ id }) => id).join(',')}`
    const known = positions.get(key)
    if (known !== undefined) return known
    const isOver = isComplete && found.length === 0
    const position: OpenPosition = {
      isComplete,
      isOver,
      rests: found,
      steps,
      ascii: [],
      ways: new Map(),
      others: new Map(),
    }
    positions.set(key, position)
    remembered += 2 + found.length
    return position
  }

  function open(node: Exclude<Node, Rule>, next: Rest, pending: Rest[]): void {
    switch (node.kind) {
      case 'empty':
        pending.push(next)
        return
      case 'any':
        for (const inner of node.of) pending.push(before(nodeAt(inner), next))
        return
      case 'pair':
        pending.push(before(nodeAt(node.first), before(nodeAt(node.second), next)))
        return
      case 'literal': {
        const { text, at } = node
        const point = text.codePointAt(at) ?? 0
        const after = at + (point > 0xffff ? 2 : 1)
        if (after < text.length) node.further ??= { kind: 'literal', text, at: after, further: undefined }
        pending.push(before(pointOf(point), node.further === undefined ? next : before(node.further, next)))
        return
      }
      case 'repetition':
        if (node.min === 0) pending.push(next)
        if (node.max > 0) pending.push(before(node.of, node.max === 1 ? next : before(fewer(node), next)))
    }
  }

  function pointOf(point: number): Node {
    const known = points.get(point)
    if (known !== undefined) return known
    const node: Node = { kind: 'point', ranges: [point, point] }
    points.set(point, node)
    return node
  }

  function follow(position: OpenPosition, point: number): OpenPosition | null {
    const { rests, ways, others } = position
    if (rests.length > maxBits) {
      const known = others.get(point)
      if (known !== undefined) return known
      const met = rests.filter(({ node }) => meets(node.ranges, point, point))
      const to = met.length === 0 ? null : positionOf(met.map(({ next }) => next))
      others.set(point, to)
      remembered++
      return to
    }
    let met = 0
    for (let at = 0; at < rests.length; at++) {
      if (meets((rests[at] as PointRest).node.ranges, point, point)) met |= 1 << at
    }
    if (met === 0) return null
    const known = ways.get(met)
    if (known !== undefined) return known
    const to = positionOf(rests.filter((_, at) => met & (1 << at)).map(({ next }) => next))
    ways.set(met, to)
    remembered++
    return to
  }

  function after(from: OpenPosition, point: number): OpenPosition | null {
    if (point >= 128) return follow(from, point)
    let to = from.ascii[point]
    if (to === undefined) {
      to = follow(from, point)
      from.ascii[point] = to
    }
    return to
  }

  return {
    start: positionOf([before(nodeAt(grammar.start), end)]),
    after: (position, point) => after(position as OpenPosition, point) ?? undefined,
    canBegin: (position, first, last, isTaken) =>
      (position as OpenPosition).rests.some(({ node }) =>
        isTaken === undefined
          ? meets(node.ranges, first, last)
          : meetsOther(node.ranges, first, last, isTaken),
      ),
    spread(position, ranges) {
      const from = position as OpenPosition
      const pieces = piecesOf(
        from.rests.map(({ node }) => node.ranges),
        ranges,
      )
      if (pieces === undefined) return undefined
      const to = new Set<Position>()
      let isTotal = true
      for (const point of pieces) {
        const next = after(from, point)
        if (next === null) isTotal = false
        else to.add(next)
      }
      return { to: [...to], isTotal }
    },
    without(position, taken) {
      const { rests, isComplete } = position as OpenPosition
      const left = rests.filter(({ node: { ranges } }) => !meetsSome(ranges, taken))
      if (left.length === rests.length) return position
      return left.length === 0 && !isComplete ? undefined : positionOf(isComplete ? [...left, end] : left)
    },
    either(left, right) {
      if (left === right) return left
      const both = [left as OpenPosition, right as OpenPosition]
      const isComplete = both.some((position) => position.isComplete)
      const rests = both.flatMap((position): readonly Rest[] => position.rests)
      return positionOf(isComplete ? [...rests, end] : rests)
    },
    stepsTo: (position) => (position as OpenPosition).steps,
    pointsOf(position, most) {
      const points = new Set<number>()
      for (const { node } of (position as OpenPosition).rests) {
        for (let at = 0; at < Math.min(4, node.ranges.length); at += 2) points.add(node.ranges[at] as number)
        if (points.size >= most) break
      }
      return [...points]
    },
    rangesOf: (position) => (position as OpenPosition).rests.map(({ node: { ranges } }) => ranges),
    onlyPoint(position, orSpace) {
      let only: number | undefined
      for (const { node } of (position as OpenPosition).rests) {
        const { ranges } = node
        if (orSpace && isWhiteSpace(ranges)) continue
        const [first, last] = ranges
        if (ranges.length !== 2 || first !== last || (only !== undefined && only !== first)) return undefined
        only = first
      }
      return only
    },
    pointsFrom: (position, first) => [
      ...new Set(
        (position as OpenPosition).rests.flatMap(({ node: { ranges } }) => {
          const point = ranges.at(-1) ?? 0
          return point >= first ? [point] : []
        }),
      ),
    ],
  }
}

function isPoint(rest: Rest): rest is PointRest {
  return rest.node?.kind === 'point'
}

/** A rule that may begin here, and what waits for its end. */
interface Call {
  readonly rule: Rule
  readonly waiting: Rest[]
}

/** Sorted by falling rank, so that the last is one that no other may begin with. */
function addCall(calls: Call[], rule: Rule, next: Rest): void {
  let low = 0
  let high = calls.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((calls[middle] as Call).rule.rank > rule.rank) low = middle + 1
    else high = middle
  }
  const call = calls[low]
  if (call?.rule === rule) call.waiting.push(next)
  else calls.splice(low, 0, { rule, waiting: [next] })
}
