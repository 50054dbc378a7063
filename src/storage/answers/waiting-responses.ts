import { refuse } from '../../domain/refusals.ts'
import { type Columns, namesOf, type RowOf } from '../sql/columns.ts'
import { insertInto } from '../sql/inserts.ts'
import { rawSql, type Sql, sql } from '../sql/sql.ts'
import type { Command, Reader, Transaction } from '../transaction.ts'

const kinds = {
  user_name: 'text',
  id: 'text',
  project_id: 'text',
  key_hash: 'text',
  headers: 'json',
  body: 'json',
  referred: 'json',
  head: 'json',
  bytes: 'number',
  status: 'text',
  error: 'json?',
  created_at: 'time',
  ended_at: 'time?',
  expire_at: 'time?',
  held_by: 'text?',
  held_until: 'time',
} as const satisfies Columns

/** A response that is answered while nobody waits for it. Once it is answered, it is a response like others. */
export interface WaitingResponse extends RowOf<typeof kinds> {
  status: 'queued' | 'in_progress' | 'failed' | 'cancelled'
}

interface WaitingKey {
  user_name: string
  id: string
}

/** What another process has taken over is left alone. */
interface HeldResponse extends WaitingKey {
  holder: string
}

const columns = namesOf(kinds)
const allColumns = rawSql(columns.join(', '))
const insertWaiting = insertInto('waiting_responses', columns)

/** Of a user, so that nobody fills the record with work. */
const maxWaiting = 100
const maxWaitingBytes = 64 * 1024 * 1024

const of = ({ user_name, id }: WaitingKey): Sql => sql`user_name = ${user_name} AND id = ${id}`
const heldBy = (held: HeldResponse): Sql => sql`${of(held)} AND held_by = ${held.holder}`
const isLive = (now: number): Sql => sql`(expire_at IS NULL OR expire_at > ${now})`

export const readWaiting = (
  db: Reader,
  { now, ...key }: WaitingKey & { now: number },
): Promise<WaitingResponse | undefined> =>
  db.get<WaitingResponse>(
    sql`SELECT ${allColumns} FROM waiting_responses WHERE ${of(key)} AND ${isLive(now)}`,
  )

export const addWaiting: Command<WaitingResponse, void> = async (tx, response) => {
  const { user_name, id } = response
  await tx.lock(`waiting responses of ${user_name}`)
  const open = await tx.get<{ count: number; bytes: number | null }>(
    sql`SELECT count(*) AS count, sum(bytes) AS bytes FROM waiting_responses
        WHERE user_name = ${user_name} AND ended_at IS NULL`,
  )
  if ((open?.count ?? 0) >= maxWaiting || Number(open?.bytes ?? 0) + response.bytes > maxWaitingBytes)
    throw refuse('too_many_waiting', { limit: maxWaiting, bytes: maxWaitingBytes })
  if ((await tx.get(sql`SELECT 1 AS one FROM waiting_responses WHERE ${of(response)}`)) !== undefined)
    throw refuse('response_exists', { id, field: 'request_id' })
  for (const statement of insertWaiting([columns.map((column) => response[column])])) await tx.run(statement)
}

const isDue = (now: number): Sql => sql`ended_at IS NULL AND held_until <= ${now}`

export const hasDueResponse = async (db: Reader, now: number): Promise<boolean> =>
  (await db.get(sql`SELECT 1 AS one FROM waiting_responses WHERE ${isDue(now)} LIMIT 1`)) !== undefined

interface Turn {
  holder: string
  now: number
  until: number
}

/** The one that waits longest, of a user of whom fewest are being answered. */
export const takeWaiting: Command<Turn, WaitingResponse | undefined> = async (tx, { holder, now, until }) => {
  await tx.lock('waiting responses')
  const key = await tx.get<WaitingKey>(
    sql`SELECT user_name, id FROM waiting_responses WHERE ${isDue(now)} ORDER BY
          (SELECT count(*) FROM waiting_responses AS own WHERE own.user_name = waiting_responses.user_name
             AND own.ended_at IS NULL AND own.held_until > ${now}),
          created_at, id LIMIT 1`,
  )
  if (key === undefined) return undefined
  await tx.run(
    sql`UPDATE waiting_responses SET held_by = ${holder}, held_until = ${until}, status = 'in_progress' WHERE ${of(key)}`,
  )
  return tx.get<WaitingResponse>(sql`SELECT ${allColumns} FROM waiting_responses WHERE ${of(key)}`)
}

/** False if it is no longer held by this process: it was cancelled or deleted, or another process has it. */
export const holdWaiting: Command<HeldResponse & { until: number }, boolean> = async (
  tx,
  { until, ...held },
) => (await tx.run(sql`UPDATE waiting_responses SET held_until = ${until} WHERE ${heldBy(held)}`)) > 0

/** It waits on, at least until then. */
export const releaseWaiting: Command<HeldResponse & { until: number }, void> = async (
  tx,
  { until, ...held },
) => {
  await tx.run(
    sql`UPDATE waiting_responses SET held_until = ${until}, held_by = NULL, status = 'queued' WHERE ${heldBy(held)}`,
  )
}

interface EndedResponse extends HeldResponse {
  /** JSON; null if it is answered. */
  error: string | null
  now: number
  expire_at: number | null
}

/** One that is answered is gone from here. */
export const endWaiting: Command<EndedResponse, void> = async (tx, { error, now, expire_at, ...held }) => {
  await tx.run(
    error === null
      ? sql`DELETE FROM waiting_responses WHERE ${heldBy(held)}`
      : sql`UPDATE waiting_responses SET status = 'failed', error = ${error}, ended_at = ${now},
              expire_at = ${expire_at}, held_by = NULL WHERE ${heldBy(held)}`,
  )
}

interface CancelledResponse extends WaitingKey {
  now: number
  expire_at: number | null
}

/** What is being answered is ended by the process that holds it. */
export const cancelWaiting: Command<CancelledResponse, void> = async (tx, { now, expire_at, ...key }) => {
  await tx.run(
    sql`UPDATE waiting_responses SET status = 'cancelled', ended_at = ${now}, expire_at = ${expire_at}, held_by = NULL
        WHERE ${of(key)} AND ended_at IS NULL`,
  )
}

/** False if there is none. */
export const removeWaiting = async (tx: Transaction, { now, ...key }: WaitingKey & { now: number }) =>
  (await tx.run(sql`DELETE FROM waiting_responses WHERE ${of(key)} AND ${isLive(now)}`)) > 0

/** Frees the space of expired ones, a few at a time. Returns how many. */
export const sweepWaiting = (tx: Transaction, { now, limit }: { now: number; limit: number }) =>
  tx.run(
    sql`DELETE FROM waiting_responses WHERE (user_name, id) IN
          (SELECT user_name, id FROM waiting_responses WHERE expire_at <= ${now} ORDER BY expire_at LIMIT ${limit})`,
  )
