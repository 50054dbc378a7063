import type { Expr, Grammar, Range } from './gbnf.ts'

/**
 * Follows a text through a grammar, code point by code point. A place is all that may come next; equal places are the
 * same object, and each remembers where its code points lead, so that what has been followed once costs a look-up.
 */
export interface Following {
  readonly start: Place
  /** Undefined when nothing of the grammar goes on with this code point. */
  after(place: Place, point: number): Place | undefined
  /** Whether some code point of this range may come next. */
  canBegin(place: Place, first: number, last: number): boolean
}

export interface Place {
  /** The text so far is one of the grammar. */
  readonly isComplete: boolean
  /** No text can follow. */
  readonly isOver: boolean
}

interface OpenPlace extends Place {
  readonly rests: readonly PointRest[]
  readonly ascii: (OpenPlace | null | undefined)[]
  readonly others: Map<number, OpenPlace | null>
}

type Node =
  | { readonly kind: 'point'; readonly ranges: readonly Range[] }
  | { readonly kind: 'all'; readonly of: readonly Node[] }
  | { readonly kind: 'any'; readonly of: readonly Node[] }
  | Times
  | { readonly kind: 'rule'; readonly name: string }

interface Times {
  readonly kind: 'times'
  readonly of: Node
  readonly min: number
  readonly max: number
  /** The same when one has been read; made when it is needed. */
  fewer: Times | undefined
}

/** What is still to be read, as a list whose ends are shared: equal rests are the same object. */
interface Rest {
  readonly id: number
  readonly node: Node | undefined
  readonly next: Rest | undefined
  readonly before: Map<Node, Rest>
}

type PointRest = Rest & { readonly node: Extract<Node, { kind: 'point' }>; readonly next: Rest }

/** The compiler refuses grammars that are so ambiguous; it is looked at again, because nobody could stop what runs here. */
const mostRests = 50_000
/** When more is remembered than this, everything is forgotten and begins anew. */
const mostRemembered = 400_000

export function createFollowing(grammar: Grammar): Following {
  const rules = new Map(Array.from(grammar.rules, ([name, expr]) => [name, nodeOf(expr)]))
  let ids = 0
  let remembered = 0
  let places = new Map<string, OpenPlace>()
  const end: Rest = { id: ids++, node: undefined, next: undefined, before: new Map() }

  function before(node: Node, next: Rest): Rest {
    const known = next.before.get(node)
    if (known !== undefined) return known
    const rest = { id: ids++, node, next, before: new Map<Node, Rest>() }
    next.before.set(node, rest)
    remembered++
    return rest
  }

  function forget(): void {
    for (const place of places.values()) {
      place.ascii.length = 0
      place.others.clear()
    }
    places = new Map()
    end.before.clear()
    remembered = 0
  }

  /** The place of all that may come next where one of these rests begins. */
  function placeOf(rests: readonly Rest[]): OpenPlace {
    if (remembered > mostRemembered) forget()
    const found: PointRest[] = []
    const seen = new Set<Rest>()
    const pending = [...rests]
    let isComplete = false
    for (let rest = pending.pop(); rest !== undefined; rest = pending.pop()) {
      if (seen.has(rest)) continue
      seen.add(rest)
      if (seen.size > mostRests) throw new Error('there are too many ways to go on in a grammar')
      if (isPoint(rest)) found.push(rest)
      else if (rest.node === undefined || rest.next === undefined) isComplete = true
      else open(rest.node, rest.next, pending)
    }
    found.sort((one, other) => one.id - other.id)
    const key = `${isComplete}${found.map(({ id }) => id).join(',')}`
    const known = places.get(key)
    if (known !== undefined) return known
    const isOver = isComplete && found.length === 0
    const place: OpenPlace = { isComplete, isOver, rests: found, ascii: [], others: new Map() }
    places.set(key, place)
    remembered += 2 + found.length
    return place
  }

  function open(node: Node, next: Rest, pending: Rest[]): void {
    switch (node.kind) {
      case 'rule':
        pending.push(before(ruleOf(node.name), next))
        return
      case 'any':
        for (const one of node.of) pending.push(before(one, next))
        return
      case 'all':
        pending.push(node.of.reduceRight((rest, one) => before(one, rest), next))
        return
      case 'times':
        if (node.min === 0) pending.push(next)
        if (node.max > 0) pending.push(before(node.of, node.max === 1 ? next : before(fewer(node), next)))
    }
  }

  function ruleOf(name: string): Node {
    const node = rules.get(name)
    if (node === undefined) throw new Error(`the grammar has no rule ${name}`)
    return node
  }

  function follow(place: OpenPlace, point: number): OpenPlace | null {
    const rests = place.rests.filter(({ node }) => meets(node.ranges, point, point))
    remembered++
    return rests.length === 0 ? null : placeOf(rests.map(({ next }) => next))
  }

  return {
    start: placeOf([before(ruleOf('root'), end)]),
    after(place, point) {
      const from = place as OpenPlace
      const known = point < 128 ? from.ascii[point] : from.others.get(point)
      if (known !== undefined) return known ?? undefined
      const to = follow(from, point)
      if (point < 128) from.ascii[point] = to
      else from.others.set(point, to)
      return to ?? undefined
    },
    canBegin: (place, first, last) =>
      (place as OpenPlace).rests.some(({ node }) => meets(node.ranges, first, last)),
  }
}

function isPoint(rest: Rest): rest is PointRest {
  return rest.node?.kind === 'point'
}

/** A repetition without end is its own rest, once it has been read as often as it must. */
function fewer(node: Times): Times {
  if (node.min === 0 && node.max === Number.POSITIVE_INFINITY) return node
  node.fewer ??= {
    kind: 'times',
    of: node.of,
    min: Math.max(0, node.min - 1),
    max: node.max - 1,
    fewer: undefined,
  }
  return node.fewer
}

/** The ranges ascend. */
function meets(ranges: readonly Range[], first: number, last: number): boolean {
  let low = 0
  let high = ranges.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ranges[middle] as Range)[1] < first) low = middle + 1
    else high = middle
  }
  const range = ranges[low]
  return range !== undefined && range[0] <= last
}

function nodeOf(expr: Expr): Node {
  switch (expr.kind) {
    case 'class':
      return { kind: 'point', ranges: expr.ranges }
    case 'literal': {
      const points = Array.from(expr.text, (character) => pointOf(character.codePointAt(0) ?? 0))
      return points.length === 1 && points[0] !== undefined ? points[0] : { kind: 'all', of: points }
    }
    case 'sequence':
      return { kind: 'all', of: expr.of.map(nodeOf) }
    case 'alternatives':
      return { kind: 'any', of: expr.of.map(nodeOf) }
    case 'repetition':
      return {
        kind: 'times',
        of: nodeOf(expr.of),
        min: expr.min,
        max: expr.max ?? Number.POSITIVE_INFINITY,
        fewer: undefined,
      }
    case 'rule':
      return expr
  }
}

function pointOf(point: number): Node {
  return { kind: 'point', ranges: [[point, point]] }
}
