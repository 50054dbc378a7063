import { dropFile, type WireFile } from '../batches/wire-files.ts'
import { freeConversations } from '../conversations/freeing.ts'
import { rawSql, type Sql, sql } from '../sql/sql.ts'
import { type Command, countOf, type Transaction } from '../transaction.ts'
import { countErased, type ErasedCounts, type ErasureKey, lockErasure } from './progress.ts'

/** Rows, and bytes of texts, of one step. */
const rowsAtOnce = 50
const bytesAtOnce = 1 << 20

/** What belongs to a user and to no call: a table and how its rows are counted. */
export const ownTables = {
  waiting_responses: 'waiting_responses',
  batches: 'batches',
  files: 'wire_files',
  conversations: 'conversations',
} as const satisfies Partial<Record<keyof ErasedCounts, string>>

interface OwnRows extends ErasureKey {
  user: string
}

export const ofUser = ({ project_id, user }: Pick<OwnRows, 'project_id' | 'user'>): Sql =>
  sql`project_id = ${project_id} AND user_name = ${user}`

/** Erases some of it. Returns whether there is more. */
export const eraseOwnRows: Command<OwnRows, boolean> = async (tx, own) => {
  await lockErasure(tx, own)
  for (const step of [eraseWaiting, eraseBatches, eraseFiles, eraseConversations]) {
    const counts = await step(tx, own)
    if (counts === undefined) continue
    await countErased(tx, own, counts)
    return true
  }
  return false
}

/** Undefined if there was nothing. */
type Step = (tx: Transaction, own: OwnRows) => Promise<Partial<ErasedCounts> | undefined>

const eraseWaiting: Step = async (tx, own) => {
  const some = sql`SELECT user_name, id FROM waiting_responses WHERE ${ofUser(own)} ORDER BY id LIMIT ${rowsAtOnce}`
  await tx.run(sql`DELETE FROM waiting_response_texts WHERE (user_name, id) IN (${some})`)
  const erased = await tx.run(sql`DELETE FROM waiting_responses WHERE (user_name, id) IN (${some})`)
  return erased === 0 ? undefined : { waiting_responses: erased }
}

/** The lines of a batch go first, and the batch with its last ones. */
const eraseBatches: Step = async (tx, own) => {
  await tx.lock('batches')
  const batch = await tx.get<{ id: string }>(
    sql`SELECT id FROM batches WHERE ${ofUser(own)} ORDER BY id LIMIT 1`,
  )
  if (batch === undefined) return undefined
  const lines = sql`batch_lines WHERE project_id = ${own.project_id} AND batch_id = ${batch.id}`
  const erased = await tx.run(
    sql`DELETE FROM ${lines} AND line IN (SELECT line FROM ${lines} ORDER BY line LIMIT ${rowsAtOnce})`,
  )
  if (erased === rowsAtOnce) return {}
  await tx.run(sql`DELETE FROM batches WHERE project_id = ${own.project_id} AND id = ${batch.id}`)
  return { batches: 1 }
}

const eraseFiles: Step = async (tx, own) => {
  const files = await tx.all<Pick<WireFile, 'project_id' | 'id' | 'upload_id'>>(
    sql`SELECT project_id, id, upload_id FROM wire_files WHERE ${ofUser(own)} ORDER BY id LIMIT ${rowsAtOnce}`,
  )
  for (const file of files) await dropFile(tx, file)
  return files.length === 0 ? undefined : { files: files.length }
}

const eraseConversations: Step = async (tx, own) => {
  const count = () => countOf(tx, sql`${rawSql('conversations')} WHERE ${ofUser(own)}`)
  const before = await count()
  if (before === 0) return undefined
  await freeConversations(tx, ofUser(own), { limit: rowsAtOnce, bytes: bytesAtOnce })
  return { conversations: before - (await count()) }
}
