import { grammarTooLarge } from './errors.ts'
import { alternatives, charClass, type Expr, never, repetition, rule, sequence } from './expressions.ts'

/** Deeper pieces become rules of their own, so that nothing that walks a rule recurses deeply. */
const deepest = 12
const maxPieces = 200_000

/**
 * The rules that are reached from `root`, without what no output can have: NUL, and halves of surrogate pairs. The
 * symbols of control tokens, beyond the code points, are kept.
 */
export function reachableRules(all: ReadonlyMap<string, Expr>): Map<string, Expr> {
  const rules = new Map<string, Expr>()
  const pending: { name: string; expr: Expr }[] = []
  const asked = new Set<string>()
  let pieces = 0

  const cut = (expr: Expr, depth: number, owner: string): Expr => {
    if (++pieces > maxPieces) throw grammarTooLarge('pieces', pieces, maxPieces)
    switch (expr.kind) {
      case 'literal':
        return expr.text.includes('\0') || !expr.text.isWellFormed() ? never : expr
      case 'class':
        return expr.ranges.every(isEncodable) ? expr : charClass(...expr.ranges.flatMap(encodableRanges))
      case 'rule':
        ask(expr.name)
        return expr
    }
    if (depth === deepest && (expr.kind === 'repetition' || expr.of.length > 0)) {
      // No name in a given grammar has a slash.
      const name = `${owner.split('/')[0]}/${pieces}`
      pending.push({ name, expr })
      return rule(name)
    }
    if (expr.kind === 'repetition') {
      const of = cut(expr.of, depth + 1, owner)
      return of === expr.of ? expr : repetition(of, expr.min, expr.max)
    }
    const of = expr.of.map((inner) => cut(inner, depth + 1, owner))
    if (of.every((inner, at) => inner === expr.of[at])) return expr
    return expr.kind === 'sequence' ? sequence(...of) : alternatives(...of)
  }
  const ask = (name: string) => {
    if (asked.has(name)) return
    asked.add(name)
    const expr = all.get(name)
    if (expr === undefined) throw new Error(`the grammar has no rule ${name}`)
    pending.push({ name, expr })
  }

  ask('root')
  for (const { name, expr } of pending) rules.set(name, cut(expr, 0, name))
  return rules
}

function isEncodable([first, last]: readonly [number, number]): boolean {
  return first > 0 && (last < 0xd800 || first > 0xdfff)
}

function encodableRanges([first, last]: readonly [number, number]): [number, number][] {
  const halves: [number, number][] = [
    [Math.max(first, 1), Math.min(last, 0xd7ff)],
    [Math.max(first, 0xe000), last],
  ]
  return halves.filter(([from, to]) => from <= to)
}
