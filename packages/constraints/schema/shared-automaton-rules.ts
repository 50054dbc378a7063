import type { Automaton } from '../automaton/automaton.ts'
import { rulesOf } from '../automaton/automaton-rules.ts'
import type { Expr, Range } from '../grammar/expressions.ts'

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
