import { refuse } from '../../domain/refusals.ts'
import { rawSql, type Sql, sql } from '../sql/sql.ts'
import { type RowIn, tableOf } from '../sql/table.ts'
import type { Command, Reader, Transaction } from '../transaction.ts'
import { findMonitor, type MonitorKey, monitorLock, requireMonitor, takeOver } from './monitors.ts'
import { noteOldCalls } from './notes.ts'

const monitorRuns = tableOf('monitor_runs', {
  project_id: 'text',
  id: 'text',
  monitor_id: 'text',
  conditions: 'text',
  sampling_rate: 'number',
  most: 'number?',
  state: 'text',
  before: 'time',
  seen_at: 'time?',
  seen_id: 'text?',
  found: 'number',
  counts: 'text?',
  created_at: 'time',
  created_by: 'text',
  ended_at: 'time?',
})

/**
 * A run of a monitor over old calls. Its state is `looking` while it searches for them, `judging` while the last ones
 * are judged, then `done` or `cancelled`.
 */
export type MonitorRun = RowIn<typeof monitorRuns>

export interface RunKey extends MonitorKey {
  run_id: string
}

/** How many judgements of a run are in each state. */
type RunCounts = Record<'pending' | 'judged' | 'skipped' | 'failed', number>

const isActive = rawSql("state IN ('looking', 'judging')")

const oneOf = ({ project_id, monitor_id, run_id }: RunKey): Sql =>
  sql`project_id = ${project_id} AND monitor_id = ${monitor_id} AND id = ${run_id}`

export async function requireRun(db: Reader, key: RunKey): Promise<MonitorRun> {
  await requireMonitor(db, key)
  const run = await monitorRuns.get(db, oneOf(key))
  if (run !== undefined) return run
  throw refuse('monitor_run_not_found', {
    field: 'run_id',
    run: key.run_id,
    monitor: key.monitor_id,
    project: key.project_id,
  })
}

/** Latest first. */
export function latestRuns(
  db: Reader,
  { project_id, monitor_id }: MonitorKey,
  limit: number,
): Promise<MonitorRun[]> {
  return monitorRuns.all(
    db,
    sql`project_id = ${project_id} AND monitor_id = ${monitor_id}
        ORDER BY id DESC LIMIT ${limit}`,
  )
}

/** Of any project. */
export function activeRuns(db: Reader, limit: number): Promise<MonitorRun[]> {
  return monitorRuns.all(db, sql`${isActive} LIMIT ${limit}`)
}

/** The current counts; for a run that is over, the counts stored at its end. */
export async function countsOfRun(db: Reader, { project_id, id, counts }: MonitorRun): Promise<RunCounts> {
  if (counts !== null) return JSON.parse(counts) as RunCounts
  const rows = await db.all<{ state: keyof RunCounts; count: number }>(
    sql`SELECT state, count(*) AS count FROM judgements
        WHERE project_id = ${project_id} AND run_id = ${id} AND run_id <> '' GROUP BY state`,
  )
  const found = { pending: 0, judged: 0, skipped: 0, failed: 0 }
  for (const { state, count } of rows) found[state] = count
  return found
}

/** One at a time: a second run would go over the same calls. */
export const addMonitorRun: Command<MonitorRun, void> = async (tx, run) => {
  const key = { project_id: run.project_id, monitor_id: run.monitor_id }
  await tx.lock(monitorLock(key))
  await requireMonitor(tx, key)
  const other = await tx.get<{ id: string }>(
    sql`SELECT id FROM monitor_runs WHERE project_id = ${run.project_id} AND monitor_id = ${run.monitor_id} AND ${isActive}`,
  )
  if (other !== undefined) {
    throw refuse('monitor_run_going', { field: 'monitor_id', monitor: run.monitor_id, run: other.id })
  }
  await monitorRuns.insert(tx, [run])
  await takeOver(tx, key, run.created_by)
}

interface RunStep extends RunKey {
  /** The position at which the step began, because another process may have done the same step. */
  from: string | null
  /** The calls that were found. */
  calls: readonly string[]
  /** The position that the step has reached. */
  seen_at: number | null
  seen_id: string | null
  /** Whether there are no more calls. */
  isLast: boolean
  now: number
}

export const stepMonitorRun: Command<RunStep, void> = async (tx, step) => {
  await tx.lock(monitorLock(step))
  const run = await goingRun(tx, step)
  const monitor = await findMonitor(tx, step)
  if (run === undefined || run.state !== 'looking' || run.seen_id !== step.from) return
  if (monitor === undefined) {
    await end(tx, step, run, 'cancelled', step.now)
    return
  }
  await noteOldCalls(tx, monitor, run.id, step.calls, step.now)
  await tx.run(
    sql`UPDATE monitor_runs SET state = ${step.isLast ? 'judging' : 'looking'}, found = found + ${step.calls.length},
        seen_at = ${step.seen_at}, seen_id = ${step.seen_id} WHERE ${oneOf(step)}`,
  )
}

/** A run is done when its last call has been judged. */
export const endMonitorRun: Command<RunKey & { now: number }, void> = async (tx, key) => {
  await tx.lock(monitorLock(key))
  const run = await goingRun(tx, key)
  if (run === undefined || run.state !== 'judging') return
  const isGone = (await findMonitor(tx, key)) === undefined
  if (!isGone && (await countsOfRun(tx, run)).pending > 0) return
  await end(tx, key, run, isGone ? 'cancelled' : 'done', key.now)
}

/** Scores stay, and nothing more is judged. A run that is over is left as it is. */
export const cancelMonitorRun: Command<RunKey & { now: number }, void> = async (tx, key) => {
  await tx.lock(monitorLock(key))
  await requireRun(tx, key)
  const run = await goingRun(tx, key)
  if (run === undefined) return
  await tx.run(
    sql`DELETE FROM judgements WHERE project_id = ${key.project_id} AND run_id = ${key.run_id} AND run_id <> ''
        AND state = 'pending'`,
  )
  await end(tx, key, run, 'cancelled', key.now)
}

function goingRun(tx: Transaction, key: RunKey): Promise<MonitorRun | undefined> {
  return monitorRuns.get(tx, sql`${oneOf(key)} AND ${isActive}`)
}

/** Later runs take over its judgements, so the counts are stored now. */
async function end(
  tx: Transaction,
  key: RunKey,
  run: MonitorRun,
  state: 'done' | 'cancelled',
  now: number,
): Promise<void> {
  const counts = JSON.stringify(await countsOfRun(tx, run))
  await tx.run(
    sql`UPDATE monitor_runs SET state = ${state}, counts = ${counts}, ended_at = ${now} WHERE ${oneOf(key)}`,
  )
}
