import type { Budget } from '../grammar/budget.ts'
import type { Expr } from '../grammar/expressions.ts'
import { type Alphabet, alphabetOf } from './alphabet.ts'
import { type Automaton, type Edge, smallest, trimmed } from './automaton.ts'

/** A nondeterministic automaton: for each state, the moves that read nothing and the moves that read. */
interface Loose {
  silent: number[][]
  reading: Edge[][]
  /** Present where characters are replaced by the numbers of an alphabet. */
  alphabet?: Alphabet | undefined
}

/** The automaton of a piece of grammar that refers to no rule, which is what every regular expression compiles to. */
export function automatonOf(expr: Expr, budget: Budget): Automaton {
  const alphabet = alphabetOf(expr, budget)
  const loose: Loose = { silent: [], reading: [], alphabet }
  const start = addState(loose, budget)
  const end = lay(expr, start, loose, budget)
  const automaton = smallest(subsets(loose, start, end, budget), budget)
  return alphabet === undefined ? automaton : alphabet.spelled(automaton, budget)
}

/** The same texts without these symbols. */
export function without(automaton: Automaton, symbols: readonly number[], budget: Budget): Automaton {
  if (symbols.length === 0) return automaton
  const loose: Loose = { silent: [], reading: [] }
  const end = layAutomaton(automaton, loose, budget)
  for (const [state, edges] of loose.reading.entries()) {
    loose.reading[state] = edges.filter((edge) => !symbols.includes(edge.from))
    for (const { from, target } of edges) if (symbols.includes(from)) loose.silent[state]?.push(target)
  }
  return smallest(subsets(loose, 0, end, budget), budget)
}

/** The same texts with any number of these symbols anywhere in between. */
export function withLoops(
  automaton: Automaton,
  symbols: readonly (readonly [number, number])[],
  budget: Budget,
): Automaton {
  const loose: Loose = { silent: [], reading: [] }
  const end = layAutomaton(automaton, loose, budget)
  for (const [state, edges] of loose.reading.entries()) {
    if (state !== end) for (const [from, to] of symbols) edges.push({ from, to, target: state })
  }
  return smallest(subsets(loose, 0, end, budget), budget)
}

/** Keeps the state numbers. Every accepting state leads silently to the state that is returned. */
function layAutomaton({ edges, accepting }: Automaton, loose: Loose, budget: Budget): number {
  const end = Math.max(1, accepting.length)
  while (loose.silent.length <= end) addState(loose, budget)
  for (const [state, out] of edges.entries()) {
    loose.reading[state] = [...out]
    if (accepting[state] === true) loose.silent[state]?.push(end)
  }
  return end
}

function addState(loose: Loose, budget: Budget): number {
  budget.spend(1)
  loose.silent.push([])
  loose.reading.push([])
  return loose.silent.length - 1
}

/** Adds the piece from a state on, and returns the state in which it ends. */
function lay(expr: Expr, from: number, loose: Loose, budget: Budget): number {
  switch (expr.kind) {
    case 'literal': {
      let at = from
      for (const character of expr.text) {
        const point = character.codePointAt(0) ?? 0
        at = layReading([[point, point]], at, loose, budget)
      }
      return at
    }
    case 'class':
      return layReading(expr.ranges, from, loose, budget)
    case 'sequence': {
      let at = from
      for (const inner of expr.of) at = lay(inner, at, loose, budget)
      return at
    }
    case 'alternatives': {
      const end = addState(loose, budget)
      for (const inner of expr.of) {
        const begin = addState(loose, budget)
        loose.silent[from]?.push(begin)
        loose.silent[lay(inner, begin, loose, budget)]?.push(end)
      }
      return end
    }
    case 'repetition':
      return layRepetition(expr, from, loose, budget)
    case 'rule':
      throw new Error(`rule ${expr.name} in a regular expression`)
  }
}

function layReading(
  ranges: readonly (readonly [number, number])[],
  from: number,
  loose: Loose,
  budget: Budget,
): number {
  const end = addState(loose, budget)
  const read = loose.alphabet === undefined ? ranges : loose.alphabet.numbersOf(ranges)
  budget.spend(read.length)
  for (const [first, last] of read) loose.reading[from]?.push({ from: first, to: last, target: end })
  return end
}

function layRepetition(
  { of, min, max }: Extract<Expr, { kind: 'repetition' }>,
  from: number,
  loose: Loose,
  budget: Budget,
): number {
  let at = from
  for (let round = 0; round < min; round++) at = lay(of, at, loose, budget)
  if (max === Number.POSITIVE_INFINITY) {
    const loop = addState(loose, budget)
    loose.silent[at]?.push(loop)
    loose.silent[lay(of, loop, loose, budget)]?.push(loop)
    const end = addState(loose, budget)
    loose.silent[loop]?.push(end)
    return end
  }
  const end = addState(loose, budget)
  for (let round = min; round < max; round++) {
    loose.silent[at]?.push(end)
    // A state of its own, so that a loop inside the piece does not lead back to before it.
    const begin = addState(loose, budget)
    loose.silent[at]?.push(begin)
    at = lay(of, begin, loose, budget)
  }
  loose.silent[at]?.push(end)
  return end
}

function subsets(loose: Loose, start: number, end: number, budget: Budget): Automaton {
  const numbers = new Map<string, number>()
  const sets: number[][] = []
  const single = new Map<number, number>()
  const numberOf = (states: readonly number[]): number => {
    const [only] = states
    const before = states.length === 1 && only !== undefined ? single.get(only) : undefined
    if (before !== undefined) return before
    const number = numberOfSet(states)
    if (states.length === 1 && only !== undefined) single.set(only, number)
    return number
  }
  const numberOfSet = (states: readonly number[]): number => {
    const closed = closure(loose, states, budget)
    const key = closed.join()
    const known = numbers.get(key)
    if (known !== undefined) return known
    numbers.set(key, sets.length)
    sets.push(closed)
    return sets.length - 1
  }
  numberOf([start])
  const edges: Edge[][] = []
  for (let state = 0; state < sets.length; state++) {
    const reading = (sets[state] ?? []).flatMap((member) => loose.reading[member] ?? [])
    budget.spend(1 + reading.length)
    edges.push(separated(reading, numberOf))
  }
  return trimmed(
    edges,
    sets.map((states) => states.includes(end)),
  )
}

function closure(loose: Loose, states: readonly number[], budget: Budget): number[] {
  const found = new Set(states)
  for (const state of found) for (const target of loose.silent[state] ?? []) found.add(target)
  budget.spend(found.size)
  // Only states that read or end distinguish sets, but there are few enough to keep them all.
  return [...found].sort((a, b) => a - b)
}

/** Splits overlapping ranges wherever one begins or ends; each part has all targets that it may lead to. */
function separated(reading: readonly Edge[], numberOf: (states: readonly number[]) => number): Edge[] {
  const apart = reading.every(({ from }, i) => i === 0 || from > (reading[i - 1]?.to ?? from))
  if (apart) return reading.map(({ from, to, target }) => ({ from, to, target: numberOf([target]) }))
  const cuts = reading
    .flatMap(({ from, to, target }) => [
      { at: from, target, opens: true },
      { at: to + 1, target, opens: false },
    ])
    .sort((a, b) => a.at - b.at)
  const open = new Map<number, number>()
  const known = new Map<string, number>()
  const edges: Edge[] = []
  for (let i = 0; i < cuts.length; ) {
    const from = cuts[i]?.at ?? 0
    for (; i < cuts.length && cuts[i]?.at === from; i++) {
      const { target, opens } = cuts[i] as (typeof cuts)[number]
      const count = (open.get(target) ?? 0) + (opens ? 1 : -1)
      if (count === 0) open.delete(target)
      else open.set(target, count)
    }
    const next = cuts[i]?.at
    if (open.size === 0 || next === undefined) continue
    const key = [...open.keys()].sort((a, b) => a - b).join()
    const target = known.get(key) ?? numberOf([...open.keys()])
    known.set(key, target)
    edges.push({ from, to: next - 1, target })
  }
  return edges
}
