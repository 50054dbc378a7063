import { readInBatches } from '../../domain/batches.ts'
import { refuse } from '../../domain/refusals.ts'
import { insertInto } from '../sql/inserts.ts'
import { listOf, type Sql, sql } from '../sql/sql.ts'
import type { Reader, Transaction } from '../transaction.ts'

/** What a conversation holds: about a hundred times what a context does. */
export const maxConversationItems = 10_000
export const maxConversationCharacters = 32 * 1024 * 1024

export interface ConversationKey {
  user_name: string
  id: string
}

/**
 * An item to be added. Its text is a list of one under the name that the record of a call has for it, so that what a
 * project redacts there is redacted here: `{"input":[…]}`, or `{"output":[…]}` for one of an answer.
 */
export interface ItemToAdd {
  /** The id that it has already; null if it has none. */
  id: string | null
  /** The beginning of the id that it gets otherwise; its position follows. */
  stem: string
  inputs: string | null
  output: string | null
}

/** `item` is a JSON object without the id. */
export interface ConversationItem {
  position: number
  id: string
  item: string
}

export interface Addition extends ConversationKey {
  items: readonly ItemToAdd[]
  now: number
  /** When the conversation expires from now on; null is never. */
  until: number | null
  /** The field of the request that names the conversation. */
  field: string
}

export const isLive = (now: number): Sql => sql`(expire_at IS NULL OR expire_at > ${now})`

const wrappings = ['{"input":[', '{"output":[']

export const wrapped = (name: 'input' | 'output', item: string): string => `{"${name}":[${item}]}`

/** An item that is kept, as it was added: those of the model are replies. */
export function asAdded(item: string): Pick<ItemToAdd, 'inputs' | 'output'> {
  const { type = 'message', role } = JSON.parse(item) as { type?: string; role?: string }
  const isReply = type === 'message' ? role === 'assistant' : !type.endsWith('_output')
  return {
    inputs: isReply ? null : wrapped('input', item),
    output: isReply ? wrapped('output', item) : null,
  }
}

/** Undefined if redaction has left no item. */
export function unwrapped({ inputs, output }: Pick<ItemToAdd, 'inputs' | 'output'>): string | undefined {
  const text = inputs ?? output ?? ''
  const begin = wrappings.find((beginning) => text.startsWith(beginning))
  return begin === undefined || !text.endsWith(']}') ? undefined : text.slice(begin.length, -2)
}

const columns = ['user_name', 'conversation_id', 'position', 'id', 'item', 'characters'] as const
const insertItems = insertInto('conversation_items', columns)

/**
 * Appends items in their order, and returns them as they are kept. An id that the conversation has already, or gives
 * itself, is replaced by one of its own. The caller holds the lock of the user's responses.
 */
export async function appendItems(
  tx: Transaction,
  { user_name, id, items, now, until, field }: Addition,
): Promise<ConversationItem[]> {
  const room = await tx.get<{ next_position: number; items: number; characters: number }>(
    sql`SELECT next_position, items, characters FROM conversations
        WHERE user_name = ${user_name} AND id = ${id} AND ${isLive(now)}`,
  )
  if (room === undefined) throw refuse('conversation_not_found', { field, id })
  const ids = await takenIds(tx, { user_name, id }, items)
  const added: ConversationItem[] = []
  for (const wanted of items) {
    const item = unwrapped(wanted)
    if (item === undefined) continue
    const position = Number(room.next_position) + added.length
    const isFree = wanted.id !== null && !ids.has(wanted.id) && !wanted.id.startsWith(wanted.stem)
    const own = isFree ? (wanted.id as string) : wanted.stem + position
    ids.add(own)
    added.push({ position, id: own, item })
  }
  const count = Number(room.items) + added.length
  const characters = Number(room.characters) + added.reduce((sum, { item }) => sum + item.length, 0)
  if (count > maxConversationItems)
    throw refuse('conversation_full', { field, id, limit: `${maxConversationItems} items` })
  if (characters > maxConversationCharacters)
    throw refuse('conversation_full', { field, id, limit: `${maxConversationCharacters} characters` })
  const changed = await tx.run(
    sql`UPDATE conversations SET next_position = next_position + ${added.length}, items = ${count},
          characters = ${characters}, expire_at = ${until}
        WHERE user_name = ${user_name} AND id = ${id} AND ${isLive(now)}`,
  )
  if (changed === 0) throw refuse('conversation_not_found', { field, id })
  const rows = added.map(({ position, id: own, item }) => [user_name, id, position, own, item, item.length])
  for (const statement of insertItems(rows)) await tx.run(statement)
  return added
}

async function takenIds(
  tx: Reader,
  { user_name, id }: ConversationKey,
  items: readonly ItemToAdd[],
): Promise<Set<string>> {
  const wanted = items.flatMap((item) => item.id ?? [])
  const taken = await readInBatches(wanted, 100, (some) =>
    tx.all<{ id: string }>(
      sql`SELECT id FROM conversation_items
          WHERE user_name = ${user_name} AND conversation_id = ${id} AND id IN (${listOf(some)})`,
    ),
  )
  return new Set(taken.map((row) => row.id))
}
