import { valueAt } from '../expressions/json-value.ts'
import { compareNumbers, type Exact, exact, parseNumber } from '../expressions/numbers.ts'
import { splitPath } from '../expressions/path.ts'
import { opNameOf } from '../refs.ts'

/** Which of the calls that pass its filter a rule puts into its queue. */
export type RulePick = { kind: 'all' } | { kind: 'every_nth'; n: number } | { kind: 'errors' } | ScorePick

export interface ScorePick {
  kind: 'scores'
  /** What follows `wandb.runnable.` in the feedback type; null means any scorer. */
  scorer: string | null
  /** A path below `payload.output`; null means the output itself. */
  path: string | null
  /** Exactly one of the two is a number. */
  below: number | null
  above: number | null
}

/** A list matches if one of its names does; null always matches. */
export interface RuleFilter {
  op_names: readonly string[] | null
  models: readonly string[] | null
}

/** What a filter examines. */
export interface FilteredCall {
  op_name: string
  /** The models that the call used or asked for. */
  models: readonly string[]
}

export function matchesRule({ op_names, models }: RuleFilter, call: FilteredCall): boolean {
  if (op_names !== null && !op_names.some((name) => isOp(name, call.op_name))) return false
  return models === null || models.some((model) => call.models.includes(model))
}

/** A plain name stands for every version of its op, like a ref that ends in `:*`. */
function isOp(name: string, op: string): boolean {
  if (name === op || name === opNameOf(op)) return true
  return name.endsWith(':*') && op.startsWith(name.slice(0, -1))
}

const scorerPrefix = 'wandb.runnable.'

export const isScore = (feedbackType: string): boolean => feedbackType.startsWith(scorerPrefix)

/** Whether the feedback has a score that the rule picks. Scores are numbers, or true (1) and false (0). */
export function isPicked(pick: ScorePick, feedbackType: string, payload: string): boolean {
  if (!isScore(feedbackType)) return false
  if (pick.scorer !== null && feedbackType.slice(scorerPrefix.length) !== pick.scorer) return false
  const path = pick.path === null ? [] : splitPath(pick.path)
  const score = scoreOf(valueAt(payload, ['output', ...path]))
  if (score === null) return false
  if (pick.below !== null) return compareNumbers(score, exact(pick.below)) < 0
  return pick.above !== null && compareNumbers(score, exact(pick.above)) > 0
}

function scoreOf(token: string | undefined): Exact | null {
  if (token === 'true') return 1n
  if (token === 'false') return 0n
  return token === undefined ? null : parseNumber(token)
}
