import type { EventType } from '../../domain/alerts.ts'
import { newId } from '../../domain/ids.ts'
import { formatTime } from '../../domain/time.ts'
import { insertInto } from '../sql/inserts.ts'
import type { SqlValue } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'
import { endpointsFor } from './endpoints.ts'

/** What has happened. `subject` is what it is about, and happens once for a rule. */
export interface Happened {
  subject: string
  data: Readonly<Record<string, unknown>>
}

interface Source {
  project: string
  type: EventType
  /** Empty if no rule made it. */
  rule?: string
  /** Only these endpoints, if they exist and take such events. */
  only?: readonly string[] | null
}

const insertEvents = insertInto(
  'alert_events',
  ['project_id', 'id', 'type', 'rule_id', 'subject', 'body', 'created_at'],
  'ON CONFLICT (project_id, rule_id, subject) DO NOTHING RETURNING id',
)

const insertDeliveries = insertInto('alert_deliveries', [
  ...['project_id', 'endpoint_id', 'event_id', 'state', 'tries', 'next_at', 'taken_until'],
  ...['updated_at'],
])

/**
 * Writes events, and what is to be sent of them, in the transaction in which they happened: neither is ever without the
 * other. Returns the ids of those that are new.
 */
export async function addEvents(
  tx: Transaction,
  { project, type, rule = '', only = null }: Source,
  happened: readonly Happened[],
  now: number,
): Promise<string[]> {
  const rows = happened.map(({ subject, data }): SqlValue[] => {
    const body = JSON.stringify({ type, timestamp: formatTime(now), data: { project_id: project, ...data } })
    return [project, newId(), type, rule, subject, body, now]
  })
  const added: string[] = []
  for (const statement of insertEvents(rows)) {
    for (const { id } of await tx.all<{ id: string }>(statement)) added.push(id)
  }
  if (added.length === 0) return added
  const endpoints = only && type === 'test' ? only : await endpointsFor(tx, project, type)
  const chosen = endpoints.filter((endpoint) => only === null || only.includes(endpoint))
  const deliveries = chosen.flatMap((endpoint) =>
    added.map((id): SqlValue[] => [project, endpoint, id, 'pending', 0, now, 0, now]),
  )
  for (const statement of insertDeliveries(deliveries)) await tx.run(statement)
  return added
}
