import { storageFailure } from '../failures.ts'
import { sql } from '../sql/sql.ts'
import { type BoundReader, type Command, onlyRow, type Reader, type Transaction } from '../transaction.ts'

/** A file is stored in pieces, so that neither a reader nor a writer ever has all of it in memory. */
export const pieceBytes = 256 * 1024

interface StoredFile {
  upload_id: string
  size: number
}

export function readFileEntry(db: Reader, project: string, digest: string): Promise<StoredFile | undefined> {
  return db.get<StoredFile>(
    sql`SELECT upload_id, size FROM files WHERE project_id = ${project} AND digest = ${digest}`,
  )
}

export async function readPiece(
  db: Reader,
  project: string,
  uploadId: string,
  position: number,
): Promise<Uint8Array | undefined> {
  const row = await db.get<{ bytes: Uint8Array }>(
    sql`SELECT bytes FROM file_pieces
        WHERE project_id = ${project} AND upload_id = ${uploadId} AND position = ${position}`,
  )
  return row?.bytes
}

/** Uses short reads, so that a slow client blocks nothing in the record. A file never changes. */
export async function* piecesOf(
  db: Reader,
  projectId: string,
  uploadId: string,
  size: number,
): AsyncGenerator<Uint8Array> {
  for (let position = 0; position * pieceBytes < size; position++) {
    const bytes = await readPiece(db, projectId, uploadId, position)
    if (bytes === undefined) {
      const lack = new Error(`a file of ${size} bytes has no piece ${position}`)
      throw storageFailure('storage_corrupt', lack)
    }
    yield bytes
  }
}

/** The bytes of all files of a project. */
export async function sizeOfFiles(db: BoundReader, project: string): Promise<number> {
  const statement = sql`SELECT sum(size) AS bytes FROM files WHERE project_id = ${project} AND ${db.dialect.cancellable}`
  return (await onlyRow<{ bytes: number | null }>(db, statement)).bytes ?? 0
}

/** Bytes in memory that threads share. */
export interface PieceBytes {
  position: number
  memory: SharedArrayBuffer
  length: number
}

interface Piece extends PieceBytes {
  project_id: string
  upload_id: string
  now: number
}

/** A piece of an upload in progress. It is invisible until its file is finished. */
export const keepPiece: Command<Piece, void> = async (tx, { project_id, upload_id, now, ...piece }) => {
  await tx.run(
    sql`INSERT INTO file_uploads (project_id, upload_id, touched_at) VALUES (${project_id}, ${upload_id}, ${now})
        ON CONFLICT (project_id, upload_id) DO UPDATE SET touched_at = excluded.touched_at`,
  )
  await insertPiece(tx, project_id, upload_id, piece)
}

export interface FinishedUpload {
  project_id: string
  upload_id: string
  digest: string
  size: number
  last: PieceBytes | null
  now: number
}

/**
 * Makes the file visible. Returns false if the project already has the same bytes, so that the upload is not needed.
 */
export const finishFile: Command<FinishedUpload, boolean> = async (tx, upload) => {
  const { project_id, upload_id, digest, size, last, now } = upload
  const isNew = await tx.run(
    sql`INSERT INTO files (project_id, digest, upload_id, size, created_at)
        VALUES (${project_id}, ${digest}, ${upload_id}, ${size}, ${now}) ON CONFLICT DO NOTHING`,
  )
  if (isNew === 0) return false
  if (last !== null) await insertPiece(tx, project_id, upload_id, last)
  await tx.run(sql`DELETE FROM file_uploads WHERE project_id = ${project_id} AND upload_id = ${upload_id}`)
  return true
}

/** Pieces freed in one write, so that other writes run in between. */
const piecesAtOnce = 64

/**
 * Removes a few pieces of an upload. Returns whether there may be more. What became a file stays: a commit may have
 * succeeded although its answer was lost.
 */
export const dropPieces: Command<{ project_id: string; upload_id: string }, boolean> = async (
  tx,
  { project_id, upload_id },
) => {
  const isUpload = await tx.run(
    sql`UPDATE file_uploads SET touched_at = touched_at WHERE project_id = ${project_id} AND upload_id = ${upload_id}`,
  )
  return isUpload > 0 && removeSome(tx, project_id, upload_id)
}

/** Removes some of the uploads that were cut short by the end of a server. Returns whether there may be more. */
export const sweepUploads: Command<{ before: number }, boolean> = async (tx, { before }) => {
  if (!(await tx.tryLock('the sweep of uploads'))) return false
  const abandoned = await tx.get<{ project_id: string; upload_id: string }>(
    sql`SELECT project_id, upload_id FROM file_uploads WHERE touched_at < ${before} LIMIT 1`,
  )
  if (abandoned === undefined) return false
  await removeSome(tx, abandoned.project_id, abandoned.upload_id)
  return true
}

async function removeSome(tx: Transaction, projectId: string, uploadId: string): Promise<boolean> {
  const of = sql`project_id = ${projectId} AND upload_id = ${uploadId}`
  const removed = await tx.run(
    sql`DELETE FROM file_pieces WHERE ${of}
        AND position IN (SELECT position FROM file_pieces WHERE ${of} ORDER BY position LIMIT ${piecesAtOnce})`,
  )
  if (removed === piecesAtOnce) return true
  await tx.run(sql`DELETE FROM file_uploads WHERE ${of}`)
  return false
}

export async function insertPiece(
  tx: Transaction,
  projectId: string,
  uploadId: string,
  { position, memory, length }: PieceBytes,
): Promise<void> {
  const bytes = Buffer.from(memory, 0, length)
  await tx.run(
    sql`INSERT INTO file_pieces (project_id, upload_id, position, bytes)
        VALUES (${projectId}, ${uploadId}, ${position}, ${bytes})`,
  )
}
