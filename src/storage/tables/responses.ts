import { batchesOf } from '../../domain/batches.ts'
import { listOf, type Sql, sql, trusted } from '../sql/sql.ts'
import type { Command, LongReader, Reader, Transaction } from '../transaction.ts'

/** An answer of the Responses API. Its texts are JSON; times are microseconds. */
export interface StoredResponse {
  user_name: string
  id: string
  created_at: number
  expire_at: number | null
  /** The answer that this one continues. */
  previous_id: string | null
  input: string
  output: string
  /** The rest of the answer. */
  answer: string
  /** The lengths of the deltas of its stream. */
  cuts: string
}

export interface ResponseKey {
  user_name: string
  id: string
  now: number
}

/** What has expired is gone, whether its space was freed or not. */
const isLive = (now: number, table = 'responses'): Sql =>
  sql`(${trusted(table)}.expire_at IS NULL OR ${trusted(table)}.expire_at > ${now})`

export async function hasResponse(db: Reader, { user_name, id, now }: ResponseKey): Promise<boolean> {
  const row = await db.get(
    sql`SELECT id FROM responses WHERE user_name = ${user_name} AND id = ${id} AND ${isLive(now)}`,
  )
  return row !== undefined
}

export async function readResponse(
  db: LongReader,
  { user_name, id, now }: ResponseKey,
  signal: AbortSignal,
): Promise<StoredResponse | undefined> {
  const { stored } = db.dialect
  const statement = sql`SELECT responses.user_name, responses.id, created_at, expire_at, previous_id,
      ${stored(trusted('input'))} AS input, ${stored(trusted('output'))} AS output,
      ${stored(trusted('answer'))} AS answer, ${stored(trusted('cuts'))} AS cuts
    FROM responses JOIN response_texts ON response_texts.user_name = responses.user_name AND response_texts.id = responses.id
    WHERE responses.user_name = ${user_name} AND responses.id = ${id} AND ${isLive(now)}`
  for await (const [row] of db.stream<StoredResponse>(statement, { signal })) return row
  return undefined
}

export type Said = Pick<StoredResponse, 'id' | 'previous_id' | 'input' | 'output'>

/** What was said in an answer and in those that it continues, the latest first. It ends where one is not there. */
export function streamConversation(
  db: LongReader,
  { user_name, id, now }: ResponseKey,
  most: number,
  signal: AbortSignal,
): AsyncIterable<Said[]> {
  const { stored, going } = db.dialect
  const statement = sql`WITH RECURSIVE chain (id, previous_id, depth) AS (
      SELECT id, previous_id, 1 FROM responses WHERE user_name = ${user_name} AND id = ${id} AND ${isLive(now)}
      UNION ALL
      SELECT earlier.id, earlier.previous_id, chain.depth + 1 FROM chain
      CROSS JOIN responses AS earlier
      WHERE earlier.user_name = ${user_name} AND earlier.id = chain.previous_id AND chain.depth < ${most} AND ${isLive(now, 'earlier')}
    )
    SELECT chain.id, chain.previous_id, ${stored(trusted('input'))} AS input, ${stored(trusted('output'))} AS output
    FROM chain CROSS JOIN response_texts
    WHERE response_texts.user_name = ${user_name} AND response_texts.id = chain.id AND ${going}
    ORDER BY chain.depth`
  return db.stream<Said>(statement, { signal, rows: 8 })
}

export interface NewResponse extends StoredResponse {
  /** The answers that it continues, which live as long as it does. */
  earlier: readonly string[]
}

/** Whatever changes the answers of a user takes turns. */
const turnOf = (user: string) => `responses of ${user}`

/** They are moved only when it is worth a write. */
const dayInMicroseconds = 86_400_000_000

/** False where the user has an answer of that id. */
export const keepResponse: Command<NewResponse, boolean> = async (tx, response) => {
  const { user_name, id, created_at: now, expire_at, previous_id, earlier, ...texts } = response
  const { input, output, answer, cuts } = texts
  await tx.turn(turnOf(user_name))
  if (await hasResponse(tx, { user_name, id, now })) return false
  await removeOne(tx, user_name, id)
  const bytes = input.length + output.length + answer.length + cuts.length
  await tx.run(
    sql`INSERT INTO responses (user_name, id, created_at, expire_at, previous_id, bytes)
        VALUES (${user_name}, ${id}, ${now}, ${expire_at}, ${previous_id}, ${bytes})`,
  )
  await tx.run(
    sql`INSERT INTO response_texts (user_name, id, input, output, answer, cuts)
        VALUES (${user_name}, ${id}, ${input}, ${output}, ${answer}, ${cuts})`,
  )
  for (const some of batchesOf(earlier, 100)) {
    const chosen = sql`user_name = ${user_name} AND id IN (${listOf(some)}) AND expire_at > ${now}`
    if (expire_at === null) await tx.run(sql`UPDATE responses SET expire_at = NULL WHERE ${chosen}`)
    else {
      await tx.run(
        sql`UPDATE responses SET expire_at = ${expire_at} WHERE ${chosen} AND expire_at < ${expire_at - dayInMicroseconds}`,
      )
    }
  }
  return true
}

async function removeOne(tx: Transaction, user: string, id: string): Promise<void> {
  await tx.run(sql`DELETE FROM response_texts WHERE user_name = ${user} AND id = ${id}`)
  await tx.run(sql`DELETE FROM responses WHERE user_name = ${user} AND id = ${id}`)
}

/** False where there is none. */
export const deleteResponse: Command<ResponseKey, boolean> = async (tx, key) => {
  const { user_name, id } = key
  await tx.turn(turnOf(user_name))
  if (!(await hasResponse(tx, key))) return false
  await removeOne(tx, user_name, id)
  return true
}

export interface ResponsesSweep {
  now: number
  /** Of answers. */
  limit: number
  /** What is freed at a time: a step ends at the answer that reaches it. */
  bytes: number
}

/** Frees the space of what has expired, a few answers at a time. Answers how many. */
export const sweepResponses: Command<ResponsesSweep, number> = async (tx, { now, limit, bytes }) => {
  const expired = await tx.all<{ user_name: string; id: string; bytes: number }>(
    sql`SELECT user_name, id, bytes FROM responses WHERE expire_at <= ${now} LIMIT ${limit}`,
  )
  let freed = 0
  let count = 0
  for (const { user_name, id, bytes: size } of expired) {
    if (freed >= bytes) break
    await removeOne(tx, user_name, id)
    freed += size
    count++
  }
  return count
}
