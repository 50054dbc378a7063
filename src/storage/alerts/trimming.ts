import { rawSql, sql } from '../sql/sql.ts'
import type { Command } from '../transaction.ts'
import type { EndpointKey } from './endpoints.ts'

/** Deliveries of an endpoint, whatever became of them. */
const maxDeliveries = 10_000
/** Events of a project that no endpoint has to get. */
const maxEvents = 10_000
const keptMicroseconds = 30 * 24 * 3_600 * 1_000_000
/** Rows of one step. */
const rowsAtOnce = 1_000

interface Crowded extends EndpointKey {
  count: number
}

/**
 * Removes the oldest deliveries of endpoints that have too many, and events that are old and on no way. What was not
 * sent yet is counted as dropped. Returns whether there is more.
 */
export const trimAlerts: Command<{ now: number }, boolean> = async (tx, { now }) => {
  if (!(await tx.tryLock('the bounds of alerts'))) return false
  const crowded = await tx.all<Crowded>(
    sql`SELECT project_id, endpoint_id, count(*) AS count FROM alert_deliveries GROUP BY project_id, endpoint_id
        HAVING count(*) > ${maxDeliveries}`,
  )
  let hasMore = false
  for (const { project_id, endpoint_id, count } of crowded) {
    const excess = Math.min(rowsAtOnce, Number(count) - maxDeliveries)
    const gone = await tx.all<{ state: string }>(
      sql`DELETE FROM alert_deliveries WHERE project_id = ${project_id} AND endpoint_id = ${endpoint_id} AND event_id IN (
            SELECT event_id FROM alert_deliveries WHERE project_id = ${project_id} AND endpoint_id = ${endpoint_id}
            ORDER BY CASE WHEN state = 'pending' THEN 1 ELSE 0 END, event_id LIMIT ${excess}) RETURNING state`,
    )
    const dropped = gone.filter(({ state }) => state === 'pending').length
    if (dropped > 0) {
      await tx.run(
        sql`UPDATE alert_endpoints SET dropped = dropped + ${dropped} WHERE project_id = ${project_id} AND id = ${endpoint_id}`,
      )
    }
    hasMore ||= excess === rowsAtOnce
  }
  const isDone =
    rawSql(`NOT EXISTS (SELECT 1 FROM alert_deliveries AS own WHERE own.project_id = alert_events.project_id
    AND own.event_id = alert_events.id AND own.state = 'pending')`)
  const ids = await tx.all<{ project_id: string; id: string }>(
    sql`SELECT project_id, id FROM alert_events WHERE created_at < ${now - keptMicroseconds} AND ${isDone} LIMIT ${rowsAtOnce}`,
  )
  const full = await tx.all<{ project_id: string; count: number }>(
    sql`SELECT project_id, count(*) AS count FROM alert_events GROUP BY project_id HAVING count(*) > ${maxEvents}`,
  )
  for (const { project_id, count } of full) {
    const excess = Math.min(rowsAtOnce, Number(count) - maxEvents)
    const oldest = await tx.all<{ project_id: string; id: string }>(
      sql`SELECT project_id, id FROM alert_events WHERE project_id = ${project_id} AND ${isDone} ORDER BY id LIMIT ${excess}`,
    )
    ids.push(...oldest)
    hasMore ||= oldest.length === rowsAtOnce
  }
  for (const { project_id, id } of ids) {
    await tx.run(sql`DELETE FROM alert_deliveries WHERE project_id = ${project_id} AND event_id = ${id}`)
    await tx.run(sql`DELETE FROM alert_events WHERE project_id = ${project_id} AND id = ${id}`)
  }
  return hasMore || ids.length >= rowsAtOnce
}
