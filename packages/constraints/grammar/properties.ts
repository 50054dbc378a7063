import { grammarTooLarge } from './errors.ts'
import type { Expr } from './expressions.ts'

/** Only grammars made to be slow need more than a few passes over all rules. */
const maxVisits = 2_000_000

type RuleSet = ReadonlySet<string>

/** Whether an expression has a property, given the rules that are known to have it. */
type Property = (expr: Expr, known: RuleSet) => boolean

/** The rules that have the property, where one rule may have it because others do. */
export function rulesThat(property: Property, rules: ReadonlyMap<string, Expr>): RuleSet {
  const known = new Set<string>()
  let open = [...rules]
  for (let visits = 0, before = -1; before !== known.size; ) {
    before = known.size
    visits += open.length
    if (visits > maxVisits) throw grammarTooLarge('steps of a check', visits, maxVisits)
    // Rules that are reached last are mostly needed first; where they are not, the other direction is the short one.
    open = open.reverse().filter(([name, expr]) => {
      if (!property(expr, known)) return true
      known.add(name)
      return false
    })
  }
  return known
}

/** Some text of finite length fits it. */
export function mayEnd(expr: Expr, known: RuleSet): boolean {
  return holds(expr, known, true)
}

/** The empty text fits it. */
export function mayBeEmpty(expr: Expr, known: RuleSet): boolean {
  return holds(expr, known, false)
}

function holds(expr: Expr, known: RuleSet, ofCharacters: boolean): boolean {
  switch (expr.kind) {
    case 'literal':
    case 'class':
      return ofCharacters
    case 'rule':
      return known.has(expr.name)
    case 'repetition':
      return expr.min === 0 || holds(expr.of, known, ofCharacters)
    case 'sequence':
      return expr.of.every((inner) => holds(inner, known, ofCharacters))
    case 'alternatives':
      return expr.of.some((inner) => holds(inner, known, ofCharacters))
  }
}

/** A finite text other than the empty one fits it. */
export function mayBeMore(expr: Expr, known: RuleSet, finite: RuleSet): boolean {
  switch (expr.kind) {
    case 'literal':
    case 'class':
      return true
    case 'rule':
      return known.has(expr.name)
    case 'repetition':
      return mayBeMore(expr.of, known, finite)
    case 'sequence':
      return mayEnd(expr, finite) && expr.of.some((inner) => mayBeMore(inner, known, finite))
    case 'alternatives':
      return expr.of.some((inner) => mayBeMore(inner, known, finite))
  }
}
