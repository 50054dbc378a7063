import { batchesOf } from '../../domain/batches.ts'
import { refuse } from '../../domain/refusals.ts'
import { isLive as isLiveCall } from '../calls/calls.ts'
import { deleteCalls } from '../calls/writes.ts'
import { type Addition, appendItems } from '../conversations/items.ts'
import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { BoundReader, Command, Reader, Transaction } from '../transaction.ts'
import { type RecordedAnswer, recordAnswers } from './recorded-answers.ts'
import { readWaiting, removeWaiting, settleWaiting, sweepWaiting } from './waiting-responses.ts'

/**
 * Answers of the Responses API. Each is a call, from which its texts are read; answers stored before answers were calls
 * have texts of their own. Each belongs to a user, whichever project its call is in. Times are microseconds.
 */
interface ResponseKey {
  user_name: string
  id: string
  now: number
}

/** A response is gone when its call is gone or when it has expired, whether or not its space was freed. */
const isLive = (now: number): Sql =>
  sql`(responses.expire_at IS NULL OR responses.expire_at > ${now}) AND (responses.call_id IS NULL OR ${isLiveCall(now)})`

const itsCall = rawSql(
  'LEFT JOIN calls ON calls.project_id = responses.project_id AND calls.id = responses.call_id',
)

/** The project of the response's call; null if it has no call, undefined if there is no such response. */
export async function projectOfResponse(
  db: Reader,
  { user_name, id, now }: ResponseKey,
): Promise<string | null | undefined> {
  const row = await db.get<{ project_id: string | null }>(
    sql`SELECT responses.project_id FROM responses ${itsCall}
        WHERE user_name = ${user_name} AND responses.id = ${id} AND ${isLive(now)}`,
  )
  return row?.project_id
}

/** The version of this prompt that a response of the project was answered with. */
export async function promptVersionOf(
  { dialect, get }: Reader,
  { user_name, id, now, project, prompt }: ResponseKey & { project: string; prompt: string },
): Promise<string | undefined> {
  const ofPrompt = (name: string) => dialect.json(rawSql('calls.attributes'), ['heddle', 'prompt', name]).text
  const row = await get<{ version: string }>(
    sql`SELECT ${ofPrompt('version')} AS version FROM responses ${itsCall}
        WHERE user_name = ${user_name} AND responses.id = ${id} AND responses.project_id = ${project}
          AND ${ofPrompt('id')} = ${prompt} AND ${isLive(now)}`,
  )
  return row?.version
}

/** What was said in a response. Its texts are JSON. */
export interface ResponseContent {
  id: string
  /** The response that this one continues. */
  previous_id: string | null
  project_id: string | null
  /** Whether the response ever expires. */
  expires: boolean
  /** The body of its request, if the response is a call. */
  asked: string | null
  /** Input items by index: those that references stood for, or all of them if the response is not a call. */
  referred: string
  /** An object with its `output`; null if nothing of it is stored. */
  answer: string | null
}

interface StoredResponse extends ResponseContent {
  /** The lengths of the deltas of its stream. */
  cuts: string
}

/** `rest` is the answer without its output and without its closing brace. */
const contentColumns = ({ dialect: { stored } }: Reader, rest: Sql): Sql => {
  const text = (name: string) => stored(rawSql(name))
  return sql`CASE WHEN responses.expire_at IS NULL AND calls.expire_at IS NULL THEN 0 ELSE 1 END AS expires,
    ${text('calls.inputs')} AS asked,
    coalesce(${text('details.referred')}, ${text('texts.input')}) AS referred,
    coalesce(${text('calls.output')}, ${rest} || ',"output":' || ${text('texts.output')} || '}') AS answer`
}

const itsTexts = rawSql(
  `${itsCall.text} LEFT JOIN response_details AS details ON details.user_name = responses.user_name AND details.id = responses.id
   LEFT JOIN response_texts AS texts ON texts.user_name = responses.user_name AND texts.id = responses.id`,
)

export async function readResponse(
  db: BoundReader,
  { user_name, id, now }: ResponseKey,
): Promise<StoredResponse | undefined> {
  const { stored } = db.dialect
  const statement = sql`SELECT responses.id, previous_id, responses.project_id,
      ${contentColumns(db, sql`substr(${stored(rawSql('texts.answer'))}, 1, length(texts.answer) - 1)`)},
      coalesce(${stored(rawSql('details.cuts'))}, ${stored(rawSql('texts.cuts'))}) AS cuts
    FROM responses ${itsTexts}
    WHERE responses.user_name = ${user_name} AND responses.id = ${id} AND ${isLive(now)}`
  for await (const [row] of db.stream<Raw<StoredResponse>>(statement)) return row && shown(row)
  return undefined
}

type Raw<Row extends ResponseContent> = Omit<Row, 'expires'> & { expires: number }

const shown = <Row extends ResponseContent>(row: Raw<Row>) =>
  ({ ...row, expires: Number(row.expires) === 1 }) as Row

/** What was said in a response and in those that it continues, latest first. Stops at the first one that is missing. */
export async function* streamConversation(
  db: BoundReader,
  { user_name, id, now }: ResponseKey,
  most: number,
): AsyncGenerator<ResponseContent> {
  const own = (condition: Sql) => sql`responses.user_name = ${user_name} AND ${condition} AND ${isLive(now)}`
  // SQLite joins in the order of a CROSS JOIN.
  const statement = sql`WITH RECURSIVE chain (id, previous_id, depth) AS (
      SELECT responses.id, previous_id, 1 FROM responses ${itsCall} WHERE ${own(sql`responses.id = ${id}`)}
      UNION ALL
      SELECT responses.id, responses.previous_id, chain.depth + 1 FROM chain CROSS JOIN responses ${itsCall}
      WHERE ${own(sql`responses.id = chain.previous_id AND chain.depth < ${most}`)}
    )
    SELECT chain.id, chain.previous_id, responses.project_id, ${contentColumns(db, rawSql(`'{"id":null'`))}
    FROM chain CROSS JOIN responses ${itsTexts}
    WHERE responses.user_name = ${user_name} AND responses.id = chain.id AND ${db.dialect.cancellable}
    ORDER BY chain.depth`
  for await (const rows of db.stream<Raw<ResponseContent>>(statement, { rows: 8 })) {
    for (const row of rows) yield shown(row)
  }
}

export interface NewResponse {
  user_name: string
  id: string
  previous_id: string | null
  /** The responses that this one continues and that can expire: their lifetime is extended to match. */
  earlier: readonly string[]
  /** The expiry by the time limit of responses; null if there is no limit. */
  until: number | null
  answer: RecordedAnswer
  referred: string
  cuts: string
  /** What its conversation gets, and the project that the conversation belongs to. */
  appended: (Omit<Addition, 'user_name' | 'now'> & { project_id: string }) | null
  /** The process that answers it in the background. */
  holder?: string | undefined
}

/** Everything that changes the responses or the conversations of a user takes this lock. */
export const responsesLock = (user: string) => `responses of ${user}`

/** Expiry times are moved only when the difference is worth a write. */
const dayInMicroseconds = 86_400_000_000

/** The earlier of two times; null means never. */
const least = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.min(a, b))

/**
 * Writes a response and its call, which expire together: at the limit of responses, or when the call would have if that
 * is earlier. False if the user already has a response with that id.
 */
export const keepResponse: Command<NewResponse, boolean> = async (tx, response) => {
  const { user_name, id, previous_id, earlier, until, answer, referred, cuts, appended, holder } = response
  const { call } = answer
  if (call.start === undefined) throw new Error('an answer is a call from its start on')
  const { started_at: now, expire_at: retained = null } = call.start
  await tx.lock(responsesLock(user_name))
  if ((await projectOfResponse(tx, { user_name, id, now })) !== undefined) return false
  if (holder === undefined) {
    if ((await readWaiting(tx, { user_name, id, now })) !== undefined) return false
  } else if (!(await settleWaiting(tx, { user_name, id, holder }))) {
    // It was cancelled or deleted, or another process answers it.
    throw refuse('response_not_found', { id })
  }
  await removeOne(tx, user_name, id)
  if (appended !== null) await appendItems(tx, { ...appended, user_name, now })
  const thread =
    call.start.thread_id == null && previous_id !== null
      ? await threadContinued(tx, { user_name, id: previous_id, now })
      : undefined
  const start = {
    ...call.start,
    expire_at: least(retained, until),
    ...(thread !== undefined && {
      thread_id: thread,
      turn_id: call.start.parent_id == null ? call.id : null,
    }),
  }
  await recordAnswers(tx, [{ ...answer, call: { ...call, start } }])
  await tx.run(
    sql`INSERT INTO responses (user_name, id, created_at, expire_at, previous_id, bytes, project_id, call_id)
        VALUES (${user_name}, ${id}, ${now}, ${retained}, ${previous_id}, ${referred.length + cuts.length}, ${call.project_id}, ${call.id})`,
  )
  await tx.run(
    sql`INSERT INTO response_details (user_name, id, referred, cuts) VALUES (${user_name}, ${id}, ${referred}, ${cuts})`,
  )
  for (const some of batchesOf(earlier, 100)) await keepLonger(tx, user_name, some, { now, until })
  return true
}

/** The thread of the response that is continued. One that had none began a conversation under its own id. */
async function threadContinued(tx: Transaction, key: ResponseKey): Promise<string | undefined> {
  const call = await tx.get<{ project_id: string; call_id: string; thread_id: string | null }>(
    sql`SELECT responses.project_id, call_id, thread_id FROM responses ${itsCall}
        WHERE user_name = ${key.user_name} AND responses.id = ${key.id} AND call_id IS NOT NULL AND ${isLive(key.now)}`,
  )
  if (call === undefined || call.thread_id !== null) return call?.thread_id ?? undefined
  const { project_id, call_id } = call
  await tx.run(
    sql`UPDATE calls SET thread_id = ${key.id}, turn_id = CASE WHEN parent_id IS NULL THEN id ELSE turn_id END
        WHERE project_id = ${project_id} AND id = ${call_id}`,
  )
  return key.id
}

interface Expiring {
  id: string
  project_id: string | null
  call_id: string | null
  /** For a call, the expiry by the retention of its project; otherwise the response's own expiry. */
  expire_at: number | null
  call_expire_at: number | null
}

async function keepLonger(
  tx: Transaction,
  user: string,
  ids: readonly string[],
  { now, until }: { now: number; until: number | null },
): Promise<void> {
  const found = await tx.all<Expiring>(
    sql`SELECT responses.id, responses.project_id, call_id, responses.expire_at, calls.expire_at AS call_expire_at
        FROM responses ${itsCall} WHERE user_name = ${user} AND responses.id IN (${listOf(ids)}) AND ${isLive(now)}`,
  )
  for (const { id, project_id, call_id, expire_at, call_expire_at } of found) {
    const isCall = call_id !== null
    const before = isCall ? call_expire_at : expire_at
    const after = isCall ? least(expire_at, until) : until
    if (before === null || (after !== null && after < before + dayInMicroseconds)) continue
    await tx.run(
      isCall
        ? sql`UPDATE calls SET expire_at = ${after} WHERE project_id = ${project_id} AND id = ${call_id}`
        : sql`UPDATE responses SET expire_at = ${after} WHERE user_name = ${user} AND id = ${id}`,
    )
  }
}

async function removeOne(tx: Transaction, user: string, id: string): Promise<void> {
  for (const table of ['response_texts', 'response_details', 'responses']) {
    await tx.run(sql`DELETE FROM ${rawSql(table)} WHERE user_name = ${user} AND id = ${id}`)
  }
}

/** Also deletes its call and that call's descendants. False if there is no such response. */
export const deleteResponse: Command<ResponseKey, boolean> = async (tx, { user_name, id, now }) => {
  await tx.lock(responsesLock(user_name))
  const row = await tx.get<{ project_id: string | null; call_id: string | null }>(
    sql`SELECT responses.project_id, call_id FROM responses ${itsCall}
        WHERE user_name = ${user_name} AND responses.id = ${id} AND ${isLive(now)}`,
  )
  const isWaiting = await removeWaiting(tx, { user_name, id, now })
  if (row === undefined) return isWaiting
  const { project_id, call_id } = row
  if (project_id !== null && call_id !== null) await deleteCalls(tx, { project_id, ids: [call_id], now })
  await removeOne(tx, user_name, id)
  return true
}

interface ResponsesSweep {
  now: number
  /** The most responses of a step. */
  limit: number
  /** Bytes to free in one step; a step ends at the response that reaches this. */
  bytes: number
}

/** Frees the space of expired responses, a few at a time. Returns how many. */
export const sweepResponses: Command<ResponsesSweep, number> = async (tx, { now, limit, bytes }) => {
  if (!(await tx.tryLock('the sweep of responses'))) return 0
  const expired = await tx.all<{ user_name: string; id: string; bytes: number }>(
    sql`SELECT user_name, id, bytes FROM responses WHERE expire_at <= ${now} ORDER BY expire_at LIMIT ${limit}`,
  )
  let freed = 0
  let count = await sweepWaiting(tx, now)
  for (const { user_name, id, bytes: size } of expired) {
    if (freed >= bytes) break
    await removeOne(tx, user_name, id)
    freed += size
    count++
  }
  return count
}
