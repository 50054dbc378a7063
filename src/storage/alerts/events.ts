import type { EventType } from '../../domain/alerts.ts'
import { allOf, listOf, type Sql, sql } from '../sql/sql.ts'
import type { Command, Reader, Transaction } from '../transaction.ts'
import { addEvents, type Happened } from './outbox.ts'
import { watchedIn } from './watched.ts'

export interface AlertEvent {
  id: string
  type: EventType
  /** Empty if no rule made it. */
  rule_id: string
  body: string
  created_at: number
}

export interface Delivery {
  event_id: string
  endpoint_id: string
  state: 'pending' | 'sent' | 'dead'
  tries: number
  next_at: number
  status: number | null
  error: string | null
  updated_at: number
}

interface EventsView {
  project: string
  rule: string | undefined
  endpoint: string | undefined
  type: EventType | undefined
  state: Delivery['state'] | undefined
  /** Only older ones than this id. */
  before: string | undefined
  limit: number
}

/** Newest first. */
export function readEvents(db: Reader, view: EventsView): Promise<AlertEvent[]> {
  const { project, rule, endpoint, type, state, before, limit } = view
  const conditions: Sql[] = [sql`project_id = ${project}`]
  if (rule !== undefined) conditions.push(sql`rule_id = ${rule}`)
  if (type !== undefined) conditions.push(sql`type = ${type}`)
  if (before !== undefined) conditions.push(sql`id < ${before}`)
  if (endpoint !== undefined || state !== undefined) {
    const ofEndpoint = endpoint === undefined ? sql`` : sql` AND own.endpoint_id = ${endpoint}`
    const inState = state === undefined ? sql`` : sql` AND own.state = ${state}`
    conditions.push(sql`EXISTS (SELECT 1 FROM alert_deliveries AS own WHERE own.project_id = alert_events.project_id
      AND own.event_id = alert_events.id${ofEndpoint}${inState})`)
  }
  return db.all<AlertEvent>(
    sql`SELECT id, type, rule_id, body, created_at FROM alert_events WHERE ${allOf(conditions)} ORDER BY id DESC LIMIT ${limit}`,
  )
}

export function deliveriesOf(db: Reader, project: string, events: readonly string[]): Promise<Delivery[]> {
  return db.all<Delivery>(
    sql`SELECT event_id, endpoint_id, state, tries, next_at, status, error, updated_at FROM alert_deliveries
        WHERE project_id = ${project} AND event_id IN (${listOf(events)}) ORDER BY event_id, endpoint_id`,
  )
}

/** Of an endpoint, by state. */
export async function countDeliveries(
  db: Reader,
  project: string,
): Promise<Map<string, Record<string, number>>> {
  const rows = await db.all<{ endpoint_id: string; state: string; count: number }>(
    sql`SELECT endpoint_id, state, count(*) AS count FROM alert_deliveries WHERE project_id = ${project} GROUP BY endpoint_id, state`,
  )
  const counts = new Map<string, Record<string, number>>()
  for (const { endpoint_id, state, count } of rows) {
    counts.set(endpoint_id, { ...counts.get(endpoint_id), [state]: Number(count) })
  }
  return counts
}

/** Something besides alerts that endpoints may want to know. Without endpoints nothing is written. */
export async function tellEndpoints(
  tx: Transaction,
  project: string,
  type: EventType,
  happened: Happened,
  now: number,
): Promise<void> {
  const { hasEndpoints } = await watchedIn(tx, project)
  if (hasEndpoints) await addEvents(tx, { project, type }, [happened], now)
}

/** An import that has read its file to the end. */
export const noteImport: Command<{ project_id: string; id: string; outcomes: object; now: number }, void> = (
  tx,
  { project_id, id, outcomes, now },
) =>
  tellEndpoints(
    tx,
    project_id,
    'import.finished',
    { subject: `import ${id}`, data: { import: outcomes } },
    now,
  )
