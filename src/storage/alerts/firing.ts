import { batchesOf, readInBatches } from '../../domain/batches.ts'
import { valueAt } from '../../domain/expressions/json-value.ts'
import { splitPath } from '../../domain/expressions/path.ts'
import { isPicked } from '../../domain/queues/rules.ts'
import { Refusal } from '../../domain/refusals.ts'
import { isLive } from '../calls/calls.ts'
import { type CallPart, writtenFacts } from '../calls/parts.ts'
import type { Feedback } from '../feedback/feedback.ts'
import { allOf, listOf, type Sql, sql } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'
import { aboutDecision, type DecidedCall, decidedAmong } from './decisions.ts'
import { type EndedCall, endedColumns } from './guards.ts'
import { addEvents, type Happened } from './outbox.ts'
import { type AlertRule, alertRules, oneRule, ruleLock } from './rules.ts'
import { type ActiveRule, watchedIn } from './watched.ts'

/** Calls and feedback of one statement. */
const idsAtOnce = 100
/** What ended or was said longer ago is history that is imported, and no alert. */
const newsMicroseconds = 24 * 3_600 * 1_000_000
/** The longest text of a call in a message. */
const maxText = 200

const shortened = (text: string) => (text.length > maxText ? `${text.slice(0, maxText)}…` : text)

/** Called after calls of a project were written: fires the rules that pick those of them that have ended. */
export async function fireForCalls(
  tx: Transaction,
  project: string,
  written: readonly CallPart[],
  now: number,
): Promise<void> {
  const { calls: rules, picking, decisions } = await watchedIn(tx, project)
  if (rules.length === 0 && decisions.length === 0) return
  const byRule = new Map<ActiveRule, EndedCall[]>()
  const decided: DecidedCall[] = []
  for (const some of batchesOf(written, idsAtOnce)) {
    const ended = await endedAmong(tx, project, some, now)
    if (decisions.length > 0) decided.push(...(await decidedAmong(tx, project, ended, some)))
    for (const call of ended) {
      for (const rule of picking(call)) {
        const passing = byRule.get(rule)
        if (passing === undefined) byRule.set(rule, [call])
        else passing.push(call)
      }
    }
  }
  // Each rule once, in the order of their ids: writes that lock the same rules wait for each other and never in a circle.
  for (const rule of byRule.size > 0 ? rules : []) {
    const passing = byRule.get(rule)
    if (passing === undefined) continue
    const picked = await confirmed(tx, isLive(now), rule, passing)
    await fire(tx, rule, picked.map(aboutCall), now)
  }
  if (decided.length > 0) await fireForDecisions(tx, decisions, decided, now)
}

async function fireForDecisions(
  tx: Transaction,
  rules: readonly ActiveRule[],
  decided: readonly DecidedCall[],
  now: number,
): Promise<void> {
  for (const rule of rules) {
    const bounds = rule.condition.decision
    if (bounds === undefined) continue
    const passing = decided.filter((each) => aboutDecision(bounds, each) !== undefined)
    const picked = await confirmed(tx, isLive(now), rule, passing)
    const happened = picked.map((each) => {
      const { subject, data } = aboutCall(each.call)
      return { subject, data: { ...data, decision: aboutDecision(bounds, each) } }
    })
    await fire(tx, rule, happened, now)
  }
}

/** A call that was written as a whole is not read again; of one that came in parts, the other part is in the record. */
async function endedAmong(
  tx: Transaction,
  project: string,
  written: readonly CallPart[],
  now: number,
): Promise<EndedCall[]> {
  const ended: EndedCall[] = []
  const partial: string[] = []
  for (const call of written) {
    const facts = writtenFacts(call)
    const { id, start, end } = call
    if (facts === undefined || !start || !end) partial.push(id)
    else if (end.ended_at > now - newsMicroseconds) {
      const { trace_id, op_name, started_at } = start
      const { op, status, asked_model, input_tokens, output_tokens } = facts
      const latency_ms = Math.trunc((end.ended_at - started_at) / 1_000)
      const model = facts.model ?? asked_model
      ended.push({ id, trace_id, op_name, op, status, model, latency_ms, input_tokens, output_tokens })
    }
  }
  if (partial.length === 0) return ended
  const others = await tx.all<EndedCall>(
    sql`SELECT ${endedColumns} FROM calls WHERE project_id = ${project} AND id IN (${listOf(partial)})
        AND ended_at > ${now - newsMicroseconds} AND ${isLive(now)}`,
  )
  return [...ended, ...others]
}

const aboutCall = (call: EndedCall): Happened => {
  const { id, trace_id, op_name, status, model } = call
  const data = {
    call_id: id,
    trace_id,
    op_name: shortened(op_name),
    status,
    model: model && shortened(model),
  }
  return {
    subject: `call ${id}`,
    data: { ...data, latency_ms: Number(call.latency_ms), ...tokensOf(call) },
  }
}

const tokensOf = ({ input_tokens, output_tokens }: EndedCall) => ({
  input_tokens: input_tokens === null ? null : Number(input_tokens),
  output_tokens: output_tokens === null ? null : Number(output_tokens),
})

/** Called after feedback was written, with what is new. */
export async function fireForFeedback(
  tx: Transaction,
  records: readonly Feedback[],
  now: number,
): Promise<void> {
  const byProject = Map.groupBy(records, ({ project_id }) => project_id)
  for (const project of [...byProject.keys()].sort()) {
    const { scores: rules } = await watchedIn(tx, project)
    if (rules.length === 0) continue
    const own = (byProject.get(project) as Feedback[]).filter(
      ({ created_at }) => created_at > now - newsMicroseconds,
    )
    for (const rule of rules) {
      const { score } = rule.condition
      const passing =
        score === undefined
          ? own
          : own.filter((record) =>
              isPicked({ kind: 'scores', ...score }, record.feedback_type, record.payload),
            )
      const picked = await confirmed(tx, undefined, rule, passing)
      const path = score?.path == null ? [] : splitPath(score.path)
      const happened = picked.map((record) => aboutFeedback(record, path))
      await fire(tx, rule, happened, now)
    }
  }
}

function aboutFeedback(record: Feedback, path: readonly string[]): Happened {
  const { id, feedback_type, svc_ref, call_id, payload } = record
  const value = valueAt(payload, ['output', ...path])
  return {
    subject: `feedback ${id}`,
    data: {
      feedback_id: id,
      feedback_type: shortened(feedback_type),
      call_id,
      ref: shortened(svc_ref),
      value: value === undefined ? null : shortened(value),
    },
  }
}

/** Those that meet the condition of the rule. A condition that cannot be computed never fails the write: it is not met. */
async function confirmed<Row extends { id: string }>(
  tx: Transaction,
  live: Sql | undefined,
  rule: ActiveRule,
  rows: readonly Row[],
): Promise<readonly Row[]> {
  const own = rows.length === 0 ? undefined : rule.sql()
  if (rows.length === 0 || (live ?? own) === undefined) return rows
  const table = live === undefined ? 'feedback' : 'calls'
  const condition = allOf([live, own].flatMap((each) => each ?? []))
  const ids = rows.map(({ id }) => id)
  const picked = await readInBatches(ids, idsAtOnce, (some) =>
    idsWhere(tx, statements[table](rule.project_id, some, condition)),
  )
  const found = new Set(picked.map(({ id }) => id))
  return rows.filter(({ id }) => found.has(id))
}

const statements = {
  calls: (project: string, ids: readonly string[], condition: Sql) =>
    sql`SELECT id FROM calls WHERE project_id = ${project} AND id IN (${listOf(ids)}) AND ${condition}`,
  feedback: (project: string, ids: readonly string[], condition: Sql) =>
    sql`SELECT id FROM feedback WHERE project_id = ${project} AND id IN (${listOf(ids)}) AND ${condition}`,
}

async function idsWhere(tx: Transaction, statement: Sql): Promise<{ id: string }[]> {
  try {
    return await tx.all<{ id: string }>(statement)
  } catch (error) {
    if (error instanceof Refusal && error.code === 'row_too_large') return []
    throw error
  }
}

/** What a message says of the rule that made it. */
export const aboutRule = ({ id, name, severity }: AlertRule) => ({ rule: { id, name, severity } })

/**
 * Fires once for each thing. A rule with a cool-down fires for the first, and counts what it holds back until its next
 * message.
 */
export async function fire(
  tx: Transaction,
  { project_id, id: rule_id }: ActiveRule,
  happened: readonly Happened[],
  now: number,
): Promise<void> {
  if (happened.length === 0) return
  const key = { project_id, rule_id }
  const read = () => alertRules.get<AlertRule>(tx, sql`${oneRule(key)} AND active = 1`)
  let rule = await read()
  if (rule === undefined) return
  // What is known is read before the lock, which others wait for until the commit: whoever writes the same call or
  // feedback has to wait for its row.
  const fresh = rule.cooldown > 0 ? await withoutKnown(tx, key, happened) : happened
  if (fresh.length === 0) return
  if (rule.cooldown > 0) {
    await tx.lock(ruleLock(key))
    rule = await read()
  }
  if (rule === undefined) return
  const { name, cooldown, fired_at } = rule
  const isCool = cooldown > 0 && fired_at !== null && now < fired_at + cooldown * 1_000_000
  const fired = cooldown === 0 ? fresh : fresh.slice(0, isCool ? 0 : 1)
  const suppressed = isCool ? rule.suppressed : 0
  const events = fired.map(({ subject, data }) => ({
    subject,
    data: { ...aboutRule({ ...rule, name: shortened(name) }), ...data, suppressed_before: rule.suppressed },
  }))
  const only = rule.endpoints === null ? null : (JSON.parse(rule.endpoints) as string[])
  await addEvents(tx, { project: project_id, type: 'alert.fired', rule: rule_id, only }, events, now)
  if (cooldown === 0) return
  const held = suppressed + fresh.length - fired.length
  await tx.run(
    sql`UPDATE alert_rules SET fired_at = ${isCool ? fired_at : now}, suppressed = ${held} WHERE ${oneRule(key)}`,
  )
}

/** A call that is sent again neither fires nor counts again. */
async function withoutKnown(
  tx: Transaction,
  { project_id, rule_id }: { project_id: string; rule_id: string },
  happened: readonly Happened[],
): Promise<Happened[]> {
  const subjects = happened.map(({ subject }) => subject)
  const known = await readInBatches(subjects, idsAtOnce, (some) =>
    tx.all<{ subject: string }>(
      sql`SELECT subject FROM alert_events WHERE project_id = ${project_id} AND rule_id = ${rule_id} AND subject IN (${listOf(some)})`,
    ),
  )
  const old = new Set(known.map(({ subject }) => subject))
  return happened.filter(({ subject }) => !old.has(subject))
}
