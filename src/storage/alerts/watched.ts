import { callsQueryOf } from '../calls/queries.ts'
import { feedbackConditions } from '../feedback/queries.ts'
import { allOf, type Sql, sql } from '../sql/sql.ts'
import type { Reader, Transaction } from '../transaction.ts'
import { type EndedCall, type Guard, guardsOf } from './guards.ts'
import { indexRules } from './rule-index.ts'
import { type AlertRule, type Condition, conditionOf, ruleColumns } from './rules.ts'
import { remembered } from './versions.ts'

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
  hasEndpoints: boolean
}

const nothing: WatchedProject = { calls: [], picking: () => [], scores: [], hasEndpoints: false }

/** Compiled once after each change. */
export function watchedIn(tx: Transaction, project: string): Promise<WatchedProject> {
  return remembered(tx, project, nothing, async () => {
    const rows = await tx.all<AlertRule>(
      sql`SELECT ${ruleColumns} FROM alert_rules WHERE project_id = ${project} AND active = 1 AND watches <> 'window' ORDER BY id`,
    )
    const endpoint = await tx.get(
      sql`SELECT 1 AS one FROM alert_endpoints WHERE project_id = ${project} AND active = 1 LIMIT 1`,
    )
    const rules = rows.map((row) => compiled(tx.dialect, row))
    const calls = rules.filter(({ watches }) => watches === 'call')
    return {
      calls,
      picking: indexRules(calls),
      scores: rules.filter(({ watches }) => watches === 'score'),
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
    watches === 'call' ? callsQueryOf({ dialect }, view).conditions : feedbackConditions(view, dialect)
  return conditions.length === 0 ? undefined : allOf(conditions)
}
