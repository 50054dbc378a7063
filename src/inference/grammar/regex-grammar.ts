import { rulesOf } from './automaton-rules.ts'
import { createBudget, TooCostly } from './budget.ts'
import { automatonOf } from './determinise.ts'
import { isDeterministic } from './determinism.ts'
import { charClass, type Expr, type Grammar } from './gbnf.ts'
import { compileRegex } from './regex.ts'
import { RegexTrouble } from './regex-trouble.ts'

const steps = 40_000
/** As many places as the engine may follow at once without being slowed down much. */
const fewPlaces = 200

/** All texts that the regular expression matches as a whole. */
export function regexGrammar(source: string): Grammar {
  const rules = new Map<string, Expr>()
  rules.set('root', wholeMatch(source, 'root', rules))
  return { rules }
}

/** The same as a piece; rules that it needs are added, with names that begin with the prefix. */
export function wholeMatch(source: string, prefix: string, rules: Map<string, Expr>): Expr {
  if (source.includes('\0')) throw new RegexTrouble('flawed', 'it has a NUL character')
  const expr = compileRegex(source, { search: false })
  if (isDeterministic(expr)) return expr
  try {
    let count = 0
    return rulesOf(
      automatonOf(expr, createBudget(steps)),
      (ranges) => charClass(...ranges),
      () => `${prefix}-state-${++count}`,
      (name, body) => rules.set(name, body),
    )
  } catch (error) {
    if (error instanceof TooCostly && places(expr) <= fewPlaces) return expr
    throw error
  }
}

/** How many characters the expression has with its counts written out. */
function places(expr: Expr): number {
  switch (expr.kind) {
    case 'literal':
      return expr.text.length
    case 'class':
    case 'rule':
      return 1
    case 'repetition':
      return places(expr.of) * Math.max(1, expr.max ?? expr.min)
    default:
      return expr.of.reduce((sum, part) => sum + places(part), 0)
  }
}
