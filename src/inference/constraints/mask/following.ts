import type { Expr, Range } from '../grammar/expressions.ts'
import type { WrittenGrammar } from '../grammar/written-grammar.ts'

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
  /** Where it leads by which of the rests go on, as bits; there are far fewer ways than characters. */
  readonly ways: Map<number, OpenPlace>
  /** By character, where there are more rests than bits. */
  readonly others: Map<number, OpenPlace | null>
}

type Node =
  | { readonly kind: 'point'; readonly ranges: readonly Range[] }
  | Text
  | All
  | { readonly kind: 'any'; readonly parts: Parts }
  | Times
  | { readonly kind: 'rule'; readonly name: string }

/** A literal from this place on. */
interface Text {
  readonly kind: 'text'
  readonly text: string
  readonly at: number
  /** From the next character on; made when it is needed. */
  further: Text | undefined
}

/** A sequence from this part on. */
interface All {
  readonly kind: 'all'
  readonly parts: Parts
  readonly at: number
  further: All | undefined
}

/** Each becomes a node when somebody comes to it. */
interface Parts {
  readonly exprs: readonly Expr[]
  readonly nodes: (Node | undefined)[]
}

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
/** Of the numbers that are bits of what they tell. */
const mostBits = 31

export function createFollowing(grammar: WrittenGrammar): Following {
  const rules = new Map<string, Node>()
  const points = new Map<number, Node>()
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
      place.ways.clear()
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
    const place: OpenPlace = {
      isComplete,
      isOver,
      rests: found,
      ascii: [],
      ways: new Map(),
      others: new Map(),
    }
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
        for (const at of node.parts.exprs.keys()) pending.push(before(part(node.parts, at), next))
        return
      case 'all': {
        const { parts, at } = node
        if (at === parts.exprs.length) pending.push(next)
        else if (at === parts.exprs.length - 1) pending.push(before(part(parts, at), next))
        else {
          node.further ??= { kind: 'all', parts, at: at + 1, further: undefined }
          pending.push(before(part(parts, at), before(node.further, next)))
        }
        return
      }
      case 'text': {
        const { text, at } = node
        const point = text.codePointAt(at) ?? 0
        const after = at + (point > 0xffff ? 2 : 1)
        if (after < text.length) node.further ??= { kind: 'text', text, at: after, further: undefined }
        pending.push(before(pointOf(point), node.further === undefined ? next : before(node.further, next)))
        return
      }
      case 'times':
        if (node.min === 0) pending.push(next)
        if (node.max > 0) pending.push(before(node.of, node.max === 1 ? next : before(fewer(node), next)))
    }
  }

  function pointOf(point: number): Node {
    const known = points.get(point)
    if (known !== undefined) return known
    const node: Node = { kind: 'point', ranges: [[point, point]] }
    points.set(point, node)
    return node
  }

  function ruleOf(name: string): Node {
    const known = rules.get(name)
    if (known !== undefined) return known
    const expr = grammar.rule(name)
    if (expr === undefined) throw new Error(`the grammar has no rule ${name}`)
    const node = nodeOf(expr)
    rules.set(name, node)
    return node
  }

  function follow(place: OpenPlace, point: number): OpenPlace | null {
    const { rests, ways, others } = place
    if (rests.length > mostBits) {
      const known = others.get(point)
      if (known !== undefined) return known
      const met = rests.filter(({ node }) => meets(node.ranges, point, point))
      const to = met.length === 0 ? null : placeOf(met.map(({ next }) => next))
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
    const to = placeOf(rests.filter((_, at) => met & (1 << at)).map(({ next }) => next))
    ways.set(met, to)
    remembered++
    return to
  }

  return {
    start: placeOf([before(ruleOf('root'), end)]),
    after(place, point) {
      const from = place as OpenPlace
      if (point >= 128) return follow(from, point) ?? undefined
      const known = from.ascii[point]
      if (known !== undefined) return known ?? undefined
      const to = follow(from, point)
      from.ascii[point] = to
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
    case 'literal':
      return { kind: 'text', text: expr.text, at: 0, further: undefined }
    case 'sequence':
      return { kind: 'all', parts: { exprs: expr.of, nodes: [] }, at: 0, further: undefined }
    case 'alternatives':
      return { kind: 'any', parts: { exprs: expr.of, nodes: [] } }
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

function part({ exprs, nodes }: Parts, at: number): Node {
  nodes[at] ??= nodeOf(exprs[at] as Expr)
  return nodes[at]
}
