import type { Automaton } from '../automaton/automaton.ts'
import { rulesOf } from '../automaton/automaton-rules.ts'
import { automatonOf } from '../automaton/determinise.ts'
import { type Budget, BudgetExceededError, createBudget } from '../grammar/budget.ts'
import { RegexError } from '../grammar/errors.ts'
import { charClass, type Expr, type Grammar } from '../grammar/expressions.ts'
import { isDeterministic } from './determinism.ts'
import { regexLanguage } from './regex.ts'

const steps = 400_000
/** For one automaton, before it is abandoned. */
const stepsOfAutomaton = 40_000
/** As many positions as the engine may follow at once without slowing down much. */
const fewPlaces = 200

/** All texts that the regular expression matches as a whole. */
export function regexGrammar(source: string): Grammar {
  const rules = new Map<string, Expr>()
  rules.set('root', wholeMatch(source, 'root', rules, createBudget(steps)))
  return { rules }
}

/** The same as a piece; rules that it needs are added, with names that begin with the prefix. */
export function wholeMatch(source: string, prefix: string, rules: Map<string, Expr>, budget: Budget): Expr {
  if (source.includes('\0')) throw new RegexError('invalid', 'it has a NUL character')
  const language = regexLanguage(source, { search: false, budget })
  let count = 0
  const written = (automaton: Automaton) =>
    rulesOf(
      automaton,
      (ranges) => charClass(...ranges),
      () => `${prefix}-state-${++count}`,
      (name, body) => rules.set(name, body),
    )
  if ('automaton' in language) return written(language.automaton)
  const { expr } = language
  if (isDeterministic(expr)) return expr
  try {
    return written(automatonOf(expr, partOf(budget, stepsOfAutomaton)))
  } catch (error) {
    if (error instanceof BudgetExceededError && charactersIn(expr) <= fewPlaces) return expr
    throw error
  }
}

function partOf(budget: Budget, most: number): Budget {
  const share = createBudget(most)
  return {
    spend(count) {
      budget.spend(count)
      share.spend(count)
    },
  }
}

/** How many characters the expression has with its counts written out. */
function charactersIn(expr: Expr): number {
  switch (expr.kind) {
    case 'literal':
      return expr.text.length
    case 'class':
    case 'rule':
      return 1
    case 'repetition':
      return charactersIn(expr.of) * Math.max(1, Number.isFinite(expr.max) ? expr.max : expr.min)
    default:
      return expr.of.reduce((sum, inner) => sum + charactersIn(inner), 0)
  }
}
