import { refuse } from '../../domain/refusals.ts'
import { insertPiece, type PieceBytes } from '../objects/files.ts'
import { joined, rawSql, type Sql, sql } from '../sql/sql.ts'
import { type RowIn, tableOf } from '../sql/table.ts'
import type { Command, Reader, Transaction } from '../transaction.ts'

const wireFiles = tableOf('wire_files', {
  project_id: 'text',
  id: 'text',
  user_name: 'text',
  filename: 'text',
  purpose: 'text',
  upload_id: 'text',
  size: 'number',
  created_at: 'time',
  expires_at: 'time?',
})

/** A file of OpenAI's wire. */
export type WireFile = RowIn<typeof wireFiles>

/** Where a page of a user's list begins and ends. */
export interface WirePage {
  user: string
  /** Only what is in these entities and projects. */
  scopes: readonly string[]
  after: string | undefined
  limit: number
  order: 'asc' | 'desc'
}

/** Of files of Anthropic's batches, which has no operations for them. */
export const messageBatchPurpose = 'message_batch'
const isShown = sql`purpose <> ${messageBatchPurpose}`

const isLive = (now: number): Sql => sql`(expires_at IS NULL OR expires_at > ${now})`

export const readWireFile = (
  db: Reader,
  user: string,
  id: string,
  now: number,
): Promise<WireFile | undefined> =>
  wireFiles.get(db, sql`user_name = ${user} AND id = ${id} AND ${isShown} AND ${isLive(now)}`)

/** Whether or not it has expired: the input of a batch stays until its batch is over. */
export const fileOfProject = (db: Reader, project: string, id: string): Promise<WireFile | undefined> =>
  wireFiles.get(db, sql`project_id = ${project} AND id = ${id}`)

export const listWireFiles = (
  db: Reader,
  { user, ...page }: WirePage,
  purpose: string | undefined,
  now: number,
): Promise<WireFile[]> => {
  const ofPurpose = purpose === undefined ? isShown : sql`${isShown} AND purpose = ${purpose}`
  return wireFiles.all(db, sql`user_name = ${user} AND ${ofPurpose} AND ${isLive(now)} AND ${pageOf(page)}`)
}

/** Ids sort by time. */
export function pageOf({ scopes, after, limit, order }: Omit<WirePage, 'user'>): Sql {
  const [beyond, direction] = order === 'asc' ? [rawSql('>'), rawSql('ASC')] : [rawSql('<'), rawSql('DESC')]
  const begins = after === undefined ? sql`1 = 1` : sql`id ${beyond} ${after}`
  return sql`${begins} AND ${within(scopes)} ORDER BY id ${direction} LIMIT ${limit}`
}

function within(scopes: readonly string[]): Sql {
  if (scopes.includes('*')) return sql`1 = 1`
  if (scopes.length === 0) return sql`1 = 0`
  // 0 is the character after the slash.
  const each = (scope: string) =>
    sql`(project_id = ${scope} OR (project_id > ${`${scope}/`} AND project_id < ${`${scope}0`}))`
  return joined(scopes.map(each), ' OR ')
}

/** Its bytes are written except for the last piece. */
export interface NewWireFile {
  file: WireFile
  last: PieceBytes | null
}

export const keepWireFile: Command<NewWireFile, void> = async (tx, { file, last }) => {
  const { project_id, upload_id } = file
  if (last !== null) await insertPiece(tx, project_id, upload_id, last)
  await tx.run(sql`DELETE FROM file_uploads WHERE project_id = ${project_id} AND upload_id = ${upload_id}`)
  await wireFiles.insert(tx, [file])
}

interface WireFileName {
  user: string
  id: string
  now: number
}

/** A batch that still reads its input. */
const readers = sql`FROM batches WHERE batches.project_id = wire_files.project_id
  AND batches.input_file_id = wire_files.id AND batches.ended_at IS NULL`

/** Refused while a batch reads it. */
export const dropWireFile: Command<WireFileName, void> = async (tx, { user, id, now }) => {
  await tx.lock('batches')
  const file = await readWireFile(tx, user, id, now)
  if (file === undefined) return
  const reader = await tx.get<{ batch: string | null }>(
    sql`SELECT (SELECT min(batches.id) ${readers}) AS batch FROM wire_files
        WHERE project_id = ${file.project_id} AND id = ${id}`,
  )
  if (reader?.batch != null) throw refuse('wire_file_in_use', { field: 'file_id', batch: reader.batch })
  await dropFile(tx, file)
}

const filesAtOnce = 50

/** Returns whether there may be more. */
export const sweepWireFiles: Command<{ now: number }, boolean> = async (tx, { now }) => {
  const expired = await wireFiles.all(
    tx,
    sql`expires_at <= ${now} AND NOT EXISTS (SELECT 1 ${readers})
        LIMIT ${filesAtOnce}`,
  )
  for (const file of expired) await dropFile(tx, file)
  return expired.length === filesAtOnce
}

/** The bytes become those of an abandoned upload, which the sweep removes a few at a time. */
export async function dropFile(
  tx: Transaction,
  { project_id, id, upload_id }: Pick<WireFile, 'project_id' | 'id' | 'upload_id'>,
): Promise<void> {
  await tx.run(
    sql`INSERT INTO file_uploads (project_id, upload_id, touched_at) VALUES (${project_id}, ${upload_id}, 0)
        ON CONFLICT (project_id, upload_id) DO NOTHING`,
  )
  await tx.run(sql`DELETE FROM wire_files WHERE project_id = ${project_id} AND id = ${id}`)
}
