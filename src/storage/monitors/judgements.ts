import { readInBatches } from '../../domain/batches.ts'
import { isLive } from '../calls/calls.ts'
import type { CallPart } from '../calls/parts.ts'
import { upsertCalls } from '../calls/writes.ts'
import type { Feedback } from '../feedback/feedback.ts'
import { addFeedback } from '../feedback/writes.ts'
import { emptySql, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { Command, Reader, Transaction } from '../transaction.ts'
import { findMonitor, type MonitorKey, type MonitorScorer, monitorLock } from './monitors.ts'

/** One call and one scorer of a monitor, taken by a process to be judged. */
export interface TakenJudgement {
  call_id: string
  scorer: string
  attempts: number
}

interface MonitorAtWork extends MonitorKey {
  /** The kind of its scorer. */
  kind: MonitorScorer['kind']
}

/** Some monitors of any project with judgements that could be made now, first those after a monitor. */
export function monitorsAtWork(
  db: Reader,
  kind: MonitorScorer['kind'],
  now: number,
  { project_id, monitor_id }: MonitorKey = { project_id: '', monitor_id: '' },
): Promise<MonitorKey[]> {
  return db.all<MonitorKey>(
    sql`SELECT project_id, id AS monitor_id FROM monitors WHERE active = 1 AND EXISTS (
          SELECT 1 FROM judgements WHERE judgements.project_id = monitors.project_id AND judgements.monitor_id = monitors.id
            AND judgements.state = 'pending' AND judgements.kind = ${kind} AND judgements.due_at <= ${now}
            AND (judgements.taken_until IS NULL OR judgements.taken_until <= ${now}))
        ORDER BY CASE WHEN (project_id, id) > (${project_id}, ${monitor_id}) THEN 0 ELSE 1 END, project_id, id LIMIT 1000`,
  )
}

interface TakeJudgements extends MonitorAtWork {
  /** The process that takes them. */
  holder: string
  /** Scorers that this process cannot run now. */
  except: readonly string[]
  limit: number
  now: number
  /** Until then they are not given to another process. */
  until: number
}

const ofMonitor = ({ project_id, monitor_id }: MonitorKey): Sql =>
  sql`project_id = ${project_id} AND monitor_id = ${monitor_id}`

const oneOf = (key: MonitorKey, { call_id, scorer }: Pick<TakenJudgement, 'call_id' | 'scorer'>): Sql =>
  sql`${ofMonitor(key)} AND call_id = ${call_id} AND scorer = ${scorer} AND state = 'pending'`

/** Takes judgements that no process has, or whose holder has not renewed them in time; oldest first. */
export const takeJudgements: Command<TakeJudgements, TakenJudgement[]> = async (tx, request) => {
  const { holder, kind, except, limit, now, until } = request
  const others = except.length === 0 ? emptySql : sql` AND scorer NOT IN (${listOf(except)})`
  await tx.lock(monitorLock(request))
  const taken = await tx.all<TakenJudgement>(
    sql`SELECT call_id, scorer, attempts FROM judgements WHERE ${ofMonitor(request)} AND state = 'pending' AND kind = ${kind}
        AND due_at <= ${now} AND (taken_until IS NULL OR taken_until <= ${now})${others} ORDER BY due_at LIMIT ${limit}`,
  )
  for (const judgement of taken) {
    await tx.run(
      sql`UPDATE judgements SET taken_by = ${holder}, taken_until = ${until} WHERE ${oneOf(request, judgement)}`,
    )
  }
  return taken
}

interface RenewJudgements extends MonitorKey {
  holder: string
  judgements: readonly Pick<TakenJudgement, 'call_id' | 'scorer'>[]
  until: number
}

/** Extends the hold on judgements while a slow model is at work, because the process that asks it is still alive. */
export const renewJudgements: Command<RenewJudgements, void> = async (tx, renewal) => {
  await tx.lock(monitorLock(renewal))
  for (const judgement of renewal.judgements) {
    await tx.run(
      sql`UPDATE judgements SET taken_until = ${renewal.until} WHERE ${oneOf(renewal, judgement)} AND taken_by = ${renewal.holder}`,
    )
  }
}

/** The outcome of a judgement. */
export interface SettledJudgement extends Pick<TakenJudgement, 'call_id' | 'scorer'> {
  /** `other`: the call is not one for this monitor, and nothing is stored about it. */
  state: 'judged' | 'skipped' | 'failed' | 'pending' | 'other'
  reason?: string
  detail?: string
  /** For a pending one: when to try next, and whether it was tried. */
  due_at?: number
  wasTried?: boolean
  tokens?: number
  /** The judge's own call. */
  call?: CallPart
  feedback?: Feedback
  /** The id of feedback that already existed. */
  feedback_id?: string
}

interface SettleJudgements extends MonitorKey {
  holder: string
  judgements: readonly SettledJudgement[]
  now: number
  day: string
  /** Why the judges of the monitor wait; absent leaves the stored reason as it is. */
  waits?: string | null
}

/**
 * Stores the score, the judge's call and the new state in one transaction, and only for the process that holds the
 * judgement. A process that is too late, or whose monitor is gone, writes nothing.
 */
export const settleJudgements: Command<SettleJudgements, void> = async (tx, settlement) => {
  await tx.lock(monitorLock(settlement))
  const monitor = await findMonitor(tx, settlement)
  if (monitor === undefined) return
  let tokens = 0
  for (const judgement of settlement.judgements) {
    const isOurs = sql`${oneOf(settlement, judgement)} AND taken_by = ${settlement.holder}`
    if ((await tx.get(sql`SELECT 1 AS one FROM judgements WHERE ${isOurs}`)) === undefined) continue
    if (judgement.state === 'other') {
      await tx.run(sql`DELETE FROM judgements WHERE ${isOurs}`)
      continue
    }
    if (judgement.call) await upsertCalls(tx, [judgement.call])
    const { state, reason, detail } = judgement.feedback
      ? await addFeedbackIfLive(tx, judgement, judgement.feedback, settlement.now)
      : judgement
    tokens += judgement.tokens ?? 0
    const isOver = state !== 'pending'
    await tx.run(
      sql`UPDATE judgements SET state = ${state}, reason = ${reason ?? null}, detail = ${detail ?? null},
          due_at = ${judgement.due_at ?? settlement.now}, attempts = attempts + ${judgement.wasTried ? 1 : 0}, tokens = tokens + ${judgement.tokens ?? 0},
          ended_at = ${isOver ? settlement.now : null}, feedback_id = ${isOver ? sql`${judgement.feedback?.id ?? judgement.feedback_id ?? null}` : rawSql('feedback_id')},
          taken_by = NULL, taken_until = NULL WHERE ${isOurs}`,
    )
  }
  if (tokens > 0) await addTokens(tx, settlement, tokens)
  if (settlement.waits !== undefined && settlement.waits !== monitor.waits) {
    await tx.run(
      sql`UPDATE monitors SET waits = ${settlement.waits} WHERE project_id = ${settlement.project_id} AND id = ${settlement.monitor_id}`,
    )
  }
}

/** Adds the feedback if the call still exists. */
async function addFeedbackIfLive(
  tx: Transaction,
  judgement: SettledJudgement,
  feedback: Feedback,
  now: number,
): Promise<Pick<SettledJudgement, 'state' | 'reason' | 'detail'>> {
  const call = await tx.get(
    sql`SELECT 1 AS one FROM calls WHERE project_id = ${feedback.project_id} AND id = ${judgement.call_id} AND ${isLive(now)}`,
  )
  if (call === undefined) {
    return { state: 'skipped', reason: 'call_gone', detail: 'the call was deleted or has expired' }
  }
  if (!(await hasFeedback(tx, feedback.project_id, feedback.id))) {
    await addFeedback(tx, [{ record: feedback, field: 'id' }])
  }
  return judgement
}

export async function hasFeedback(db: Reader, project: string, id: string): Promise<boolean> {
  const row = await db.get(sql`SELECT 1 AS one FROM feedback WHERE project_id = ${project} AND id = ${id}`)
  return row !== undefined
}

async function addTokens(
  tx: Transaction,
  { project_id, monitor_id, day }: SettleJudgements,
  tokens: number,
): Promise<void> {
  await tx.run(
    sql`INSERT INTO monitor_days (project_id, monitor_id, day, tokens) VALUES (${project_id}, ${monitor_id}, ${day}, ${tokens})
        ON CONFLICT (project_id, monitor_id, day) DO UPDATE SET tokens = monitor_days.tokens + excluded.tokens`,
  )
}

export async function tokensOfDay(db: Reader, key: MonitorKey, day: string): Promise<number> {
  const row = await db.get<{ tokens: number }>(
    sql`SELECT tokens FROM monitor_days WHERE ${ofMonitor(key)} AND day = ${day}`,
  )
  return row?.tokens ?? 0
}

/** Whether each of these calls exists, has not started yet, or is gone. */
export async function statesOfCalls(
  db: Reader,
  project: string,
  ids: readonly string[],
  now: number,
): Promise<Map<string, 'live' | 'not begun' | 'gone'>> {
  const found = new Map<string, 'live' | 'not begun' | 'gone'>(ids.map((id) => [id, 'gone']))
  const rows = await readInBatches(ids, 100, (some) =>
    db.all<{ id: string; begun: number; live: number }>(
      sql`SELECT id, CASE WHEN started_at IS NULL AND deleted_at IS NULL THEN 0 ELSE 1 END AS begun,
            CASE WHEN ${isLive(now)} THEN 1 ELSE 0 END AS live
          FROM calls WHERE project_id = ${project} AND id IN (${listOf(some)})`,
    ),
  )
  for (const { id, begun, live } of rows) {
    if (live === 1) found.set(id, 'live')
    else if (begun === 0) found.set(id, 'not begun')
  }
  return found
}

const ofDeleted = rawSql(`FROM monitors CROSS JOIN judgements WHERE monitors.deleted_at IS NOT NULL
  AND judgements.project_id = monitors.project_id AND judgements.monitor_id = monitors.id`)

/** Whether judgements of a deleted monitor are left. */
export async function hasLeftovers(db: Reader): Promise<boolean> {
  return (await db.get(sql`SELECT 1 AS one ${ofDeleted} LIMIT 1`)) !== undefined
}

/** Removes them, some at a time. Returns whether there are more. */
export const dropJudgements: Command<{ limit: number }, boolean> = async (tx, { limit }) => {
  const dropped = await tx.run(
    sql`DELETE FROM judgements WHERE (project_id, monitor_id, call_id, scorer) IN (
          SELECT judgements.project_id, monitor_id, call_id, scorer ${ofDeleted} LIMIT ${limit})`,
  )
  return dropped === limit
}
