import { refuse } from '../../domain/refusals.ts'
import { responsesLock } from '../answers/responses.ts'
import { rawSql, type Sql, sql } from '../sql/sql.ts'
import { type RowIn, tableOf } from '../sql/table.ts'
import { type BoundReader, type Command, countOf, type Reader } from '../transaction.ts'
import {
  type Addition,
  appendItems,
  type ConversationItem,
  type ConversationKey,
  type ItemToAdd,
  isLive,
} from './items.ts'

/** Conversations of one user, as short reads and writes by key. Times are microseconds. */

/** More would be one that is left behind for each request. */
const maxConversations = 10_000

const conversations = tableOf('conversations', {
  user_name: 'text',
  id: 'text',
  project_id: 'text',
  created_at: 'time',
  expire_at: 'time?',
  metadata: 'json',
})

export type Conversation = RowIn<typeof conversations>

const itemColumns = ({ dialect: { stored } }: Reader): Sql =>
  sql`position, id, ${stored(rawSql('item'), 'always')} AS item`

type Own = ConversationKey & { now: number }

export const readConversation = (
  db: Reader,
  { user_name, id, now }: Own,
): Promise<Conversation | undefined> =>
  conversations.get(db, sql`user_name = ${user_name} AND id = ${id} AND ${isLive(now)}`)

const ofConversation = ({ user_name, id }: ConversationKey): Sql =>
  sql`user_name = ${user_name} AND conversation_id = ${id}`

export const readItem = (
  db: Reader,
  key: ConversationKey,
  item: string,
): Promise<ConversationItem | undefined> =>
  db.get<ConversationItem>(
    sql`SELECT ${itemColumns(db)} FROM conversation_items WHERE ${ofConversation(key)} AND id = ${item}`,
  )

/** Undefined if the conversation has no such item. */
export async function positionOf(
  db: Reader,
  key: ConversationKey,
  item: string,
): Promise<number | undefined> {
  const row = await db.get<{ position: number }>(
    sql`SELECT position FROM conversation_items WHERE ${ofConversation(key)} AND id = ${item}`,
  )
  return row && Number(row.position)
}

interface ItemsPage {
  order: 'asc' | 'desc'
  limit: number
  /** Position of the last item of the previous page. */
  after: number | undefined
}

/** Items of a conversation in pieces that fit the memory, in their order or the other way round. */
export function streamItems(
  db: BoundReader,
  key: ConversationKey,
  { order, limit, after }: ItemsPage,
): AsyncIterable<ConversationItem[]> {
  const [beyond, direction] = order === 'asc' ? [rawSql('>'), rawSql('ASC')] : [rawSql('<'), rawSql('DESC')]
  const begins = after === undefined ? sql`1 = 1` : sql`position ${beyond} ${after}`
  const statement = sql`SELECT ${itemColumns(db)} FROM conversation_items
    WHERE ${ofConversation(key)} AND ${begins} ORDER BY position ${direction} LIMIT ${limit}`
  return db.stream<ConversationItem>(statement, { rows: 16 })
}

interface NewConversation extends Omit<Conversation, 'expire_at'> {
  items: readonly ItemToAdd[]
  until: number | null
}

/** Returns it as it is kept. */
export const addConversation: Command<NewConversation, Conversation> = async (tx, conversation) => {
  const { user_name, id, project_id, created_at, until, metadata, items } = conversation
  await tx.lock(responsesLock(user_name))
  const own = sql`conversations WHERE user_name = ${user_name} AND ${isLive(created_at)}`
  if ((await countOf(tx, own)) >= maxConversations)
    throw refuse('too_many_conversations', { limit: maxConversations })
  await tx.run(
    sql`INSERT INTO conversations (user_name, id, project_id, created_at, expire_at, metadata, next_position, items, characters)
        VALUES (${user_name}, ${id}, ${project_id}, ${created_at}, ${until}, ${metadata}, 0, 0, 0)`,
  )
  await appendItems(tx, { user_name, id, items, now: created_at, until, field: 'items' })
  return { user_name, id, project_id, created_at, expire_at: until, metadata }
}

interface ConversationChange extends Own {
  project_id: string
  metadata: string
}

/** Replaces its metadata. Undefined if there is no such conversation any more. */
export const changeConversation: Command<ConversationChange, Conversation | undefined> = async (
  tx,
  { metadata, ...key },
) => {
  await tx.lock(responsesLock(key.user_name))
  const found = await readConversation(tx, key)
  if (found === undefined) return undefined
  await tx.run(
    sql`UPDATE conversations SET metadata = ${metadata} WHERE user_name = ${key.user_name} AND id = ${key.id}`,
  )
  return { ...found, metadata }
}

/** From now on it does not exist; the sweep frees what it holds. False if it did not exist. */
export const dropConversation: Command<Own, boolean> = async (tx, { user_name, id, now }) => {
  await tx.lock(responsesLock(user_name))
  const dropped = await tx.run(
    sql`UPDATE conversations SET expire_at = 0 WHERE user_name = ${user_name} AND id = ${id} AND ${isLive(now)}`,
  )
  return dropped > 0
}

export const addConversationItems: Command<Addition & { project_id: string }, ConversationItem[]> = async (
  tx,
  addition,
) => {
  await tx.lock(responsesLock(addition.user_name))
  return appendItems(tx, addition)
}

/** False if there is no such item. */
export const dropConversationItem: Command<Own & { item: string }, boolean> = async (
  tx,
  { item, ...key },
) => {
  await tx.lock(responsesLock(key.user_name))
  if ((await readConversation(tx, key)) === undefined) return false
  const which = sql`${ofConversation(key)} AND id = ${item}`
  const found = await tx.get<{ characters: number }>(
    sql`SELECT characters FROM conversation_items WHERE ${which}`,
  )
  if (found === undefined) return false
  await tx.run(sql`DELETE FROM conversation_items WHERE ${which}`)
  await tx.run(
    sql`UPDATE conversations SET items = items - 1, characters = characters - ${Number(found.characters)}
        WHERE user_name = ${key.user_name} AND id = ${key.id}`,
  )
  return true
}
