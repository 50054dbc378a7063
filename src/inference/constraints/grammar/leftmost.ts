import type { Expr } from './expressions.ts'
import { GrammarTooLarge, LeftRecursion } from './grammar-flaws.ts'
import { mayBeEmpty } from './prepared-grammar.ts'

/**
 * Ways into one rule. The engine follows each of them on its own, compares them all with one another at every character,
 * and walks them all when it looks for left recursion; 2,000 take it 45 ms.
 */
const mostWays = 2000
const mostWaysTogether = 500_000

/** Refuses what begins with itself and what can begin in too many ways. */
export function checkLeftmost(rules: ReadonlyMap<string, Expr>, nullable: ReadonlySet<string>): void {
  const ways = new Map<string, number>()
  const open = new Set<string>()
  let together = 0
  for (const start of rules.keys()) {
    const path: { name: string; first: string[] }[] = []
    const enter = (name: string) => {
      if (ways.has(name)) return
      if (open.has(name)) throw new LeftRecursion(name)
      open.add(name)
      path.push({ name, first: leftmostRules(rules.get(name), nullable) })
    }
    enter(start)
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const next = top.first.pop()
      if (next !== undefined) {
        enter(next)
        continue
      }
      path.pop()
      open.delete(top.name)
      const count = waysInto(rules.get(top.name), nullable, ways)
      if (count > mostWays) throw new GrammarTooLarge('ways to begin in one place', count, mostWays)
      ways.set(top.name, count)
      together += count
    }
  }
  if (together > mostWaysTogether) throw new GrammarTooLarge('ways to begin', together, mostWaysTogether)
}

function leftmostRules(expr: Expr | undefined, nullable: ReadonlySet<string>): string[] {
  switch (expr?.kind) {
    case 'rule':
      return [expr.name]
    case 'repetition':
      return leftmostRules(expr.of, nullable)
    case 'sequence':
      return leading(expr.of, nullable).flatMap((part) => leftmostRules(part, nullable))
    case 'alternatives':
      return expr.of.flatMap((part) => leftmostRules(part, nullable))
    default:
      return []
  }
}

function waysInto(
  expr: Expr | undefined,
  nullable: ReadonlySet<string>,
  ways: ReadonlyMap<string, number>,
): number {
  const all = (parts: readonly Expr[]) => parts.reduce((sum, part) => sum + waysInto(part, nullable, ways), 0)
  switch (expr?.kind) {
    case 'rule':
      return ways.get(expr.name) ?? 0
    case 'repetition':
      return waysInto(expr.of, nullable, ways) + 1
    case 'sequence':
      return Math.max(1, all(leading(expr.of, nullable)))
    case 'alternatives':
      return all(expr.of)
    default:
      return 1
  }
}

/** What the sequence may begin with: up to the first part that is never empty. */
function leading(parts: readonly Expr[], nullable: ReadonlySet<string>): readonly Expr[] {
  const firm = parts.findIndex((part) => !mayBeEmpty(part, nullable))
  return firm < 0 ? parts : parts.slice(0, firm + 1)
}
