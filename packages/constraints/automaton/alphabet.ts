import type { Budget } from '../grammar/budget.ts'
import { type Expr, type Range, united } from '../grammar/expressions.ts'
import type { Automaton, Edge } from './automaton.ts'

/**
 * Replaces code points by numbers: code points that no character class of the expression distinguishes share one number.
 * All letters of every script are then one number instead of 650 ranges, so the cost of a state depends on its
 * transitions alone.
 */
export interface Alphabet {
  /** The numbers of the code points in these ranges. */
  numbersOf(ranges: readonly Range[]): readonly Range[]
  /** The same automaton, over code points. */
  spelled(automaton: Automaton, budget: Budget): Automaton
}

/** Up to this many ranges, code points are used as they are. */
const manyRanges = 64
/** With more classes, working out what they distinguish costs more than it saves. */
const maxClasses = 64
/** Copying a range is this many times cheaper than a step. */
const copiesOfStep = 8

/** Undefined where plain code points are just as good. */
export function alphabetOf(expr: Expr, budget: Budget): Alphabet | undefined {
  const classes = new Map<string, readonly Range[]>()
  collect(expr, classes)
  const ranges = [...classes.values()].reduce((sum, own) => sum + own.length, 0)
  if (ranges <= manyRanges || classes.size > maxClasses) return undefined
  budget.spend(ranges)
  const { segments, numbers } = told(classes)
  // A class of many ranges is looked up once for each time it is counted.
  const asked = new Map<readonly Range[], readonly Range[]>()
  return {
    numbersOf(of) {
      const own = asked.get(of) ?? numbers.get(of.join())
      if (own === undefined) throw new Error('a class that does not occur in the expression')
      asked.set(of, own)
      return own
    },
    spelled({ edges, accepting }, spelling) {
      return { accepting, edges: edges.map((out) => spelledEdges(out, segments, spelling)) }
    },
  }
}

function collect(expr: Expr, classes: Map<string, readonly Range[]>): void {
  switch (expr.kind) {
    case 'literal':
      for (const character of expr.text) {
        const point = character.codePointAt(0) ?? 0
        classes.set(`${point},${point}`, [[point, point]])
      }
      return
    case 'class':
      classes.set(expr.ranges.join(), expr.ranges)
      return
    case 'repetition':
      collect(expr.of, classes)
      return
    case 'rule':
      return
    default:
      for (const inner of expr.of) collect(inner, classes)
  }
}

/** The code points of each number, and the numbers of each class. */
function told(classes: ReadonlyMap<string, readonly Range[]>) {
  const cuts = [...classes].flatMap(([name, ranges]) =>
    ranges.flatMap(([first, last]) => [
      { at: first, name, opens: true },
      { at: last + 1, name, opens: false },
    ]),
  )
  cuts.sort((a, b) => a.at - b.at)
  const open = new Set<string>()
  const order = new Map([...classes.keys()].map((name, at) => [name, at]))
  const known = new Map<string, number>()
  const segments: Range[][] = []
  const found = new Map([...classes.keys()].map((name): [string, Set<number>] => [name, new Set()]))
  for (let i = 0; i < cuts.length; ) {
    const from = cuts[i]?.at ?? 0
    for (; i < cuts.length && cuts[i]?.at === from; i++) {
      const { name, opens } = cuts[i] as (typeof cuts)[number]
      if (opens) open.add(name)
      else open.delete(name)
    }
    const next = cuts[i]?.at
    if (open.size === 0 || next === undefined) continue
    const key = Array.from(open, (name) => order.get(name) ?? -1)
      .sort((a, b) => a - b)
      .join()
    const number = known.get(key) ?? segments.push([]) - 1
    known.set(key, number)
    segments[number]?.push([from, next - 1])
    for (const name of open) found.get(name)?.add(number)
  }
  const numbers = new Map(
    Array.from(found, ([name, own]) => [name, united(Array.from(own, (number): Range => [number, number]))]),
  )
  return { segments, numbers }
}

function spelledEdges(out: readonly Edge[], segments: readonly (readonly Range[])[], budget: Budget): Edge[] {
  const pieces: Edge[] = []
  for (const { from, to, target } of out) {
    for (let number = from; number <= to; number++) {
      for (const [first, last] of segments[number] ?? []) pieces.push({ from: first, to: last, target })
    }
  }
  budget.spend(Math.ceil(pieces.length / copiesOfStep))
  pieces.sort((a, b) => a.from - b.from)
  const edges: { from: number; to: number; target: number }[] = []
  for (const piece of pieces) {
    const last = edges.at(-1)
    if (last !== undefined && last.target === piece.target && last.to + 1 === piece.from) last.to = piece.to
    else edges.push({ ...piece })
  }
  return edges
}
