import type { Budget } from '../grammar/budget.ts'

/**
 * A finite automaton over code points. It decides exactly whether two demands on a text can be met together (a pattern
 * and a length, a format and a forbidden value). Deterministic; state 0 is the start, and an accepted text can be reached
 * from every state. Without states it accepts nothing.
 */
export interface Automaton {
  /** By state: disjoint and in ascending order. */
  readonly edges: readonly (readonly Edge[])[]
  readonly accepting: readonly boolean[]
}

export interface Edge {
  readonly from: number
  readonly to: number
  readonly target: number
}

const lastCodePoint = 0x10ffff
/** Every code point that UTF-8 can encode: all but the surrogates. */
export const everyCodePoint = [
  [0, 0xd7ff],
  [0xe000, lastCodePoint],
] as const

const nothing: Automaton = { edges: [], accepting: [] }

/** All texts of `min` to `max` code points. */
export function lengths(min: number, max: number, budget: Budget): Automaton {
  const isOpen = max === Number.POSITIVE_INFINITY
  const states = (isOpen ? min : max) + 1
  budget.spend(states)
  const edges: Edge[][] = []
  for (let state = 0; state < states; state++) {
    const next = state + 1 < states ? state + 1 : isOpen ? state : undefined
    edges.push(next === undefined ? [] : everyCodePoint.map(([from, to]) => ({ from, to, target: next })))
  }
  return trimmed(
    edges,
    edges.map((_, state) => state >= min),
  )
}

/** Exactly these texts. */
export function texts(words: readonly string[], budget: Budget): Automaton {
  const nodes: Map<number, number>[] = [new Map()]
  const accepting = [false]
  for (const word of words) {
    let state = 0
    for (const character of word) {
      const point = character.codePointAt(0) ?? 0
      const known = nodes[state]?.get(point)
      if (known !== undefined) {
        state = known
        continue
      }
      budget.spend(1)
      nodes[state]?.set(point, nodes.length)
      state = nodes.length
      nodes.push(new Map())
      accepting.push(false)
    }
    accepting[state] = true
  }
  const edges = nodes.map((node) =>
    [...node].map(([point, target]) => ({ from: point, to: point, target })).sort((a, b) => a.from - b.from),
  )
  return trimmed(edges, accepting)
}

export function intersection(left: Automaton, right: Automaton, budget: Budget): Automaton {
  return product(left, right, (a, b) => a && b, false, budget)
}

/** What the left accepts and the right does not. */
export function difference(left: Automaton, right: Automaton, budget: Budget): Automaton {
  return product(left, right, (a, b) => a && !b, true, budget)
}

export function union(left: Automaton, right: Automaton, budget: Budget): Automaton {
  const all = lengths(0, Number.POSITIVE_INFINITY, budget)
  return difference(all, difference(difference(all, left, budget), right, budget), budget)
}

export function isEmpty(automaton: Automaton): boolean {
  return automaton.accepting.length === 0
}

export function accepts(automaton: Automaton, text: string): boolean {
  let state = 0
  for (const character of text) {
    const target = step(automaton.edges[state] ?? [], character.codePointAt(0) ?? 0)
    if (target === undefined) return false
    state = target
  }
  return automaton.accepting[state] ?? false
}

/** All texts that it accepts, if there are at most `most`. */
export function wordsOf(automaton: Automaton, most: number): string[] | undefined {
  const words: string[] = []
  const pending: { state: number; text: string }[] = isEmpty(automaton) ? [] : [{ state: 0, text: '' }]
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    // A word longer than the number of states has gone round a loop.
    if (at.text.length > 2 * automaton.accepting.length) return undefined
    if (automaton.accepting[at.state]) words.push(at.text)
    for (const { from, to, target } of automaton.edges[at.state] ?? []) {
      if (to - from >= most) return undefined
      for (let point = from; point <= to; point++) {
        pending.push({ state: target, text: at.text + String.fromCodePoint(point) })
      }
    }
    if (words.length > most || pending.length > 4 * most) return undefined
  }
  return words.sort()
}

function step(edges: readonly Edge[], point: number): number | undefined {
  let low = 0
  let high = edges.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const edge = edges[middle] as Edge
    if (point < edge.from) high = middle - 1
    else if (point > edge.to) low = middle + 1
    else return edge.target
  }
  return undefined
}

/** A right state of -1 means that the right accepts nothing from here on. */
function product(
  left: Automaton,
  right: Automaton,
  accept: (left: boolean, right: boolean) => boolean,
  rightMayFail: boolean,
  budget: Budget,
): Automaton {
  if (isEmpty(left) || (isEmpty(right) && !rightMayFail)) return nothing
  const width = right.accepting.length + 1
  const numbers = new Map<number, number>()
  const pairs: [number, number][] = []
  const numberOf = (l: number, r: number): number => {
    const key = l * width + r + 1
    const known = numbers.get(key)
    if (known !== undefined) return known
    budget.spend(1)
    numbers.set(key, pairs.length)
    pairs.push([l, r])
    return pairs.length - 1
  }
  numberOf(0, isEmpty(right) ? -1 : 0)
  const edges: Edge[][] = []
  const accepting: boolean[] = []
  for (let state = 0; state < pairs.length; state++) {
    const [l, r] = pairs[state] as [number, number]
    accepting.push(accept(left.accepting[l] ?? false, right.accepting[r] ?? false))
    const out: Edge[] = []
    const others = right.edges[r] ?? []
    let other = 0
    for (const edge of left.edges[l] ?? []) {
      let from = edge.from
      while (other < others.length && (others[other] as Edge).to < from) other++
      for (let at = other; from <= edge.to; at++) {
        const { from: begin, to: end, target } = others[at] ?? { from: Infinity, to: Infinity, target: -1 }
        if (begin > from && rightMayFail) {
          out.push({ from, to: Math.min(edge.to, begin - 1), target: numberOf(edge.target, -1) })
        }
        if (begin > edge.to) break
        const to = Math.min(edge.to, end)
        out.push({ from: Math.max(from, begin), to, target: numberOf(edge.target, target) })
        from = to + 1
      }
    }
    budget.spend(1 + out.length)
    edges.push(out)
  }
  const made = trimmed(edges, accepting)
  // The complement of an automaton needs the same states as the automaton itself, so it is minimal too.
  return rightMayFail && isAll(left) && minimal.has(right) ? least(made) : smallest(made, budget)
}

function isAll({ edges: [out = [], ...others], accepting }: Automaton): boolean {
  return (
    others.length === 0 &&
    accepting[0] === true &&
    out.length === everyCodePoint.length &&
    everyCodePoint.every(([first, last], i) => out[i]?.from === first && out[i]?.to === last)
  )
}

/** Automata that are known to have as few states as possible. */
const minimal = new WeakSet<Automaton>()

function least(automaton: Automaton): Automaton {
  minimal.add(automaton)
  return automaton
}

/** Without the states that lead nowhere or are never reached, and with the start at 0. */
export function trimmed(edges: readonly (readonly Edge[])[], accepting: readonly boolean[]): Automaton {
  const sources = sourcesOf(edges)
  const useful = new Uint8Array(edges.length)
  const ends = accepting.flatMap((yes, state) => (yes ? [state] : []))
  for (const state of ends) useful[state] = 1
  for (let state = ends.pop(); state !== undefined; state = ends.pop()) {
    for (const source of sources[state] ?? []) {
      if (useful[source] === 1) continue
      useful[source] = 1
      ends.push(source)
    }
  }
  if (useful[0] !== 1) return nothing
  const numbers = new Int32Array(edges.length).fill(-1)
  const reached = [0]
  numbers[0] = 0
  for (const state of reached) {
    for (const { target } of edges[state] ?? []) {
      if (useful[target] !== 1 || numbers[target] !== -1) continue
      numbers[target] = reached.length
      reached.push(target)
    }
  }
  return {
    edges: reached.map((state) => renumbered(edges[state] ?? [], numbers)),
    accepting: reached.map((state) => accepting[state] ?? false),
  }
}

/** Renumbers the targets. Edges whose number is -1 are left out, and neighbours with the same target are merged. */
function renumbered(edges: readonly Edge[], numbers: ArrayLike<number>): Edge[] {
  const out: { from: number; to: number; target: number }[] = []
  for (const { from, to, target } of edges) {
    const number = numbers[target] ?? -1
    if (number === -1) continue
    const last = out.at(-1)
    if (last !== undefined && last.target === number && last.to + 1 === from) last.to = to
    else out.push({ from, to, target: number })
  }
  return out
}

function sourcesOf(edges: readonly (readonly Edge[])[]): number[][] {
  const sources: number[][] = edges.map(() => [])
  for (const [state, out] of edges.entries()) {
    for (const { target } of out) {
      const list = sources[target]
      if (list !== undefined && list.at(-1) !== state) list.push(state)
    }
  }
  return sources
}

/** The lengths of the shortest and the longest accepted text. */
export function extent(automaton: Automaton): { shortest: number; longest: number } {
  const longest = restLengths(automaton)[0] ?? -1
  return { shortest: distances(automaton)[0] ?? 0, longest: longest === -1 ? Infinity : longest }
}

/**
 * Minimises by refining a partition. The initial partition already separates states by the shortest and the longest text
 * that they still accept: plain refinement takes a round for each state of a chain, and counted repetitions are chains.
 */
export function smallest(automaton: Automaton, budget: Budget): Automaton {
  const { edges, accepting } = automaton
  if (minimal.has(automaton)) return automaton
  budget.spend(2 * edges.length)
  const shortest = distances(automaton)
  const longest = restLengths(automaton)
  const classes = numbered(accepting.map((yes, state) => `${yes},${shortest[state]},${longest[state]}`))
  refine(classes, edges, budget)
  if (sizeOf(classes) === edges.length) return least(automaton)
  const stateOf = new Map<number, number>()
  for (const [state, own] of classes.entries()) if (!stateOf.has(own)) stateOf.set(own, state)
  const states = [...stateOf.values()]
  const order = new Map([...stateOf.keys()].map((own, number) => [own, number]))
  const numbers = classes.map((own) => order.get(own) ?? -1)
  return least({
    edges: states.map((state) => renumbered(edges[state] ?? [], numbers)),
    accepting: states.map((state) => accepting[state] ?? false),
  })
}

/**
 * Splits classes until the edges of all states of a class lead to the same classes. Only states that lead to one that was
 * split off are looked at again.
 */
function refine(classes: number[], edges: readonly (readonly Edge[])[], budget: Budget): void {
  const sizes: number[] = []
  for (const own of classes) sizes[own] = (sizes[own] ?? 0) + 1
  if (sizes.length === edges.length) return
  const members: number[][] = sizes.map(() => [])
  for (const [state, own] of classes.entries()) members[own]?.push(state)
  const sources = sourcesOf(edges)
  let open = edges.map((_, state) => state)
  while (open.length > 0) {
    budget.spend(open.length)
    const split: number[][] = []
    for (const [own, states] of Map.groupBy(open, (state) => classes[state] ?? 0)) {
      const size = sizes[own] ?? 0
      if (size === 1) continue
      const groups = Map.groupBy(states, (state) => leadsOf(edges[state] ?? [], classes))
      const bySize = [...groups.values()].sort((a, b) => b.length - a.length)
      // The states of the class that are not open all lead to the same classes. They keep their class, as do the open
      // states that lead there.
      const isOpen = new Set(states.length < size ? states : [])
      const other = members[own]?.find((state) => classes[state] === own && !isOpen.has(state))
      const staying =
        states.length < size && other !== undefined
          ? groups.get(leadsOf(edges[other] ?? [], classes))
          : bySize[0]
      for (const group of bySize) if (group !== staying) split.push(group)
    }
    const next = new Set<number>()
    for (const group of split) {
      const fresh = sizes.length
      sizes.push(group.length)
      members.push(group)
      for (const state of group) {
        const before = classes[state] ?? 0
        sizes[before] = (sizes[before] ?? 0) - 1
        classes[state] = fresh
        for (const source of sources[state] ?? []) next.add(source)
      }
    }
    open = [...next]
  }
}

/** Equal for states whose edges lead to the same classes. */
function leadsOf(edges: readonly Edge[], classes: readonly number[]): string {
  let key = ''
  let [begin, end, own] = [0, -2, -1]
  for (const { from, to, target } of edges) {
    const next = classes[target] ?? -1
    if (next === own && from === end + 1) {
      end = to
      continue
    }
    if (own !== -1) key += `${begin}-${end}-${own}:`
    begin = from
    end = to
    own = next
  }
  return own === -1 ? key : `${key}${begin}-${end}-${own}`
}

/** The number of classes, which are numbered from 0 on. */
function sizeOf(classes: readonly number[]): number {
  return classes.reduce((most, own) => Math.max(most, own + 1), 0)
}

/** Equal names get equal numbers. */
function numbered(names: readonly string[]): number[] {
  const numbers = new Map<string, number>()
  return names.map((name) => {
    const known = numbers.get(name)
    if (known !== undefined) return known
    numbers.set(name, numbers.size)
    return numbers.size - 1
  })
}

/** By state, the length of the shortest accepted rest. */
function distances({ edges, accepting }: Automaton): number[] {
  const sources = sourcesOf(edges)
  const distance: number[] = edges.map(() => -1)
  let wave = accepting.flatMap((yes, state) => (yes ? [state] : []))
  for (let length = 0; wave.length > 0; length++) {
    const next: number[] = []
    for (const state of wave) {
      if (distance[state] !== -1) continue
      distance[state] = length
      next.push(...(sources[state] ?? []))
    }
    wave = next
  }
  return distance
}

/** By state, the length of the longest accepted rest; -1 if it is unbounded. */
function restLengths({ edges }: Automaton): number[] {
  const sources: number[][] = edges.map(() => [])
  const open = edges.map((out) => out.length)
  for (const [state, out] of edges.entries()) for (const { target } of out) sources[target]?.push(state)
  const longest: number[] = edges.map(() => -1)
  const rest: number[] = edges.map(() => 0)
  const ready = open.flatMap((count, state) => (count === 0 ? [state] : []))
  for (let state = ready.pop(); state !== undefined; state = ready.pop()) {
    longest[state] = rest[state] ?? 0
    for (const source of sources[state] ?? []) {
      rest[source] = Math.max(rest[source] ?? 0, (longest[state] ?? 0) + 1)
      open[source] = (open[source] ?? 0) - 1
      if (open[source] === 0) ready.push(source)
    }
  }
  return longest
}
