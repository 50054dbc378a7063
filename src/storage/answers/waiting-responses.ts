import { refuse } from '../../domain/refusals.ts'
import { projectLock, requireUnredacted } from '../projects/projects.ts'
import { rawSql, type Sql, sql } from '../sql/sql.ts'
import { type RowIn, tableOf } from '../sql/table.ts'
import type { BoundReader, Command, Reader, Transaction } from '../transaction.ts'

const waitingResponses = tableOf('waiting_responses', {
  user_name: 'text',
  id: 'text',
  project_id: 'text',
  key_hash: 'text',
  bytes: 'number',
  status: 'text',
  error: 'json?',
  created_at: 'time',
  ended_at: 'time?',
  expire_at: 'time?',
  held_by: 'text?',
  held_until: 'time',
})

const waitingTexts = tableOf('waiting_response_texts', {
  user_name: 'text',
  id: 'text',
  project_id: 'text',
  head: 'json',
  headers: 'json',
  prompt: 'json?',
  body: 'json?',
})

/** A response that is answered while nobody waits for it. Once it is answered, it is a response like others. */
export interface WaitingResponse extends RowIn<typeof waitingResponses> {
  status: 'queued' | 'in_progress' | 'failed' | 'cancelled'
}

type WaitingTexts = Pick<RowIn<typeof waitingTexts>, 'head' | 'headers' | 'prompt' | 'body'>
export type NewWaitingResponse = WaitingResponse & WaitingTexts

interface WaitingKey {
  user_name: string
  id: string
}

type KeyNow = WaitingKey & { now: number }

/** What another process has taken over is left alone. */
interface HeldResponse extends WaitingKey {
  holder: string
}

/** Of a user, so that nobody fills the record with work. */
const maxWaiting = 100
const maxWaitingBytes = 64 * 1024 * 1024
/** Of a user, that failed or were cancelled. */
const maxEnded = 100

const of = ({ user_name, id }: WaitingKey): Sql => sql`user_name = ${user_name} AND id = ${id}`
const heldBy = (held: HeldResponse): Sql => sql`${of(held)} AND held_by = ${held.holder} AND ended_at IS NULL`
const isLive = (now: number): Sql => sql`(expire_at IS NULL OR expire_at > ${now})`

export const readWaiting = (db: Reader, { now, ...key }: KeyNow): Promise<WaitingResponse | undefined> =>
  waitingResponses.get(db, sql`${of(key)} AND ${isLive(now)}`)

/** One of its texts: `body` is gone when it has ended. */
export async function readWaitingText(
  db: BoundReader,
  key: WaitingKey,
  name: 'head' | 'body',
): Promise<string | undefined> {
  const statement = sql`SELECT ${rawSql(name)} AS text FROM waiting_response_texts WHERE ${of(key)}`
  for await (const [row] of db.stream<{ text: string | null }>(statement)) return row?.text ?? undefined
  return undefined
}

export const requireStorable = (db: Reader, projects: readonly string[]): Promise<void> =>
  requireUnredacted(db, projects, [
    'background',
    'true, but its project, or that of its conversation, replaces private texts before they are stored',
    'false',
  ])

export const addWaiting: Command<NewWaitingResponse, void> = async (tx, response) => {
  const { user_name, id, project_id } = response
  await tx.lockShared(projectLock(project_id))
  await requireStorable(tx, [project_id])
  await tx.lock(`waiting responses of ${user_name}`)
  const open = await tx.get<{ count: number; bytes: number | null }>(
    sql`SELECT count(*) AS count, sum(bytes) AS bytes FROM waiting_responses
        WHERE user_name = ${user_name} AND ended_at IS NULL`,
  )
  if ((open?.count ?? 0) >= maxWaiting || Number(open?.bytes ?? 0) + response.bytes > maxWaitingBytes)
    throw refuse('too_many_waiting', { limit: maxWaiting, bytes: maxWaitingBytes })
  if ((await tx.get(sql`SELECT 1 AS one FROM waiting_responses WHERE ${of(response)}`)) !== undefined)
    throw refuse('response_exists', { id, field: 'request_id' })
  await waitingResponses.insert(tx, [response])
  await waitingTexts.insert(tx, [response])
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
export const takeWaiting: Command<Turn, NewWaitingResponse | undefined> = async (
  tx,
  { holder, now, until },
) => {
  await tx.lock('waiting responses')
  const key = await tx.get<WaitingKey>(
    sql`SELECT waiting.user_name, waiting.id FROM waiting_responses AS waiting
        LEFT JOIN (SELECT user_name, count(*) AS answering FROM waiting_responses
                   WHERE ended_at IS NULL AND held_until > ${now} GROUP BY user_name) AS busy
          ON busy.user_name = waiting.user_name
        WHERE waiting.ended_at IS NULL AND waiting.held_until <= ${now}
        ORDER BY coalesce(busy.answering, 0), waiting.created_at, waiting.id LIMIT 1`,
  )
  if (key === undefined) return undefined
  // It may have been cancelled since it was read.
  const taken = await tx.run(
    sql`UPDATE waiting_responses SET held_by = ${holder}, held_until = ${until}, status = 'in_progress'
        WHERE ${of(key)} AND ${isDue(now)}`,
  )
  if (taken === 0) return undefined
  const response = await waitingResponses.get<WaitingResponse>(tx, of(key))
  const texts = await tx.get<WaitingTexts>(
    sql`SELECT head, headers, prompt, body FROM waiting_response_texts WHERE ${of(key)}`,
  )
  return response && texts && { ...response, ...texts }
}

/** What a process still holds: not what was cancelled or deleted, or taken over by another one. */
export const heldWaiting = (db: Reader, holder: string): Promise<WaitingKey[]> =>
  db.all<WaitingKey>(sql`SELECT user_name, id FROM waiting_responses WHERE held_by = ${holder}`)

export const holdWaiting: Command<{ holder: string; until: number }, void> = async (
  tx,
  { holder, until },
) => {
  await tx.run(
    sql`UPDATE waiting_responses SET held_until = ${until} WHERE held_by = ${holder} AND ended_at IS NULL`,
  )
}

/** It waits on, at least until then. */
export const releaseWaiting: Command<HeldResponse & { until: number }, void> = async (
  tx,
  { until, ...held },
) => {
  await tx.run(
    sql`UPDATE waiting_responses SET held_until = ${until}, held_by = NULL, status = 'queued' WHERE ${heldBy(held)}`,
  )
}

interface Ending {
  now: number
  expire_at: number
}

/** False if it is held no more. */
export const failWaiting: Command<HeldResponse & Ending & { error: string }, boolean> = async (
  tx,
  { error, now, expire_at, ...held },
) => {
  const failed = await tx.run(
    sql`UPDATE waiting_responses SET status = 'failed', error = ${error}, ended_at = ${now},
          expire_at = ${expire_at}, held_by = NULL WHERE ${heldBy(held)}`,
  )
  if (failed > 0) await forget(tx, held)
  return failed > 0
}

/** What is being answered is ended by the process that holds it. */
export const cancelWaiting: Command<WaitingKey & Ending, void> = async (tx, { now, expire_at, ...key }) => {
  const cancelled = await tx.run(
    sql`UPDATE waiting_responses SET status = 'cancelled', ended_at = ${now}, expire_at = ${expire_at}, held_by = NULL
        WHERE ${of(key)} AND ended_at IS NULL`,
  )
  if (cancelled > 0) await forget(tx, key)
}

/** One that has ended without an answer keeps no request, and only the newest of a user stay. */
async function forget(tx: Transaction, key: WaitingKey): Promise<void> {
  await tx.run(sql`UPDATE waiting_response_texts SET body = NULL, prompt = NULL WHERE ${of(key)}`)
  const old = await tx.all<WaitingKey>(
    sql`SELECT user_name, id FROM waiting_responses WHERE user_name = ${key.user_name} AND ended_at IS NOT NULL
        ORDER BY ended_at DESC, id DESC LIMIT 10 OFFSET ${maxEnded}`,
  )
  for (const ended of old) await drop(tx, ended)
}

async function drop(tx: Transaction, key: WaitingKey): Promise<number> {
  await tx.run(sql`DELETE FROM waiting_response_texts WHERE ${of(key)}`)
  return tx.run(sql`DELETE FROM waiting_responses WHERE ${of(key)}`)
}

/** It is answered, in the transaction that stores its answer. False if it is no longer held by this process. */
export async function settleWaiting(tx: Transaction, held: HeldResponse): Promise<boolean> {
  if ((await tx.run(sql`DELETE FROM waiting_responses WHERE ${heldBy(held)}`)) === 0) return false
  await tx.run(sql`DELETE FROM waiting_response_texts WHERE ${of(held)}`)
  return true
}

/** False if there is none. */
export async function removeWaiting(tx: Transaction, key: KeyNow): Promise<boolean> {
  if ((await readWaiting(tx, key)) === undefined) return false
  return (await drop(tx, key)) > 0
}

/** Frees the space of expired ones, a few at a time. Returns how many. */
export async function sweepWaiting(tx: Transaction, now: number): Promise<number> {
  const expired = await tx.all<WaitingKey>(
    sql`SELECT user_name, id FROM waiting_responses WHERE expire_at <= ${now} ORDER BY expire_at LIMIT 20`,
  )
  for (const key of expired) await drop(tx, key)
  return expired.length
}
