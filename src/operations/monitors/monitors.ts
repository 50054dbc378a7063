import { byCaller, type Caller, requireAccess } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { now } from '../../domain/time.ts'
import { viewOf } from '../../domain/view.ts'
import type { BoundDatabase, Database } from '../../storage/database.ts'
import {
  type MonitorChange,
  type MonitorKey,
  requireMonitor,
  streamMonitors,
} from '../../storage/monitors/monitors.ts'
import type { Reader } from '../../storage/transaction.ts'
import { jsonLines } from '../json-lines.ts'
import type { NamedQuery } from '../paging-contract.ts'
import { bindScorers, requireJudging } from './bound-scorers.ts'
import { checkConditions, conditionNames, conditionsText, storedConditions } from './conditions.ts'
import type { CreateBody, UpdateBody } from './contract.ts'
import { monitorRecord } from './record.ts'

export async function createMonitor(db: Database, caller: Caller, body: CreateBody) {
  const { project_id } = body
  requireAccess(caller, project_id)
  checkConditions(db, project_id, body)
  const scorers = await bindScorers(db, project_id, body.scorers)
  requireJudging(caller, scorers)
  const time = now()
  const monitor = {
    project_id,
    id: newId(),
    name: body.name,
    description: body.description ?? '',
    scorers: JSON.stringify(scorers),
    conditions: conditionsText(body),
    sampling_rate: body.sampling_rate ?? 1,
    token_budget: body.token_budget ?? null,
    active: (body.active ?? true) ? 1 : 0,
    waits: null,
    runs_as: caller.name,
    stopped: null,
    created_at: time,
    created_by: caller.name,
    updated_at: time,
    deleted_at: null,
  }
  await db.write('addMonitor', { ...monitor })
  return { monitor: monitorRecord(monitor) }
}

export async function readMonitor(db: Reader, caller: Caller, key: MonitorKey) {
  requireAccess(caller, key.project_id)
  return { monitor: monitorRecord(await requireMonitor(db, key)) }
}

/** Absent fields stay as they are; null resets a field to its default. */
export async function updateMonitor(db: Database, caller: Caller, monitor_id: string, body: UpdateBody) {
  const { project_id, name, scorers, description, sampling_rate, token_budget, active } = body
  requireAccess(caller, project_id)
  const key = { project_id, monitor_id }
  const known = await requireMonitor(db, key)
  const change: MonitorChange['change'] = {}
  if (name !== undefined) change.name = name
  if (description !== undefined) change.description = description ?? ''
  if (sampling_rate !== undefined) change.sampling_rate = sampling_rate ?? 1
  if (token_budget !== undefined) change.token_budget = token_budget
  if (active != null) change.active = active ? 1 : 0
  if (scorers !== undefined) change.scorers = JSON.stringify(await bindScorers(db, project_id, scorers))
  // Whoever pauses it has nothing asked.
  if (active !== false) requireJudging(caller, JSON.parse(change.scorers ?? known.scorers))
  if (conditionNames.some((condition) => body[condition] !== undefined)) {
    const changed = conditionNames.filter((condition) => body[condition] !== undefined)
    const conditions = {
      ...storedConditions(known.conditions),
      ...Object.fromEntries(changed.map((condition) => [condition, body[condition]])),
    }
    checkConditions(db, project_id, conditions)
    change.conditions = conditionsText(conditions)
  }
  return {
    monitor: monitorRecord(
      await db.write('changeMonitor', { ...key, change, user: caller.name, now: now() }),
    ),
  }
}

export async function deleteOneMonitor(db: Database, caller: Caller, key: MonitorKey) {
  requireAccess(caller, key.project_id)
  const monitor = await db.write('deleteMonitor', { ...key, now: now(), by: byCaller(caller) })
  return { monitor: monitorRecord(monitor) }
}

/** One JSON text for each monitor. */
export function listMonitors(db: BoundDatabase, caller: Caller, body: NamedQuery): AsyncIterable<string> {
  requireAccess(caller, body.project_id)
  const chunks = streamMonitors(db, { ...viewOf(body), name: body.name ?? undefined })
  return jsonLines(chunks, monitorRecord)
}
