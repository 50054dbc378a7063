import { membersOf } from '../../../packages/json/index.ts'
import { byCaller, type Caller, requireAccess } from '../../domain/callers.ts'
import { checkPath } from '../../domain/expressions/path.ts'
import { newId } from '../../domain/ids.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { wrong } from '../../domain/refusals.ts'
import { formatTime, now } from '../../domain/time.ts'
import { viewOf } from '../../domain/view.ts'
import {
  type AlertRule,
  conditionOf,
  listAlertRules,
  type RuleChange,
  type RuleKey,
  requireRule,
} from '../../storage/alerts/rules.ts'
import type { Database } from '../../storage/database.ts'
import { feedbackInView } from '../../storage/feedback/queries.ts'
import { requireQueue } from '../../storage/queues/queues.ts'
import type { Reader } from '../../storage/transaction.ts'
import { checkConditions } from '../monitors/conditions.ts'
import type { CreateRuleBody, TryRuleBody, UpdateRuleBody } from './contract.ts'

const conditionNames = ['filter', 'query', 'score', 'decision', 'queue', 'budget', 'window'] as const

type Conditions = Pick<TryRuleBody, (typeof conditionNames)[number]>

/** What each kind of rule looks at. */
const takenBy = {
  call: ['filter', 'query'],
  score: ['score', 'query'],
  decision: ['decision'],
  queue: ['queue'],
  budget: ['budget'],
  window: ['window', 'filter', 'query'],
}

/** What it cannot do without. */
const neededBy = {
  decision: 'an answer, or a bound of its probability',
  queue: 'how many items wait',
  budget: 'a share of its amount',
  window: 'a measure, its window and its bound',
}

/** Refuses what does not belong together, and what a query would refuse. Returns what is stored. */
export async function conditionText(
  db: Database,
  project: string,
  on: AlertRule['watches'],
  conditions: Conditions,
): Promise<string> {
  const { filter, query, score, decision, queue, budget, window } = conditions
  for (const name of conditionNames) {
    if (conditions[name] == null || takenBy[on].includes(name)) continue
    throw wrong(name, `a condition that a rule on ${on} does not have`, takenBy[on].join(', '))
  }
  if (on !== 'call' && on !== 'score' && conditions[on] == null) throw wrong(on, 'nothing', neededBy[on])
  if (queue?.queue_id != null) await requireQueue(db, { project_id: project, queue_id: queue.queue_id })
  if (window?.measure === 'score_avg' && (filter ?? query) != null) {
    throw wrong('window.measure', 'score_avg with a filter or a query', 'score_avg with scorer and path only')
  }
  if (window && window.measure !== 'score_avg' && (window.scorer ?? window.path) != null) {
    throw wrong('window.scorer', `a scorer or path for ${window.measure}`, 'these for score_avg only')
  }
  for (const [field, path] of [
    ['score.path', score?.path],
    ['window.path', window?.path],
  ] as const) {
    if (path != null) checkPath(path, field)
  }
  if (on === 'score') feedbackInView(db, viewOf({ project_id: project, query }), ['id'])
  else checkConditions(db, project, { filter, query })
  const bounds = { scorer: null, path: null, below: null, above: null }
  return writeJson({
    ...(filter && { filter }),
    ...(query && { query }),
    ...(score && { score: withNulls(bounds, score) }),
    ...(decision && {
      decision: withNulls({ question: null, answer: null, below: null, above: null }, decision),
    }),
    ...(queue && { queue: withNulls({ queue_id: null }, queue) }),
    ...(budget && { budget }),
    ...(window && { window: withNulls({ ...bounds, min_count: 1 }, window) }),
  })
}

const withNulls = (defaults: object, members: object) => ({
  ...defaults,
  ...Object.fromEntries(Object.entries(members).filter(([, value]) => value != null)),
})

const listText = (list: readonly string[] | null | undefined) => (list == null ? null : JSON.stringify(list))

/** A window that is not decided anew all the time says once that its condition holds. */
export const cooldownOf = ({ cooldown_seconds, window }: Pick<TryRuleBody, 'cooldown_seconds' | 'window'>) =>
  cooldown_seconds ?? window?.seconds ?? 0

export async function createRule(db: Database, caller: Caller, body: CreateRuleBody) {
  const { project_id, name, on, severity, endpoint_ids, active } = body
  requireAccess(caller, project_id)
  const time = now()
  const rule: AlertRule = {
    project_id,
    id: newId(),
    name,
    watches: on,
    condition: await conditionText(db, project_id, on, body),
    severity: severity ?? 'error',
    cooldown: cooldownOf(body),
    endpoints: listText(endpoint_ids),
    active: (active ?? true) ? 1 : 0,
    fired_at: null,
    suppressed: 0,
    firing: 0,
    checked_at: time,
    taken_until: 0,
    created_at: time,
    created_by: caller.name,
    updated_at: time,
  }
  await db.write('addAlertRule', { ...rule })
  return { rule: ruleRecord(rule) }
}

export async function readRules(db: Reader, caller: Caller, project: string) {
  requireAccess(caller, project)
  return { rules: (await listAlertRules(db, project)).map(ruleRecord) }
}

/** Absent fields stay as they are; null resets a field to its default. */
export async function updateRule(db: Database, caller: Caller, rule_id: string, body: UpdateRuleBody) {
  const { project_id, name, severity, cooldown_seconds, endpoint_ids, active } = body
  requireAccess(caller, project_id)
  const key = { project_id, rule_id }
  const known = await requireRule(db, key)
  const change: RuleChange = {}
  if (name !== undefined) change.name = name
  if (severity !== undefined) change.severity = severity ?? 'error'
  if (endpoint_ids !== undefined) change.endpoints = listText(endpoint_ids)
  if (active !== undefined) change.active = (active ?? true) ? 1 : 0
  if (conditionNames.some((condition) => body[condition] !== undefined)) {
    const names = conditionNames.filter((condition) => body[condition] !== undefined)
    const conditions = {
      ...storedConditions(known),
      ...Object.fromEntries(names.map((of) => [of, body[of]])),
    }
    change.condition = await conditionText(db, project_id, known.watches, conditions)
  }
  if (cooldown_seconds !== undefined) {
    const { window } = conditionOf(change.condition ?? known.condition)
    change.cooldown = cooldown_seconds ?? window?.seconds ?? 0
  }
  return { rule: ruleRecord(await db.write('changeAlertRule', { ...key, change, now: now() })) }
}

function storedConditions({ condition }: AlertRule): Conditions {
  const conditions = JSON.parse(condition) as Conditions
  const query = membersOf(condition).get('query')
  return { ...conditions, query: query === undefined ? undefined : new JsonText(query) }
}

export async function deleteRule(db: Database, caller: Caller, key: RuleKey) {
  requireAccess(caller, key.project_id)
  return { rule: ruleRecord(await db.write('deleteAlertRule', { ...key, by: byCaller(caller) })) }
}

function ruleRecord(rule: AlertRule) {
  const stored = membersOf(rule.condition)
  return {
    id: rule.id,
    project_id: rule.project_id,
    name: rule.name,
    on: rule.watches,
    ...Object.fromEntries(conditionNames.map((name) => [name, new JsonText(stored.get(name) ?? 'null')])),
    severity: rule.severity,
    cooldown_seconds: rule.cooldown,
    endpoint_ids: rule.endpoints === null ? null : (JSON.parse(rule.endpoints) as string[]),
    active: rule.active === 1,
    firing: rule.firing === 1,
    suppressed: rule.suppressed,
    created_at: formatTime(rule.created_at),
    created_by: rule.created_by,
    updated_at: formatTime(rule.updated_at),
  }
}
