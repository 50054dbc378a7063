import { rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader, type Command, countOf, type Transaction } from '../transaction.ts'
import { type EndpointKey, findEndpoint } from './endpoints.ts'

/** Of the deliveries of an endpoint, whatever became of them, and of the events of a project that no endpoint has to get. */
const bounds = { deliveries: 10_000, events: 10_000 }
const keptMicroseconds = 30 * 24 * 3_600 * 1_000_000
/** Rows of one step. */
const rowsAtOnce = 1_000

interface Counted {
  project_id: string
  count: number
}

interface EventKey {
  project_id: string
  id: string
}

/** What is beyond the bounds, as far as one step removes it. */
interface Excess {
  /** Endpoints with too many deliveries, and those that are gone and still have some. */
  endpoints: readonly EndpointKey[]
  events: readonly EventKey[]
  maxDeliveries: number
  hasMore: boolean
}

const isDone =
  rawSql(`NOT EXISTS (SELECT 1 FROM alert_deliveries AS own WHERE own.project_id = alert_events.project_id
    AND own.event_id = alert_events.id AND own.state = 'pending')`)

/**
 * Looks through everything, and therefore in no transaction. An endpoint can be deleted while a write that has read of it
 * adds deliveries: nothing sends or removes these but the next step.
 */
export async function findExcess(
  db: BoundReader,
  now: number,
  { deliveries, events }: typeof bounds = bounds,
): Promise<Excess> {
  const endpoints = await allRows<EndpointKey>(
    db,
    sql`SELECT project_id, endpoint_id FROM alert_deliveries GROUP BY project_id, endpoint_id
        HAVING count(*) > ${deliveries} OR NOT EXISTS (SELECT 1 FROM alert_endpoints
          WHERE alert_endpoints.project_id = alert_deliveries.project_id AND alert_endpoints.id = alert_deliveries.endpoint_id)`,
  )
  const crowded = await allRows<Counted>(
    db,
    sql`SELECT project_id, count(*) AS count FROM alert_events GROUP BY project_id HAVING count(*) > ${events}`,
  )
  const oldest = (condition: Sql, order: Sql, limit: number) =>
    allRows<EventKey>(
      db,
      sql`SELECT project_id, id FROM alert_events WHERE ${condition} AND ${isDone} ORDER BY ${order} LIMIT ${limit}`,
    )
  const lists = [await oldest(sql`created_at < ${now - keptMicroseconds}`, rawSql('created_at'), rowsAtOnce)]
  for (const { project_id, count } of crowded) {
    const limit = Math.min(rowsAtOnce, Number(count) - events)
    lists.push(await oldest(sql`project_id = ${project_id}`, rawSql('id'), limit))
  }
  const hasMore = lists.some(({ length }) => length >= rowsAtOnce)
  return { endpoints, events: lists.flat(), maxDeliveries: deliveries, hasMore }
}

/**
 * Removes the oldest deliveries of these endpoints that are too many, and these events, if they still are on no way. What
 * was not sent yet is counted as dropped. Returns whether there is more.
 */
export const trimAlerts: Command<Excess, boolean> = async (tx, { endpoints, events, maxDeliveries }) => {
  if (!(await tx.tryLock('the bounds of alerts'))) return false
  let hasMore = false
  for (const key of endpoints) if (await trimDeliveries(tx, key, maxDeliveries)) hasMore = true
  for (const { project_id, id } of events) {
    const gone = await tx.run(
      sql`DELETE FROM alert_events WHERE project_id = ${project_id} AND id = ${id} AND ${isDone}`,
    )
    if (gone === 0) continue
    await tx.run(sql`DELETE FROM alert_deliveries WHERE project_id = ${project_id} AND event_id = ${id}`)
  }
  return hasMore
}

/** Returns whether there is more. */
async function trimDeliveries(tx: Transaction, key: EndpointKey, maxDeliveries: number): Promise<boolean> {
  const { project_id, endpoint_id } = key
  const ofEndpoint = sql`project_id = ${project_id} AND endpoint_id = ${endpoint_id}`
  const bound = (await findEndpoint(tx, key)) === undefined ? 0 : maxDeliveries
  const held = await countOf(tx, sql`alert_deliveries WHERE ${ofEndpoint}`)
  const excess = Math.min(rowsAtOnce, held - bound)
  if (excess <= 0) return false
  const gone = await tx.all<{ state: string }>(
    sql`DELETE FROM alert_deliveries WHERE ${ofEndpoint} AND event_id IN (
          SELECT event_id FROM alert_deliveries WHERE ${ofEndpoint}
          ORDER BY CASE WHEN state = 'pending' THEN 1 ELSE 0 END, event_id LIMIT ${excess}) RETURNING state`,
  )
  const dropped = gone.filter(({ state }) => state === 'pending').length
  if (dropped > 0) {
    await tx.run(
      sql`UPDATE alert_endpoints SET dropped = dropped + ${dropped} WHERE project_id = ${project_id} AND id = ${endpoint_id}`,
    )
  }
  return excess === rowsAtOnce
}
