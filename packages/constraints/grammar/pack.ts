import type { CompiledGrammar } from './compiled-grammar.ts'
import { ConstraintError, grammarTooLarge } from './errors.ts'
import type { Expr } from './expressions.ts'
import { createNodeTable, never } from './node-table.ts'
import { mayBeEmpty, mayBeMore, mayEnd, rulesThat } from './properties.ts'
import { reachableRules } from './reachable.ts'

const maxRules = 20_000

/**
 * The grammar as a value. It has only rules that are reached, no ways that never end, and repetitions only of what is not
 * empty. Each way that is open while a text is followed can therefore be finished, and none goes in circles.
 */
export function packGrammar(all: ReadonlyMap<string, Expr>): CompiledGrammar {
  const rules = reachableRules(all)
  const finite = rulesThat(mayEnd, rules)
  if (!finite.has('root')) throw new ConstraintError('impossible', 'no text of finite length fits it')
  const nullable = rulesThat(mayBeEmpty, rules)
  const longer = rulesThat((expr, known) => mayBeMore(expr, known, finite), rules)
  const table = createNodeTable()
  const bodies: { expr: Expr; full: boolean; node: number }[] = []
  const known = [new Map<string, number>(), new Map<string, number>()] as const

  const ruleNode = (original: string, full: boolean): number => {
    // A rule that only names another one is replaced by it. None leads back to itself: it would have no finite text.
    let name = original
    for (let expr = rules.get(name); expr?.kind === 'rule'; expr = rules.get(name)) name = expr.name
    const before = known[full ? 1 : 0].get(name)
    if (before !== undefined) return before
    if (bodies.length === maxRules) throw grammarTooLarge('rules', maxRules + 1, maxRules)
    const node = table.rule(name, nullable.has(name) && !full)
    bodies.push({ expr: rules.get(name) as Expr, full, node })
    known[full ? 1 : 0].set(name, node)
    return node
  }

  /** The numbers of objects that are used in many places, such as a set of characters. */
  const written = [new Map<Expr, number>(), new Map<Expr, number>()] as const

  /** `full`: without the empty text. */
  const write = (expr: Expr, full: boolean): number => {
    // These are seldom the same object; recording each costs more than finding its node again.
    if (expr.kind === 'rule' || expr.kind === 'sequence') return fresh(expr, full)
    const before = written[full ? 1 : 0].get(expr)
    if (before !== undefined) return before
    const node = fresh(expr, full)
    written[full ? 1 : 0].set(expr, node)
    return node
  }

  const fresh = (expr: Expr, full: boolean): number => {
    switch (expr.kind) {
      case 'literal':
        return table.literal(expr.text)
      case 'class':
        return table.point(expr.ranges.flat())
      case 'rule': {
        const isCut = full && nullable.has(expr.name)
        return (isCut ? longer : finite).has(expr.name) ? ruleNode(expr.name, isCut) : never
      }
      case 'sequence': {
        let rest = table.empty
        let fullRest = never
        for (const inner of expr.of.toReversed()) {
          if (full) {
            const ways = [table.pair(write(inner, true), rest)]
            fullRest = table.any(mayBeEmpty(inner, nullable) ? [...ways, fullRest] : ways)
          }
          rest = table.pair(write(inner, false), rest)
        }
        return full ? fullRest : rest
      }
      case 'alternatives':
        return table.any(expr.of.map((inner) => write(inner, full)))
      case 'repetition': {
        const skips = mayBeEmpty(expr.of, nullable)
        const least = skips ? 0 : expr.min
        return table.repetition(write(expr.of, skips), full ? Math.max(1, least) : least, expr.max)
      }
    }
  }

  const start = ruleNode('root', false)
  for (const { expr, full, node } of bodies) table.define(node, write(expr, full))
  return table.packed(start)
}
