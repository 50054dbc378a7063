import { formatTime } from '../../domain/time.ts'
import { rawSql, sql } from '../sql/sql.ts'
import type { Command, Reader } from '../transaction.ts'
import { aboutRule } from './firing.ts'
import { addEvents } from './outbox.ts'
import { type AlertRule, alertRules, conditionOf, oneRule, type RuleKey, ruleLock } from './rules.ts'
import { turnOfEntity } from './turns.ts'

/**
 * Rules over windows of any project that no process decides now, of each entity at most so many; the one that waits
 * longest first.
 */
export function windowRules(
  db: Reader,
  now: number,
  max: { entity: number; all: number },
): Promise<RuleKey[]> {
  return db.all<RuleKey>(
    sql`SELECT project_id, id AS rule_id FROM (
          SELECT project_id, id, taken_until, ${turnOfEntity(db, rawSql('taken_until, project_id, id'))} AS turn
          FROM alert_rules WHERE active = 1 AND watches = 'window' AND taken_until <= ${now}) AS waiting
        WHERE turn <= ${max.entity} ORDER BY turn, taken_until, project_id, id LIMIT ${max.all}`,
  )
}

/** Takes a rule, unless another process was first. */
export const takeWindowRule: Command<
  RuleKey & { now: number; until: number },
  AlertRule | undefined
> = async (tx, { now, until, ...key }) => {
  await tx.lock(ruleLock(key))
  const rule = await alertRules.get<AlertRule>(
    tx,
    sql`${oneRule(key)} AND active = 1 AND watches = 'window' AND taken_until <= ${now}`,
  )
  if (rule === undefined) return undefined
  await tx.run(sql`UPDATE alert_rules SET taken_until = ${until} WHERE ${oneRule(key)}`)
  return { ...rule, taken_until: until }
}

interface Decision extends RuleKey {
  /** The condition that was computed; one that has changed meanwhile is not decided. */
  condition: string
  /** The end of the window. */
  end: number
  /** Null if there is too little in the window to tell. */
  value: number | null
  count: number
  holds: boolean
  /** When the rule is looked at again. */
  next: number
  now: number
}

/**
 * Fires when the condition begins to hold, again after the cool-down while it lasts, and resolves when it ends. A
 * window is decided once, whichever process comes first.
 */
export const decideWindow: Command<Decision, boolean> = async (tx, decision) => {
  const { project_id, rule_id, end, value, count, holds, next, now } = decision
  await tx.lock(ruleLock(decision))
  const rule = await alertRules.get<AlertRule>(tx, sql`${oneRule(decision)} AND active = 1`)
  if (rule === undefined || rule.condition !== decision.condition) return false
  if (rule.checked_at >= end) {
    await tx.run(sql`UPDATE alert_rules SET taken_until = ${next} WHERE ${oneRule(decision)}`)
    return false
  }
  const isAgain = rule.fired_at === null || end >= rule.fired_at + rule.cooldown * 1_000_000
  const fires = holds && isAgain
  const resolves = !holds && rule.firing === 1
  const { window } = conditionOf(rule.condition)
  const event = (subject: string) => ({
    subject,
    data: {
      ...aboutRule(rule),
      ...(window && {
        window: { ...window, from: formatTime(end - window.seconds * 1_000_000), to: formatTime(end) },
      }),
      value,
      count,
    },
  })
  const only = rule.endpoints === null ? null : (JSON.parse(rule.endpoints) as string[])
  const source = { project: project_id, rule: rule_id, only }
  if (fires) await addEvents(tx, { ...source, type: 'alert.fired' }, [event(`window ${end}`)], now)
  if (resolves) await addEvents(tx, { ...source, type: 'alert.resolved' }, [event(`resolved ${end}`)], now)
  const firing = fires || (rule.firing === 1 && holds) ? 1 : 0
  await tx.run(
    sql`UPDATE alert_rules SET checked_at = ${end}, firing = ${firing}, fired_at = ${fires ? end : rule.fired_at},
        taken_until = ${next} WHERE ${oneRule(decision)}`,
  )
  return fires
}
