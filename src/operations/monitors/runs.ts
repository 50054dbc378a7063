import { type Caller, requireAccess } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { formatTime, formatTimeOrNull, now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { type MonitorKey, requireMonitor } from '../../storage/monitors/monitors.ts'
import {
  countsOfRun,
  latestRuns,
  type MonitorRun,
  type RunKey,
  requireRun,
} from '../../storage/monitors/runs.ts'
import type { Reader } from '../../storage/transaction.ts'
import { requireJudging } from './bound-scorers.ts'
import { checkConditions, conditionsText } from './conditions.ts'
import type { RunBody } from './contract.ts'
import { conditionFields } from './record.ts'

/** Has old calls of a project judged: those that fit the conditions of both the monitor and the run. */
export async function startRun(db: Database, caller: Caller, monitor_id: string, body: RunBody) {
  const { project_id } = body
  requireAccess(caller, project_id)
  const { scorers } = await requireMonitor(db, { project_id, monitor_id })
  requireJudging(caller, JSON.parse(scorers))
  checkConditions(db, project_id, body)
  const time = now()
  const run: MonitorRun = {
    project_id,
    id: newId(),
    monitor_id,
    conditions: conditionsText(body),
    sampling_rate: body.sampling_rate ?? 1,
    most: body.limit ?? null,
    state: 'looking',
    before: time,
    seen_at: null,
    seen_id: null,
    found: 0,
    counts: null,
    created_at: time,
    created_by: caller.name,
    ended_at: null,
  }
  await db.write('addMonitorRun', { ...run })
  return { run: await runRecord(db, run) }
}

export async function readRun(db: Reader, caller: Caller, key: RunKey) {
  requireAccess(caller, key.project_id)
  return { run: await runRecord(db, await requireRun(db, key)) }
}

export async function cancelRun(db: Database, caller: Caller, key: RunKey) {
  requireAccess(caller, key.project_id)
  await db.write('cancelMonitorRun', { ...key, now: now() })
  return readRun(db, caller, key)
}

const maxRunsShown = 100

export async function listRuns(db: Reader, caller: Caller, key: MonitorKey) {
  requireAccess(caller, key.project_id)
  await requireMonitor(db, key)
  const runs: Record<string, unknown>[] = []
  for (const run of await latestRuns(db, key, maxRunsShown)) runs.push(await runRecord(db, run))
  return { runs }
}

async function runRecord(db: Reader, run: MonitorRun): Promise<Record<string, unknown>> {
  return {
    id: run.id,
    monitor_id: run.monitor_id,
    project_id: run.project_id,
    ...conditionFields(run.conditions),
    sampling_rate: run.sampling_rate,
    limit: run.most,
    state: run.state,
    found_calls: run.found,
    ...(await countsOfRun(db, run)),
    created_at: formatTime(run.created_at),
    created_by: run.created_by,
    ended_at: formatTimeOrNull(run.ended_at),
  }
}
