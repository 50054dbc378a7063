import { alternatives, type Expr, type Range, repetition, rule, sequence } from '../grammar/expressions.ts'
import { type Automaton, isEmpty } from './automaton.ts'

/** Steps nested inside one another before a state gets a rule of its own. */
const deepest = 6

/**
 * An automaton as grammar rules: one rule for each state that is reached in several ways. A rule refers to other rules
 * only at its end, so the engine follows it without a growing stack. `encode` writes the characters of an edge as they
 * appear in the output; `add` adds a rule and names it.
 */
export function rulesOf(
  automaton: Automaton,
  encode: (ranges: readonly Range[]) => Expr,
  reserve: () => string,
  add: (name: string, expr: Expr) => void,
): Expr {
  if (isEmpty(automaton)) return alternatives()
  const { edges, accepting } = automaton
  const entries = edges.map(() => 0)
  for (const [state, out] of edges.entries()) {
    for (const target of new Set(out.map((edge) => edge.target))) {
      if (target !== state) entries[target] = (entries[target] ?? 0) + 1
    }
  }
  const names = new Map<number, string>()
  const pending: number[] = []

  const named = (state: number): Expr => {
    if (edges[state]?.length === 0) return sequence()
    let name = names.get(state)
    if (name === undefined) {
      name = reserve()
      names.set(state, name)
      pending.push(state)
    }
    return rule(name)
  }

  const body = (first: number, depth: number): Expr => {
    const exprs: Expr[] = []
    for (let state = first; ; ) {
      const byTarget = new Map<number, [number, number][]>()
      for (const { from, to, target } of edges[state] ?? []) {
        const ranges = byTarget.get(target)
        if (ranges === undefined) byTarget.set(target, [[from, to]])
        else ranges.push([from, to])
      }
      const loop = byTarget.get(state)
      if (loop !== undefined) exprs.push(repetition(encode(loop), 0))
      byTarget.delete(state)
      const [only] = byTarget
      if (only === undefined) return sequence(...exprs)
      const [target, ranges] = only
      if (byTarget.size === 1 && accepting[state] !== true) {
        exprs.push(encode(ranges))
        if ((entries[target] ?? 0) > 1 || target === 0) return sequence(...exprs, named(target))
        state = target
        continue
      }
      const ways = [...byTarget].map(([to, over]) =>
        sequence(
          encode(over),
          (entries[to] ?? 0) > 1 || to === 0 || depth >= deepest ? named(to) : body(to, depth + 1),
        ),
      )
      if (accepting[state] === true) ways.push(sequence())
      return sequence(...exprs, alternatives(...ways))
    }
  }

  // If the start can be entered again from inside, it has to be a rule as well.
  const start = (entries[0] ?? 0) > 0 ? named(0) : body(0, 0)
  for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
    const name = names.get(state)
    if (name !== undefined) add(name, body(state, 0))
  }
  return start
}

type Encode = (ranges: readonly Range[]) => Expr

interface Written {
  start: Expr
  rules: ReadonlyMap<string, Expr>
}

const known = new WeakMap<Automaton, Map<Encode, Written>>()
let count = 0

/**
 * An automaton as rules that have the same names wherever they are written, so that a format that many schemas of one
 * grammar use is included once.
 */
export function sharedAutomatonRules(automaton: Automaton, encode: Encode): Written {
  const byEncode = known.get(automaton) ?? new Map<Encode, Written>()
  known.set(automaton, byEncode)
  const before = byEncode.get(encode)
  if (before !== undefined) return before
  // No other name has a colon.
  const prefix = `text:${++count}`
  const rules = new Map<string, Expr>()
  let states = 0
  const start = rulesOf(
    automaton,
    encode,
    () => `${prefix}-${++states}`,
    (name, expr) => rules.set(name, expr),
  )
  const written = { start, rules }
  byEncode.set(encode, written)
  return written
}
