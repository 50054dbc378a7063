import type { Budget } from './budget.ts'
import type { Expr } from './expressions.ts'
import { GrammarTooLarge } from './grammar-flaws.ts'

/**
 * Places that are followed at once. The engine compares each with all others at every character, and asks for each of
 * them which tokens may come next.
 */
const mostPlaces = 500
const characters = 48
/** Of which the one that leaves most places open is read. */
const candidates = 6

/** What is still to be read. Equal rests are the same object, so that places can be told apart. */
interface Rest {
  readonly expr: Expr
  readonly next: Rest | undefined
}

/**
 * Refuses a grammar that is so ambiguous that the engine would be slowed down by it. That cannot be told from the
 * grammar alone, so a text is read along the widest way. The rules have to be prepared and free of left recursion.
 */
export function checkWidth(rules: ReadonlyMap<string, Expr>, budget: Budget): void {
  const reading = createReading(rules, budget)
  let places = reading.begin()
  for (let read = 0; read < characters; read++) {
    if (places.size > mostPlaces) {
      throw new GrammarTooLarge('places that have to be followed at once', places.size, mostPlaces)
    }
    let widest: Set<Rest> | undefined
    for (const point of pointsIn(places)) {
      const next = reading.read(places, point)
      if (widest === undefined || next.size > widest.size) widest = next
    }
    if (widest === undefined || widest.size === 0) return
    places = widest
  }
}

function pointsIn(places: ReadonlySet<Rest>): Set<number> {
  const points = new Set<number>()
  for (const { expr } of places) {
    if (expr.kind === 'class') for (const [first] of expr.ranges.slice(0, 2)) points.add(first)
    if (points.size >= candidates) break
  }
  return points
}

function createReading(rules: ReadonlyMap<string, Expr>, budget: Budget) {
  const numbers = new Map<object, number>()
  const rests = new Map<string, Rest>()
  const pieces = new Map<string, Expr>()
  const numberOf = (thing: object | undefined): number => {
    if (thing === undefined) return -1
    const known = numbers.get(thing)
    if (known !== undefined) return known
    numbers.set(thing, numbers.size)
    return numbers.size - 1
  }
  const before = (expr: Expr, next: Rest | undefined): Rest => {
    const key = `${numberOf(expr)} ${numberOf(next)}`
    const rest = rests.get(key) ?? { expr, next }
    rests.set(key, rest)
    return rest
  }
  const piece = (key: string, make: () => Expr): Expr => {
    const made = pieces.get(key) ?? make()
    pieces.set(key, made)
    return made
  }
  /** A literal is a class, and then its rest. */
  const spelled = (expr: Extract<Expr, { kind: 'literal' }>, next: Rest | undefined): Rest => {
    const point = expr.text.codePointAt(0) ?? 0
    const first = piece(`point ${point}`, () => ({ kind: 'class', ranges: [[point, point]] }))
    const text = expr.text.slice(point > 0xffff ? 2 : 1)
    return before(
      first,
      text === ''
        ? next
        : before(
            piece(`text ${text}`, () => ({ kind: 'literal', text })),
            next,
          ),
    )
  }
  const fewer = (expr: Extract<Expr, { kind: 'repetition' }>): Expr | undefined => {
    const { of, min, max } = expr
    if (max === 1) return undefined
    if (min === 0 && max === undefined) return expr
    const left = { min: Math.max(0, min - 1), max: max === undefined ? undefined : max - 1 }
    return piece(`${numberOf(of)} ${left.min} ${left.max}`, () => ({ kind: 'repetition', of, ...left }))
  }

  const opened = (from: readonly (Rest | undefined)[]): Set<Rest> => {
    const open = new Set<Rest>()
    const seen = new Set<Rest>()
    const pending = [...from]
    for (let rest = pending.pop(); rest !== undefined || pending.length > 0; rest = pending.pop()) {
      if (rest === undefined || seen.has(rest)) continue
      seen.add(rest)
      budget.spend(2)
      if (open.size > mostPlaces) break
      const { expr, next } = rest
      switch (expr.kind) {
        case 'class':
          open.add(rest)
          break
        case 'literal':
          open.add(spelled(expr, next))
          break
        case 'rule': {
          const rule = rules.get(expr.name)
          if (rule !== undefined) pending.push(before(rule, next))
          break
        }
        case 'sequence':
          pending.push(expr.of.reduceRight<Rest | undefined>((tail, part) => before(part, tail), next))
          break
        case 'alternatives':
          budget.spend(expr.of.length)
          pending.push(...expr.of.map((part) => before(part, next)))
          break
        case 'repetition': {
          const left = fewer(expr)
          pending.push(before(expr.of, left === undefined ? next : before(left, next)))
          if (expr.min === 0) pending.push(next)
        }
      }
    }
    return open
  }

  return {
    begin: () => opened([before({ kind: 'rule', name: 'root' }, undefined)]),
    read(places: ReadonlySet<Rest>, point: number): Set<Rest> {
      const left: (Rest | undefined)[] = []
      for (const { expr, next } of places) {
        budget.spend(1)
        if (expr.kind === 'class' && expr.ranges.some(([first, last]) => first <= point && point <= last))
          left.push(next)
      }
      return opened(left)
    },
  }
}
