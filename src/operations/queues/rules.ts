import { byCaller, type Caller, requireAccess } from '../../domain/callers.ts'
import { checkPath } from '../../domain/expressions/path.ts'
import { newId } from '../../domain/ids.ts'
import type { RuleFilter, RulePick } from '../../domain/queues/rules.ts'
import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import type { QueueKey } from '../../storage/queues/queues.ts'
import { listRules, type RuleKey } from '../../storage/queues/rules.ts'
import type { Reader } from '../../storage/transaction.ts'
import { ruleRecord } from './record.ts'
import type { CreateRuleBody, UpdateRuleBody } from './rule-contract.ts'

/** Parts that a rule leaves open become null. */
function pickOf(pick: CreateRuleBody['pick']): RulePick {
  if (pick.kind !== 'scores') return pick
  const { kind, scorer = null, path = null, below = null, above = null } = pick
  if (path !== null) checkPath(path, 'pick.path')
  return { kind, scorer, path, below, above }
}

function filterOf(filter: CreateRuleBody['filter']): RuleFilter {
  return { op_names: filter?.op_names ?? null, models: filter?.models ?? null }
}

export async function createRule(db: Database, caller: Caller, queue_id: string, body: CreateRuleBody) {
  const { project_id, display_fields, paused } = body
  requireAccess(caller, project_id)
  const pick = pickOf(body.pick)
  const time = now()
  const id = newId()
  await db.write('addQueueRule', {
    project_id,
    id,
    queue_id,
    pick: JSON.stringify(pick),
    filter: JSON.stringify(filterOf(body.filter)),
    display_fields: JSON.stringify(display_fields ?? []),
    paused: paused ? 1 : 0,
    counted: 0,
    created_at: time,
    created_by: caller.name,
    updated_at: time,
  })
  return { id }
}

export async function readRules(db: Reader, caller: Caller, key: QueueKey) {
  requireAccess(caller, key.project_id)
  return { rules: (await listRules(db, key)).map(ruleRecord) }
}

export async function updateRule(
  db: Database,
  caller: Caller,
  key: Omit<RuleKey, 'project_id'>,
  { project_id, paused }: UpdateRuleBody,
) {
  requireAccess(caller, project_id)
  return { rule: ruleRecord(await db.write('pauseQueueRule', { ...key, project_id, paused, now: now() })) }
}

export async function deleteRule(db: Database, caller: Caller, key: RuleKey) {
  requireAccess(caller, key.project_id)
  return { rule: ruleRecord(await db.write('deleteQueueRule', { ...key, by: byCaller(caller) })) }
}
