import type { RuleFilter, RulePick } from '../../domain/queues/rules.ts'
import { refuse } from '../../domain/refusals.ts'
import { rawSql, type Sql, sql } from '../sql/sql.ts'
import { type RowIn, tableOf } from '../sql/table.ts'
import { type Command, countOf, type Reader } from '../transaction.ts'
import { type QueueKey, requireQueue, rulesLock } from './queues.ts'

const queueRules = tableOf('annotation_rules', {
  project_id: 'text',
  id: 'text',
  queue_id: 'text',
  /** RulePick */
  pick: 'json',
  /** RuleFilter */
  filter: 'json',
  display_fields: 'json',
  paused: 'number',
  /** Calls that passed the filter, for a rule that picks every nth. */
  counted: 'number',
  created_at: 'time',
  created_by: 'text',
  updated_at: 'time',
})

/** A rule that puts calls into a queue automatically. Times are microseconds; `paused` is 0 or 1; JSON is text. */
export type QueueRule = RowIn<typeof queueRules>

export interface RuleKey extends QueueKey {
  rule_id: string
}

/** Rules of a project: every call that ends in it is checked against each of them. */
const maxRules = 50

function shownColumns({ dialect }: Reader): Sql {
  const stored = (name: string) => sql`${dialect.stored(rawSql(name))} AS ${rawSql(name)}`
  return sql`project_id, id, queue_id, ${stored('pick')}, ${stored('filter')}, ${stored('display_fields')}, paused, counted,
    created_at, created_by, updated_at`
}

const ofQueue = ({ project_id, queue_id }: QueueKey) =>
  sql`project_id = ${project_id} AND queue_id = ${queue_id}`

/** Oldest first. */
export async function listRules(db: Reader, key: QueueKey): Promise<QueueRule[]> {
  await requireQueue(db, key)
  return db.all<QueueRule>(
    sql`SELECT ${shownColumns(db)} FROM annotation_rules WHERE ${ofQueue(key)} ORDER BY id`,
  )
}

export const addQueueRule: Command<QueueRule, void> = async (tx, rule) => {
  const { project_id } = rule
  await tx.lock(rulesLock(project_id))
  await requireQueue(tx, rule)
  if ((await countOf(tx, sql`annotation_rules WHERE project_id = ${project_id}`)) >= maxRules) {
    throw refuse('too_many_queue_rules', { project: project_id, limit: maxRules })
  }
  await queueRules.insert(tx, [rule])
}

async function requireRule(db: Reader, key: RuleKey): Promise<QueueRule> {
  await requireQueue(db, key)
  const rule = await db.get<QueueRule>(
    sql`SELECT ${shownColumns(db)} FROM annotation_rules WHERE ${ofQueue(key)} AND id = ${key.rule_id}`,
  )
  if (rule !== undefined) return rule
  throw refuse('queue_rule_not_found', { field: 'rule_id', rule: key.rule_id, queue: key.queue_id })
}

/** Returns the rule after the change. */
export const pauseQueueRule: Command<RuleKey & { paused: boolean; now: number }, QueueRule> = async (
  tx,
  { paused, now, ...key },
) => {
  await tx.lock(rulesLock(key.project_id))
  const rule = await requireRule(tx, key)
  if ((rule.paused === 1) === paused) return rule
  const changed = { ...rule, paused: paused ? 1 : 0, updated_at: now }
  await tx.run(
    sql`UPDATE annotation_rules SET paused = ${changed.paused}, updated_at = ${now}
        WHERE project_id = ${rule.project_id} AND id = ${rule.id}`,
  )
  return changed
}

/** Returns the rule as it was. Its items stay. */
export const deleteQueueRule: Command<RuleKey, QueueRule> = async (tx, key) => {
  await tx.lock(rulesLock(key.project_id))
  const rule = await requireRule(tx, key)
  for (const [table, column] of [
    ['annotation_rules', 'id'],
    ['annotation_rule_scores', 'rule_id'],
  ]) {
    await tx.run(
      sql`DELETE FROM ${rawSql(`${table}`)} WHERE project_id = ${rule.project_id} AND ${rawSql(`${column}`)} = ${rule.id}`,
    )
  }
  return rule
}

/** A rule that is not paused. */
export interface ActiveRule extends Pick<QueueRule, 'id' | 'queue_id' | 'display_fields' | 'created_by'> {
  pick: RulePick
  filter: RuleFilter
}

type ActiveRow = Pick<QueueRule, 'id' | 'queue_id' | 'display_fields' | 'created_by' | 'pick' | 'filter'>

/** In the order of their creation. While a whole project is being deleted, a rule may briefly outlive its queue. */
export async function activeRules(db: Reader, project: string): Promise<ActiveRule[]> {
  const rows = await db.all<ActiveRow>(
    sql`SELECT id, queue_id, pick, filter, display_fields, created_by FROM annotation_rules
        WHERE project_id = ${project} AND paused = 0 AND EXISTS (SELECT 1 FROM annotation_queues AS queue
          WHERE queue.project_id = annotation_rules.project_id AND queue.id = queue_id AND queue.deleted_at IS NULL)
        ORDER BY id`,
  )
  return rows.map((row) => ({ ...row, pick: JSON.parse(row.pick), filter: JSON.parse(row.filter) }))
}
