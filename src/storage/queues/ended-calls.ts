import { membersOf } from '../../../packages/json/index.ts'
import { readInBatches } from '../../domain/batches.ts'
import { newId } from '../../domain/ids.ts'
import { type FilteredCall, matchesRule } from '../../domain/queues/rules.ts'
import type { QueueStep } from '../alerts/queues.ts'
import { isLive } from '../calls/calls.ts'
import { requestedModel } from '../calls/fields.ts'
import { listOf, rawSql, sql } from '../sql/sql.ts'
import type { Reader, Transaction } from '../transaction.ts'
import { addToQueue } from './additions.ts'
import { rulesLock } from './queues.ts'
import { type ActiveRule, activeRules } from './rules.ts'

/** Ids per statement. */
const idsAtOnce = 100

/** Calls of a project that may end with a write, and the rules that will then examine them. */
interface WatchedCalls {
  project: string
  rules: ActiveRule[]
  ids: string[]
}

/**
 * Called before calls of a project are written: finds those that have not ended yet. A call that is sent again has
 * already ended, so it is counted once. Undefined if no rule is active, which is all that this costs most projects. The
 * lock makes two processes count one after the other, and the rules are read again under it.
 */
export async function findUnendedCalls(
  tx: Transaction,
  project: string,
  ids: readonly string[],
): Promise<WatchedCalls | undefined> {
  if ((await activeRules(tx, project)).length === 0) return undefined
  await tx.lock(rulesLock(project))
  const rules = await activeRules(tx, project)
  const ended = await endedAmong(tx, project, ids)
  return { project, rules, ids: ids.filter((id) => !ended.has(id)) }
}

/** Those that have a start and an end, even if deleted or expired. */
export async function endedAmong(db: Reader, project: string, ids: readonly string[]): Promise<Set<string>> {
  const ended = await readInBatches(ids, idsAtOnce, (some) =>
    db.all<{ id: string }>(
      sql`SELECT id FROM calls WHERE project_id = ${project} AND id IN (${listOf(some)})
          AND started_at IS NOT NULL AND ended_at IS NOT NULL`,
    ),
  )
  return new Set(ended.map(({ id }) => id))
}

/**
 * Called after the write: puts the calls that have ended into the queues of the rules that pick them, in the order of
 * the write. Returns what was added, for the alerts on the queues.
 */
export async function applyRules(tx: Transaction, watched: WatchedCalls, now: number): Promise<QueueStep[]> {
  const { project, rules, ids } = watched
  const ended = await endedCalls(tx, project, ids, rules, now)
  const steps: QueueStep[] = []
  if (ended.length === 0) return steps
  const hasScores = rules.some(({ pick }) => pick.kind === 'scores')
  const scored = hasScores ? await takeScores(tx, project, ended) : undefined
  for (const rule of rules) {
    const passing = ended.filter((call) => matchesRule(rule.filter, call))
    const picked = await pickedBy(tx, project, rule, passing, scored)
    const ids = picked.map(({ id }) => id)
    steps.push(await queueByRule(tx, project, rule, ids, now))
  }
  return steps
}

interface EndedCall extends FilteredCall {
  id: string
  failed: boolean
}

/** The live ones among these that have ended, in this order. Models are read only if a rule needs them. */
export async function endedCalls(
  db: Reader,
  project: string,
  ids: readonly string[],
  rules: readonly ActiveRule[],
  now: number,
): Promise<EndedCall[]> {
  const { dialect } = db
  const none = rawSql('NULL')
  const asksModels = rules.some(({ filter }) => filter.models !== null)
  const usage = asksModels ? dialect.token(rawSql('calls.summary'), ['usage']) : none
  const model = asksModels ? requestedModel(dialect) : none
  type Row = { id: string; op_name: string; failed: number; usage: string | null; model: string | null }
  const byId = new Map<string, EndedCall>()
  const rows = await readInBatches(ids, idsAtOnce, (some) =>
    db.all<Row>(
      sql`SELECT id, op_name, CASE WHEN exception <> '' THEN 1 ELSE 0 END AS failed, ${usage} AS usage, ${model} AS model
          FROM calls WHERE project_id = ${project} AND id IN (${listOf(some)}) AND ended_at IS NOT NULL AND ${isLive(now)}`,
    ),
  )
  for (const { id, op_name, failed, usage, model } of rows) {
    const used = usage?.startsWith('{') ? membersOf(usage).keys() : []
    byId.set(id, { id, op_name, failed: failed === 1, models: [...used, ...(model ? [model] : [])] })
  }
  return ids.flatMap((id) => byId.get(id) ?? [])
}

async function pickedBy(
  tx: Transaction,
  project: string,
  { id, pick }: ActiveRule,
  calls: readonly EndedCall[],
  scored: ReadonlyMap<string, ReadonlySet<string>> | undefined,
): Promise<readonly EndedCall[]> {
  switch (pick.kind) {
    case 'all':
      return calls
    case 'errors':
      return calls.filter(({ failed }) => failed)
    case 'scores':
      return calls.filter((call) => scored?.get(id)?.has(call.id))
    case 'every_nth': {
      if (calls.length === 0) return calls
      const row = await tx.get<{ counted: number }>(
        sql`UPDATE annotation_rules SET counted = counted + ${calls.length}
            WHERE project_id = ${project} AND id = ${id} RETURNING counted`,
      )
      const before = (row as { counted: number }).counted - calls.length
      return calls.filter((_, index) => (before + index + 1) % pick.n === 0)
    }
  }
}

/** For each rule, the calls whose score arrived before their end. */
async function takeScores(
  tx: Transaction,
  project: string,
  calls: readonly EndedCall[],
): Promise<Map<string, Set<string>>> {
  const byRule = new Map<string, Set<string>>()
  const ids = calls.map(({ id }) => id)
  const taken = await readInBatches(ids, idsAtOnce, (some) =>
    tx.all<{ rule_id: string; call_id: string }>(
      sql`DELETE FROM annotation_rule_scores WHERE project_id = ${project} AND call_id IN (${listOf(some)})
          RETURNING rule_id, call_id`,
    ),
  )
  for (const { rule_id, call_id } of taken) {
    byRule.set(rule_id, (byRule.get(rule_id) ?? new Set()).add(call_id))
  }
  return byRule
}

/** A call that is already in the queue is left as it is. */
export async function queueByRule(
  tx: Transaction,
  project: string,
  { id, queue_id, display_fields, created_by }: ActiveRule,
  callIds: readonly string[],
  now: number,
): Promise<QueueStep> {
  if (callIds.length === 0) return { queue_id, waiting: 0 }
  const { added } = await addToQueue(tx, {
    project_id: project,
    queue_id,
    calls: callIds.map((call_id) => ({ item_id: newId(), call_id, other_call_id: null })),
    display_fields,
    added_by: created_by,
    rule_id: id,
    now,
  })
  return { queue_id, waiting: added }
}

/** Called when calls of a project are removed for good. */
export async function deleteRuleScores(
  tx: Transaction,
  project: string,
  calls: readonly string[],
): Promise<void> {
  await tx.run(
    sql`DELETE FROM annotation_rule_scores WHERE project_id = ${project} AND call_id IN (${listOf(calls)})`,
  )
}
