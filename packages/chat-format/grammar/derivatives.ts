import { alternatives, type Expr, emptyText, literal, repetition, sequence } from '../../constraints/index.ts'

type Rules = ReadonlyMap<string, Expr>

/** A range of more characters than this is not a lead: it distinguishes nothing. */
const maxPoints = 64

/** The code points and symbols that an expression may begin with, and what follows each. */
export function derivativesOf(expr: Expr, rules: Rules): Map<number, Expr> {
  const leads = new Map<number, Expr>()
  for (const [point, rest] of each(expr, rules)) {
    const before = leads.get(point)
    leads.set(point, before === undefined ? rest : alternatives(before, rest))
  }
  return leads
}

function* each(expr: Expr, rules: Rules): Generator<[number, Expr]> {
  switch (expr.kind) {
    case 'literal': {
      const point = expr.text.codePointAt(0) ?? 0
      yield [point, literal(expr.text.slice(point > 0xffff ? 2 : 1))]
      return
    }
    case 'class':
      for (const [first, last] of expr.ranges) {
        if (last - first >= maxPoints) continue
        for (let point = first; point <= last; point++) yield [point, emptyText]
      }
      return
    case 'sequence':
      for (const [at, step] of expr.of.entries()) {
        for (const [point, rest] of each(step, rules)) yield [point, sequence(rest, ...expr.of.slice(at + 1))]
        if (!isSkippable(step, rules)) return
      }
      return
    case 'alternatives':
      for (const option of expr.of) yield* each(option, rules)
      return
    case 'repetition':
      for (const [point, rest] of each(expr.of, rules)) {
        yield [point, sequence(rest, repetition(expr.of, Math.max(expr.min - 1, 0), expr.max - 1))]
      }
      return
    case 'rule':
      yield* each(rules.get(expr.name) ?? emptyText, rules)
  }
}

function isSkippable(expr: Expr, rules: Rules): boolean {
  switch (expr.kind) {
    case 'literal':
    case 'class':
      return false
    case 'sequence':
      return expr.of.every((step) => isSkippable(step, rules))
    case 'alternatives':
      return expr.of.some((option) => isSkippable(option, rules))
    case 'repetition':
      return expr.min === 0 || isSkippable(expr.of, rules)
    case 'rule':
      return isSkippable(rules.get(expr.name) ?? emptyText, rules)
  }
}
