import { refuse } from '../../domain/refusals.ts'
import { namedRows } from '../sql/named-rows.ts'
import { type Sql, sql } from '../sql/sql.ts'
import { type RowIn, tableOf } from '../sql/table.ts'
import type { Command, Reader, Transaction } from '../transaction.ts'

const monitors = tableOf('monitors', {
  project_id: 'text',
  id: 'text',
  name: 'text',
  description: 'text',
  scorers: 'text',
  conditions: 'text',
  sampling_rate: 'number',
  token_budget: 'number?',
  active: 'number',
  waits: 'text?',
  runs_as: 'text',
  stopped: 'text?',
  created_at: 'time',
  created_by: 'text',
  updated_at: 'time',
  deleted_at: 'time?',
})

/**
 * Which calls of a project are judged, and by which scorers. `scorers` is a JSON list of MonitorScorer, `conditions` a
 * JSON object.
 */
export type Monitor = RowIn<typeof monitors>

export interface MonitorScorer {
  /** The name of its object. No two scorers of a monitor have the same name. */
  name: string
  ref: string
  kind: 'judge' | 'check'
  /** Replaces the fields of the scorer. */
  fields: Record<string, string>
}

export interface MonitorKey {
  project_id: string
  monitor_id: string
}

/** Everything that changes a monitor or its judgements takes this lock. */
export const monitorLock = ({ project_id, monitor_id }: MonitorKey) => `monitor ${project_id} ${monitor_id}`

const oneMonitor = ({ project_id, monitor_id }: MonitorKey): Sql =>
  sql`project_id = ${project_id} AND id = ${monitor_id}`

/** The monitor, unless it was deleted. */
export const findMonitor = (db: Reader, key: MonitorKey): Promise<Monitor | undefined> =>
  monitors.get(db, sql`${oneMonitor(key)} AND deleted_at IS NULL`)

/** The same, but refuses if there is no such monitor. */
export async function requireMonitor(db: Reader, key: MonitorKey): Promise<Monitor> {
  const monitor = await findMonitor(db, key)
  if (monitor !== undefined) return monitor
  throw refuse('monitor_not_found', { field: 'monitor_id', monitor: key.monitor_id, project: key.project_id })
}

export const streamMonitors = namedRows<Monitor>('monitors', () => monitors.columns)

export const addMonitor: Command<Monitor, void> = async (tx, monitor) => {
  await monitors.insert(tx, [monitor])
}

const scope = ['scorers', 'conditions', 'sampling_rate', 'token_budget'] as const
const settings = ['name', 'description', 'active', ...scope] as const

export interface MonitorChange extends MonitorKey {
  /** The user who changes it. */
  user: string
  /** Absent fields are left as they are. */
  change: Partial<Pick<Monitor, (typeof settings)[number]>>
  now: number
}

/** Whether the change decides what is asked, how often or for how much: whoever decides that answers for it. */
function isWork(monitor: Monitor, change: MonitorChange['change']): boolean {
  const isResumed = change.active === 1 && monitor.active === 0
  return isResumed || scope.some((field) => change[field] !== undefined && change[field] !== monitor[field])
}

/** A run over old calls is asked as the user who starts it, as is all that follows. */
export async function takeOver(tx: Transaction, key: MonitorKey, user: string): Promise<void> {
  await tx.run(sql`UPDATE monitors SET runs_as = ${user} WHERE ${oneMonitor(key)}`)
}

/** Returns the monitor after the change. */
export const changeMonitor: Command<MonitorChange, Monitor> = async (tx, { change, user, now, ...key }) => {
  await tx.lock(monitorLock(key))
  const monitor = await requireMonitor(tx, key)
  if (Object.keys(change).length === 0) return monitor
  const takenOver = isWork(monitor, change)
    ? { runs_as: user, ...(change.active === 1 && { stopped: null }) }
    : {}
  // The reason to wait may no longer apply.
  const changed: Monitor = { ...monitor, ...change, ...takenOver, waits: null, updated_at: now }
  const written = [...settings, 'waits', 'runs_as', 'stopped', 'updated_at'] as const
  await monitors.update(tx, changed, written, oneMonitor(key))
  return changed
}

/**
 * Returns the monitor as it was, with the time of deletion. Its scores stay; its pending judgements are removed later.
 */
export const deleteMonitor: Command<MonitorKey & { now: number }, Monitor> = async (tx, { now, ...key }) => {
  await tx.lock(monitorLock(key))
  const monitor = await requireMonitor(tx, key)
  await tx.run(sql`UPDATE monitors SET deleted_at = ${now}, active = 0 WHERE ${oneMonitor(key)}`)
  return { ...monitor, active: 0, deleted_at: now }
}

/** With the user gone, nobody answers for the cost of the user's monitors. A user who resumes one takes it over. */
export const stopMonitorsOf: Command<{ user: string; now: number }, void> = async (tx, { user, now }) => {
  const why = `the user ${user} was removed; "active": true resumes it as yours`
  await tx.run(
    sql`UPDATE monitors SET active = 0, stopped = ${why}, updated_at = ${now}
        WHERE runs_as = ${user} AND deleted_at IS NULL AND stopped IS NULL`,
  )
}
