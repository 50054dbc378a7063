import { type Sql, sql } from '../sql/sql.ts'
import type { Command, Transaction } from '../transaction.ts'
import type { ConversationKey } from './items.ts'

const gone = 0

/** The most rows, and characters, to free in one step. */
interface Step {
  limit: number
  bytes: number
}

/**
 * Frees conversations, the items of each before itself, so that a large one takes several steps. Returns the number of
 * rows.
 */
export async function freeConversations(
  tx: Transaction,
  which: Sql,
  { limit, bytes }: Step,
): Promise<number> {
  const found = await tx.all<ConversationKey>(
    sql`SELECT user_name, id FROM conversations WHERE ${which} LIMIT ${limit}`,
  )
  let freed = 0
  let characters = 0
  for (const { user_name, id } of found) {
    if (freed >= limit || characters >= bytes) break
    // Its beginning is gone from here on: an answer that began before it expired is not added to it.
    const going = await tx.run(
      sql`UPDATE conversations SET expire_at = ${gone} WHERE user_name = ${user_name} AND id = ${id} AND ${which}`,
    )
    // Something was added to it meanwhile.
    if (going === 0) continue
    const items = sql`conversation_items WHERE user_name = ${user_name} AND conversation_id = ${id}`
    const first = await tx.all<{ position: number; characters: number }>(
      sql`SELECT position, characters FROM ${items} ORDER BY position LIMIT ${limit - freed}`,
    )
    let last: number | undefined
    for (const item of first) {
      if (characters >= bytes) break
      last = Number(item.position)
      characters += Number(item.characters)
      freed++
    }
    if (last !== undefined) await tx.run(sql`DELETE FROM ${items} AND position <= ${last}`)
    if (freed >= limit || characters >= bytes) break
    await tx.run(sql`DELETE FROM conversations WHERE user_name = ${user_name} AND id = ${id}`)
    freed++
  }
  return freed
}

/** Frees the space of expired and deleted conversations, a few rows at a time. Returns how many. */
export const sweepConversations: Command<Step & { now: number }, number> = async (tx, { now, ...step }) => {
  if (!(await tx.tryLock('the sweep of conversations'))) return 0
  return freeConversations(tx, sql`expire_at <= ${now}`, step)
}
