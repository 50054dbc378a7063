import { membersOf } from '../../../packages/json/index.ts'
import type { BudgetBounds, QueueBounds, ScoreBounds, Watched, WindowBounds } from '../../domain/alerts.ts'
import type { DecisionBounds } from '../../domain/decided.ts'
import type { Expression } from '../../domain/expressions/expression.ts'
import { parseExpressionText } from '../../domain/expressions/parse.ts'
import { refuse } from '../../domain/refusals.ts'
import type { CallsFilter } from '../calls/filter.ts'
import { type Sql, sql } from '../sql/sql.ts'
import { type RowIn, tableOf } from '../sql/table.ts'
import type { Command, Reader, Transaction } from '../transaction.ts'
import { guardsOf } from './guards.ts'
import { countChange } from './versions.ts'

export const alertRules = tableOf('alert_rules', {
  project_id: 'text',
  id: 'text',
  name: 'text',
  watches: 'text',
  condition: 'text',
  severity: 'text',
  cooldown: 'number',
  endpoints: 'text?',
  active: 'number',
  fired_at: 'time?',
  suppressed: 'number',
  firing: 'number',
  checked_at: 'time',
  taken_until: 'time',
  created_at: 'time',
  created_by: 'text',
  updated_at: 'time',
})

/** When a message is sent. `condition` is a JSON object, `endpoints` a JSON list of ids. */
export type AlertRule = Omit<RowIn<typeof alertRules>, 'watches'> & { watches: Watched }

export interface RuleKey {
  project_id: string
  rule_id: string
}

/** The condition of a rule, as its kind needs it. */
export interface Condition {
  filter: CallsFilter
  query: Expression | undefined
  score: ScoreBounds | undefined
  decision: DecisionBounds | undefined
  queue: QueueBounds | undefined
  budget: BudgetBounds | undefined
  window: WindowBounds | undefined
}

export function conditionOf(text: string): Condition {
  const { filter, score, decision, queue, budget, window } = JSON.parse(text) as Partial<Condition>
  const query = membersOf(text).get('query')
  return {
    filter: filter ?? {},
    query: query === undefined || query === 'null' ? undefined : parseExpressionText(query),
    score: score ?? undefined,
    decision: decision ?? undefined,
    queue: queue ?? undefined,
    budget: budget ?? undefined,
    window: window ?? undefined,
  }
}

/** Of a project. All of them are looked at when a call ends. */
const maxRules = 1_000
/** Each of them is decided anew all the time, from all calls of its window. */
const maxWindowRules = 50
/** Each of them costs every write of a call or of feedback a statement. */
const maxBroadRules = 20

/** Everything that changes a rule takes this lock. */
export const ruleLock = ({ project_id, rule_id }: RuleKey) => `alert rule ${project_id} ${rule_id}`

export const oneRule = ({ project_id, rule_id }: RuleKey): Sql =>
  sql`project_id = ${project_id} AND id = ${rule_id}`

export async function requireRule(db: Reader, key: RuleKey): Promise<AlertRule> {
  const rule = await alertRules.get<AlertRule>(db, oneRule(key))
  if (rule !== undefined) return rule
  throw refuse('alert_rule_not_found', { field: 'rule_id', rule: key.rule_id, project: key.project_id })
}

/** Oldest first. */
export const listAlertRules = (db: Reader, project: string): Promise<AlertRule[]> =>
  alertRules.all<AlertRule>(db, sql`project_id = ${project} ORDER BY id`)

/** Whether nothing cheaper than its condition sorts out what the rule does not pick. */
function isBroad({ watches, condition }: Pick<AlertRule, 'watches' | 'condition'>): boolean {
  if (watches !== 'call' && watches !== 'score') return false
  const { filter, query, score } = conditionOf(condition)
  return watches === 'call' ? guardsOf(filter, query).length === 0 : score === undefined
}

async function requireRoom(tx: Transaction, rule: AlertRule): Promise<void> {
  const { project_id, watches } = rule
  const others = await tx.all<Pick<AlertRule, 'watches' | 'condition'>>(
    sql`SELECT watches, condition FROM alert_rules WHERE project_id = ${project_id} AND id <> ${rule.id}`,
  )
  const refuseBeyond = (count: number, limit: number, what: string) => {
    if (count >= limit) throw refuse('too_many_alert_things', { project: project_id, limit, what })
  }
  refuseBeyond(others.length, maxRules, 'alert rules')
  if (watches === 'window') {
    const windows = others.filter((other) => other.watches === 'window')
    refuseBeyond(windows.length, maxWindowRules, 'alert rules over windows')
  }
  if (isBroad(rule)) {
    const what = 'alert rules that name neither an op, a status, a model, a latency or tokens nor a score'
    refuseBeyond(others.filter(isBroad).length, maxBroadRules, what)
  }
}

export const addAlertRule: Command<AlertRule, void> = async (tx, rule) => {
  await countChange(tx, rule.project_id)
  await requireRoom(tx, rule)
  await alertRules.insert(tx, [rule])
}

const settings = ['name', 'condition', 'severity', 'cooldown', 'endpoints', 'active'] as const
const progress = ['fired_at', 'suppressed', 'firing', 'checked_at', 'taken_until'] as const
export type RuleChange = Partial<Pick<AlertRule, (typeof settings)[number]>>

/** Returns the rule after the change. With another condition it starts anew. */
export const changeAlertRule: Command<RuleKey & { change: RuleChange; now: number }, AlertRule> = async (
  tx,
  { change, now, ...key },
) => {
  await countChange(tx, key.project_id)
  await tx.lock(ruleLock(key))
  const rule = await requireRule(tx, key)
  const anew = { fired_at: null, suppressed: 0, firing: 0, checked_at: now, taken_until: 0 }
  const isOther = change.condition !== undefined && change.condition !== rule.condition
  const isResumed = change.active === 1 && rule.active === 0
  const changed: AlertRule = { ...rule, ...change, ...((isOther || isResumed) && anew), updated_at: now }
  if (isOther) await requireRoom(tx, changed)
  await alertRules.update(tx, changed, [...settings, ...progress, 'updated_at'], oneRule(key))
  return changed
}

/** Returns the rule as it was. What it has fired stays, and is delivered. */
export const deleteAlertRule: Command<RuleKey, AlertRule> = async (tx, key) => {
  await countChange(tx, key.project_id)
  await tx.lock(ruleLock(key))
  const rule = await requireRule(tx, key)
  await tx.run(sql`DELETE FROM alert_rules WHERE ${oneRule(key)}`)
  return rule
}
