import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { type Command, countOf, type Reader } from '../transaction.ts'
import { type EndpointKey, endpointLock, findEndpoint, oneEndpoint, stopEndpoint } from './endpoints.ts'
import type { AlertEvent } from './events.ts'
import { addEvents } from './outbox.ts'
import { turnOfEntity } from './turns.ts'

/** An event on its way to an endpoint. */
export interface TakenDelivery extends Omit<AlertEvent, 'id'> {
  event_id: string
  tries: number
}

const isDue = (now: number): Sql =>
  sql`deliveries.state = 'pending' AND deliveries.next_at <= ${now} AND deliveries.taken_until <= ${now}`

const ofEndpoint = ({ project_id, endpoint_id }: EndpointKey): Sql =>
  sql`deliveries.project_id = ${project_id} AND deliveries.endpoint_id = ${endpoint_id}`

/**
 * The endpoints of any project to which something could be sent now, of each entity at most so many. The one that was
 * written to last comes last.
 */
export function endpointsAtWork(
  db: Reader,
  now: number,
  max: { entity: number; all: number },
): Promise<EndpointKey[]> {
  return db.all<EndpointKey>(
    sql`SELECT project_id, id AS endpoint_id FROM (
          SELECT project_id, id, taken_at, ${turnOfEntity(db, rawSql('taken_at, project_id, id'))} AS turn
          FROM alert_endpoints WHERE active = 1 AND rests_until <= ${now} AND EXISTS (
            SELECT 1 FROM alert_deliveries AS deliveries WHERE deliveries.project_id = alert_endpoints.project_id
              AND deliveries.endpoint_id = alert_endpoints.id AND ${isDue(now)})) AS waiting
        WHERE turn <= ${max.entity} ORDER BY turn, taken_at, project_id, id LIMIT ${max.all}`,
  )
}

/** Of all projects, or `max` if there are more. */
export function countPending(db: Reader, max: number): Promise<number> {
  const pending = sql`SELECT 1 AS one FROM alert_deliveries WHERE state = 'pending' LIMIT ${max}`
  return countOf(db, sql`(${pending}) AS waiting`)
}

interface Taking extends EndpointKey {
  holder: string
  limit: number
  now: number
  /** Until then no other process takes them. */
  until: number
  /** What was fired after this, and is to be tried again later, holds back what its rule fired after it. */
  holding_after: number
}

/**
 * What no process is sending, or whose process has ended; of each rule in the order in which it was fired, so that a
 * process can send the first while it holds the next. First the oldest of each rule: a rule with many leaves the others
 * their turn.
 */
export const takeDeliveries: Command<Taking, TakenDelivery[]> = async (tx, taking) => {
  const { project_id, holder, limit, now, until } = taking
  await tx.lock(endpointLock(taking))
  const endpoint = await findEndpoint(tx, taking)
  if (endpoint === undefined || endpoint.active === 0 || endpoint.rests_until > now) return []
  const taken = await tx.all<TakenDelivery>(
    sql`SELECT event_id, chosen.rule_id, type, body, created_at, tries FROM (${sendable(taking)} LIMIT ${limit}) AS chosen
          JOIN alert_events ON alert_events.project_id = ${project_id} AND alert_events.id = event_id
        ORDER BY turn, event_id`,
  )
  // Also if all that is due waits for its turn: the other endpoints of the entity come first then.
  await tx.run(sql`UPDATE alert_endpoints SET taken_at = ${now} WHERE ${oneEndpoint(taking)}`)
  if (taken.length > 0) {
    await tx.run(
      sql`UPDATE alert_deliveries AS deliveries SET taken_by = ${holder}, taken_until = ${until}
          WHERE ${ofEndpoint(taking)} AND event_id IN (${listOf(taken.map(({ event_id }) => event_id))})`,
    )
  }
  return taken
}

/** Reads all that waits once, and of its events only whose they are. */
const sendable = ({ now, holding_after, ...key }: Taking): Sql =>
  sql`SELECT event_id, rule_id, tries, turn FROM (
        SELECT event_id, rule_id, tries, CASE WHEN ${isDue(now)} THEN 1 ELSE 0 END AS is_due,
          sum(CASE WHEN ${isDue(now)} THEN 1 ELSE 0 END) OVER in_order AS turn, max(CASE WHEN taken_until > ${now}
            OR (next_at > ${now} AND created_at > ${holding_after}) THEN 1 ELSE 0 END) OVER in_order AS is_held
        FROM alert_deliveries AS deliveries JOIN alert_events
          ON alert_events.project_id = deliveries.project_id AND alert_events.id = deliveries.event_id
        WHERE ${ofEndpoint(key)} AND deliveries.state = 'pending'
        WINDOW in_order AS (PARTITION BY rule_id ORDER BY event_id ROWS UNBOUNDED PRECEDING)) AS waiting
      WHERE is_due = 1 AND (is_held = 0 OR rule_id = '') ORDER BY turn, event_id`

/** What was taken and not tried. */
export const returnDeliveries: Command<
  EndpointKey & { holder: string; event_ids: readonly string[] },
  void
> = async (tx, { holder, event_ids, ...key }) => {
  await tx.lock(endpointLock(key))
  await tx.run(
    sql`UPDATE alert_deliveries AS deliveries SET taken_by = NULL, taken_until = 0
        WHERE ${ofEndpoint(key)} AND event_id IN (${listOf(event_ids)}) AND taken_by = ${holder}`,
  )
}

/** What became of a try. */
export type Outcome =
  | { kind: 'sent'; status: number }
  /** `rests_until` is set if the endpoint itself is to blame, and not this message. */
  | {
      kind: 'failed'
      status: number | null
      error: string
      next_at: number | null
      rests_until: number | null
    }
  | { kind: 'refused'; status: number | null; error: string }
  /** The server stops, and the try does not count. */
  | { kind: 'returned' }

interface Settling extends EndpointKey {
  event_id: string
  holder: string
  outcome: Outcome
  /** An endpoint that fails since before this time is switched off. */
  failing_before: number
  now: number
}

/** Written only by the process that holds the delivery. Returns whether more may be sent to the endpoint now. */
export const settleDelivery: Command<Settling, boolean> = async (tx, settling) => {
  const { event_id, holder, outcome, failing_before, now } = settling
  await tx.lock(endpointLock(settling))
  const own = sql`${ofEndpoint(settling)} AND event_id = ${event_id} AND taken_by = ${holder}`
  const endpoint = await findEndpoint(tx, settling)
  const change = (set: Sql) =>
    tx.run(
      sql`UPDATE alert_deliveries AS deliveries SET ${set}, taken_by = NULL, taken_until = 0, updated_at = ${now} WHERE ${own}`,
    )
  const changeEndpoint = (set: Sql) =>
    tx.run(sql`UPDATE alert_endpoints SET ${set} WHERE ${oneEndpoint(settling)}`)
  if (outcome.kind === 'returned') {
    await change(sql`next_at = ${now}`)
    return false
  }
  const tried = sql`tries = tries + 1, status = ${outcome.status}`
  if (outcome.kind === 'sent') {
    await change(sql`${tried}, state = 'sent', error = NULL`)
    if (endpoint === undefined) return false
    const { active, failures, rests_until } = endpoint
    if (failures > 0) await changeEndpoint(rawSql('failures = 0, failing_since = NULL, rests_until = 0'))
    if (rests_until === 0) return active === 1
    // What waited because of the endpoint goes now that it answers, the oldest first; what it refused keeps its pause.
    await tx.run(
      sql`UPDATE alert_deliveries AS deliveries SET next_at = ${now} WHERE ${ofEndpoint(settling)} AND state = 'pending' AND next_at > ${now}
          AND (status IS NULL OR status IN (408, 429) OR status >= 500)`,
    )
    return false
  }
  const { error } = outcome
  const next_at = outcome.kind === 'failed' ? outcome.next_at : null
  const isDead = next_at === null
  const ended = await change(
    sql`${tried}, state = ${isDead ? 'dead' : 'pending'}, error = ${error}, next_at = ${next_at ?? now}`,
  )
  if (endpoint === undefined || endpoint.active === 0 || ended === 0) return false
  const since = endpoint.failing_since ?? now
  const rests = outcome.kind === 'failed' ? (outcome.rests_until ?? 0) : 0
  const rests_until = Math.max(rests, endpoint.rests_until)
  await changeEndpoint(sql`failures = failures + 1, failing_since = ${since}, rests_until = ${rests_until}`)
  if (outcome.kind === 'failed' && since >= failing_before) return rests_until <= now
  const why =
    outcome.kind === 'refused'
      ? error
      : `it has failed since ${new Date(since / 1000).toISOString()}: ${error}`
  await stopEndpoint(tx, settling, why, now)
  const { id, name } = endpoint
  const happened = { subject: `disabled ${id} ${now}`, data: { endpoint: { id, name }, reason: why } }
  await addEvents(tx, { project: settling.project_id, type: 'endpoint.disabled' }, [happened], now)
  return false
}

/** Called when the user with whose access messages are sent has lost it. */
export const stopAlertEndpoint: Command<EndpointKey & { why: string; now: number }, void> = async (
  tx,
  { why, now, ...key },
) => {
  await tx.lock(endpointLock(key))
  await stopEndpoint(tx, key, why, now)
}

interface Replay extends EndpointKey {
  /** These, or all in the range of times that are dead. */
  event_ids: readonly string[] | null
  after: number
  before: number
  limit: number
  now: number
}

/**
 * Sends again what was given up, or the named events whatever became of them, also those that this endpoint never had.
 * Returns how many, the oldest first.
 */
export const replayDeliveries: Command<Replay, number> = async (tx, replay) => {
  const { project_id, endpoint_id, event_ids, after, before, limit, now } = replay
  await tx.lock(endpointLock(replay))
  const again = sql`state = 'pending', tries = 0, next_at = ${now}, taken_by = NULL, taken_until = 0, updated_at = ${now}`
  if (event_ids === null) {
    return tx.run(
      sql`UPDATE alert_deliveries AS deliveries SET ${again} WHERE ${ofEndpoint(replay)} AND event_id IN (
            SELECT event_id FROM alert_deliveries AS dead JOIN alert_events ON alert_events.project_id = dead.project_id AND alert_events.id = dead.event_id
            WHERE dead.project_id = ${project_id} AND dead.endpoint_id = ${endpoint_id} AND dead.state = 'dead'
              AND created_at >= ${after} AND created_at < ${before} ORDER BY event_id LIMIT ${limit})`,
    )
  }
  let count = 0
  for (const id of new Set(event_ids)) {
    count += await tx.run(
      sql`INSERT INTO alert_deliveries (project_id, endpoint_id, event_id, state, tries, next_at, taken_until, updated_at)
          SELECT project_id, ${endpoint_id}, id, 'pending', 0, ${now}, 0, ${now} FROM alert_events
          WHERE project_id = ${project_id} AND id = ${id}
          ON CONFLICT (project_id, endpoint_id, event_id) DO UPDATE SET ${again}`,
    )
  }
  return count
}

/** An event for one endpoint, to see whether it arrives. */
export const testEndpoint: Command<EndpointKey & { id: string; now: number }, string> = async (
  tx,
  { project_id, endpoint_id, id, now },
) => {
  const happened = { subject: `test ${id}`, data: { test: true, endpoint: { id: endpoint_id } } }
  const source = { project: project_id, type: 'test' as const, only: [endpoint_id] }
  return (await addEvents(tx, source, [happened], now))[0] as string
}
