import type { EventType, Format } from '../../domain/alerts.ts'
import { refuse } from '../../domain/refusals.ts'
import { type Sql, sql } from '../sql/sql.ts'
import { type RowIn, tableOf } from '../sql/table.ts'
import { type Command, countOf, type Reader, type Transaction } from '../transaction.ts'
import { countChange } from './versions.ts'

const endpoints = tableOf('alert_endpoints', {
  project_id: 'text',
  id: 'text',
  name: 'text',
  format: 'text',
  shown: 'text',
  sealed: 'text',
  types: 'text?',
  active: 'number',
  stopped: 'text?',
  runs_as: 'text',
  failures: 'number',
  failing_since: 'time?',
  rests_until: 'time',
  taken_at: 'time',
  dropped: 'number',
  created_at: 'time',
  created_by: 'text',
  updated_at: 'time',
})

/** Where messages go. `types` is a JSON list, `sealed` what only the server can read. */
export type Endpoint = Omit<RowIn<typeof endpoints>, 'format'> & { format: Format }

export interface EndpointKey {
  project_id: string
  endpoint_id: string
}

/** Of a project. */
const maxEndpoints = 20

/** Everything that changes an endpoint or its deliveries takes this lock. */
export const endpointLock = ({ project_id, endpoint_id }: EndpointKey) =>
  `alert endpoint ${project_id} ${endpoint_id}`

export const oneEndpoint = ({ project_id, endpoint_id }: EndpointKey): Sql =>
  sql`project_id = ${project_id} AND id = ${endpoint_id}`

export const findEndpoint = (db: Reader, key: EndpointKey): Promise<Endpoint | undefined> =>
  endpoints.get(db, oneEndpoint(key))

export async function requireEndpoint(db: Reader, key: EndpointKey): Promise<Endpoint> {
  const endpoint = await findEndpoint(db, key)
  if (endpoint !== undefined) return endpoint
  throw refuse('alert_endpoint_not_found', {
    field: 'endpoint_id',
    endpoint: key.endpoint_id,
    project: key.project_id,
  })
}

/** Oldest first. */
export const listEndpoints = (db: Reader, project: string): Promise<Endpoint[]> =>
  endpoints.all(db, sql`project_id = ${project} ORDER BY id`)

/** Those that get events of the type, in the order in which their rows are written. */
export async function endpointsFor(db: Reader, project: string, type: EventType): Promise<string[]> {
  const rows = await db.all<Pick<Endpoint, 'id' | 'types'>>(
    sql`SELECT id, types FROM alert_endpoints WHERE project_id = ${project} AND active = 1 ORDER BY id`,
  )
  return rows
    .filter(({ types }) => types === null || (JSON.parse(types) as string[]).includes(type))
    .map(({ id }) => id)
}

export const addEndpoint: Command<Endpoint, void> = async (tx, endpoint) => {
  const { project_id } = endpoint
  await countChange(tx, project_id)
  if ((await countOf(tx, sql`alert_endpoints WHERE project_id = ${project_id}`)) >= maxEndpoints) {
    throw refuse('too_many_alert_things', {
      project: project_id,
      limit: maxEndpoints,
      what: 'alert endpoints',
    })
  }
  await endpoints.insert(tx, [endpoint])
}

const settings = ['name', 'format', 'shown', 'sealed', 'types', 'active'] as const
const state = ['stopped', 'runs_as', 'failures', 'failing_since', 'rests_until'] as const
type Changed = Partial<Pick<Endpoint, (typeof settings)[number]>>

/**
 * Returns the endpoint after the change. Who switches it on again or says where messages go answers for it, and what
 * waits is tried at once.
 */
export const changeEndpoint: Command<
  EndpointKey & { user: string; change: Changed; now: number },
  Endpoint
> = async (tx, { user, change, now, ...key }) => {
  await countChange(tx, key.project_id)
  await tx.lock(endpointLock(key))
  const endpoint = await requireEndpoint(tx, key)
  const fresh = { failures: 0, failing_since: null, rests_until: 0 }
  const isOther = change.sealed !== undefined || change.active !== undefined
  const isResumed = change.active === 1 && endpoint.active === 0
  const changed: Endpoint = {
    ...{ ...endpoint, ...change, ...(isOther && fresh), ...(isResumed && { stopped: null }) },
    ...((isResumed || change.shown !== undefined) && { runs_as: user }),
    updated_at: now,
  }
  await endpoints.update(tx, changed, [...settings, ...state, 'updated_at'], oneEndpoint(key))
  return changed
}

/** Returns the endpoint as it was. Its deliveries go with it. */
export const deleteEndpoint: Command<EndpointKey, Endpoint> = async (tx, key) => {
  await countChange(tx, key.project_id)
  await tx.lock(endpointLock(key))
  const endpoint = await requireEndpoint(tx, key)
  await tx.run(
    sql`DELETE FROM alert_deliveries WHERE project_id = ${key.project_id} AND endpoint_id = ${key.endpoint_id}`,
  )
  await tx.run(sql`DELETE FROM alert_endpoints WHERE ${oneEndpoint(key)}`)
  return endpoint
}

/** Sends nothing more, and says why. What waits is given up; it can be replayed. */
export async function stopEndpoint(
  tx: Transaction,
  key: EndpointKey,
  why: string,
  now: number,
): Promise<void> {
  await tx.run(
    sql`UPDATE alert_endpoints SET active = 0, stopped = ${why}, updated_at = ${now} WHERE ${oneEndpoint(key)}`,
  )
  await tx.run(
    sql`UPDATE alert_deliveries SET state = 'dead', error = ${why}, taken_by = NULL, taken_until = 0, updated_at = ${now}
        WHERE project_id = ${key.project_id} AND endpoint_id = ${key.endpoint_id} AND state = 'pending'`,
  )
}
