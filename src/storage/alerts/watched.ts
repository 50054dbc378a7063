import { callsQueryOf } from '../calls/queries.ts'
import { feedbackConditions } from '../feedback/queries.ts'
import { allOf, type Sql, sql } from '../sql/sql.ts'
import type { Reader, Transaction } from '../transaction.ts'
import { type EndedCall, type Guard, guardsOf, holds } from './guards.ts'
import { type AlertRule, alertRules, type Condition, conditionOf } from './rules.ts'
import { remembered } from './versions.ts'

interface Guarded {
  guards: readonly Guard[]
}

type TextName = Extract<Guard, { kind: 'text' }>['name']
type NumberName = Extract<Guard, { bound: number }>['name']

/** Failures and bounds that are not reached sort out most calls, names fewer. */
function rank(guard: Guard): number {
  if (guard.kind === 'text') return guard.name !== 'status' ? 2 : guard.values.has('success') ? 3 : 0
  return guard.kind === 'min' ? 1 : 3
}

/**
 * The rules that may pick a call, in their order, without looking at each of them: a rule is filed under its strictest
 * guard.
 */
function indexRules<Rule extends Guarded>(rules: readonly Rule[]): (call: EndedCall) => Rule[] {
  const byText = new Map<TextName, Map<string, number[]>>()
  const byBound = new Map<NumberName, { bound: number; at: number }[]>()
  const rest: number[] = []
  for (const [at, { guards }] of rules.entries()) {
    const [strictest] = [...guards].sort((a, b) => rank(a) - rank(b))
    if (strictest?.kind === 'text') {
      const { name, values } = strictest
      const filed = byText.get(name) ?? new Map<string, number[]>()
      byText.set(name, filed)
      for (const value of values) filed.set(value, [...(filed.get(value) ?? []), at])
    } else if (strictest?.kind === 'min') {
      const { name, bound } = strictest
      byBound.set(name, [...(byBound.get(name) ?? []), { bound, at }])
    } else rest.push(at)
  }
  for (const bounds of byBound.values()) bounds.sort((a, b) => a.bound - b.bound)

  return (call) => {
    let found = rest
    for (const [name, filed] of byText) {
      const own = filed.get(call[name] ?? '')
      if (own !== undefined) found = found.concat(own)
    }
    for (const [name, bounds] of byBound) {
      const value = Number(call[name] ?? Number.NEGATIVE_INFINITY)
      const reached = bounds.findIndex(({ bound }) => bound > value)
      if (reached !== 0)
        found = found.concat(bounds.slice(0, reached === -1 ? undefined : reached).map(({ at }) => at))
    }
    if (found.length === 0) return []
    const own = found.map((at) => ({ at, rule: rules[at] as Rule }))
    const passing = own.filter(({ rule }) => rule.guards.every((guard) => holds(guard, call)))
    return passing.sort((a, b) => a.at - b.at).map(({ rule }) => rule)
  }
}

/** A rule that a write has to look at, with what its condition compiles to. */
export interface ActiveRule extends Pick<AlertRule, 'project_id' | 'id' | 'watches'> {
  condition: Condition
  guards: readonly Guard[]
  /** Compiled when something first passes the guards; undefined if everything meets it. */
  sql(): Sql | undefined
}

interface WatchedProject {
  calls: readonly ActiveRule[]
  /** Those of `calls` that may pick a call. */
  picking(call: EndedCall): ActiveRule[]
  scores: readonly ActiveRule[]
  decisions: readonly ActiveRule[]
  queues: readonly ActiveRule[]
  budgets: readonly ActiveRule[]
  hasEndpoints: boolean
}

const nothing: WatchedProject = {
  calls: [],
  picking: () => [],
  scores: [],
  decisions: [],
  queues: [],
  budgets: [],
  hasEndpoints: false,
}

/** Compiled once after each change. */
export function watchedIn(tx: Transaction, project: string): Promise<WatchedProject> {
  return remembered(tx, project, nothing, async () => {
    const rows = await alertRules.all<AlertRule>(
      tx,
      sql`project_id = ${project} AND active = 1 AND watches <> 'window' ORDER BY id`,
    )
    const endpoint = await tx.get(
      sql`SELECT 1 AS one FROM alert_endpoints WHERE project_id = ${project} AND active = 1 LIMIT 1`,
    )
    const rules = rows.map((row) => compiled(tx.dialect, row))
    const on = (watched: AlertRule['watches']) => rules.filter(({ watches }) => watches === watched)
    const calls = on('call')
    return {
      calls,
      picking: indexRules(calls),
      scores: on('score'),
      decisions: on('decision'),
      queues: on('queue'),
      budgets: on('budget'),
      hasEndpoints: endpoint !== undefined,
    }
  })
}

function compiled(dialect: Reader['dialect'], row: AlertRule): ActiveRule {
  const { project_id, id, watches } = row
  const condition = conditionOf(row.condition)
  let made: { sql: Sql | undefined } | undefined
  return {
    project_id,
    id,
    watches,
    condition,
    guards: watches === 'call' ? guardsOf(condition.filter, condition.query) : [],
    sql() {
      made ??= { sql: conditionsOf(dialect, row, condition) }
      return made.sql
    },
  }
}

/** The condition of a rule on one row, as queries of calls and of feedback have it. */
function conditionsOf(
  dialect: Reader['dialect'],
  { watches, project_id }: AlertRule,
  { filter, query }: Condition,
): Sql | undefined {
  const view = { project: project_id, filters: [filter], query, sort: [], limit: null, offset: 0 }
  const conditions =
    watches === 'score' ? feedbackConditions(view, dialect) : callsQueryOf({ dialect }, view).conditions
  return conditions.length === 0 ? undefined : allOf(conditions)
}
