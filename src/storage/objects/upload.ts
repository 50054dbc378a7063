import { openDigest } from '../../domain/digests.ts'
import { newId } from '../../domain/ids.ts'
import { refuse } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { Database } from '../database.ts'
import { type FinishedUpload, pieceBytes, readFileEntry } from './files.ts'

/** A file that is being written into the record. */
export interface Upload {
  add(bytes: Uint8Array): Promise<void>
  /** Makes the file visible and returns its digest. */
  finish(): Promise<string>
  /** Makes the file visible otherwise than by its digest; `write` writes what is left of it. */
  finishAs(write: (written: WrittenUpload) => Promise<void>): Promise<void>
  /** Removes everything written so far. */
  drop(): Promise<void>
}

/** All of a file but its last piece is in the record. */
type WrittenUpload = Pick<FinishedUpload, 'upload_id' | 'size' | 'last'>

/** Accepts bytes as they come and buffers no more than one piece. Full pieces are written to the record at once. */
export function openUpload(db: Database, projectId: string, limit: number): Upload {
  const id = newId()
  const digest = openDigest()
  // Shared between threads, and written before it is filled again: one buffer serves the whole file and is never
  // copied.
  let piece = Buffer.from(new SharedArrayBuffer(0))
  let filled = 0
  let size = 0
  let position = 0

  async function writePiece(): Promise<void> {
    const [memory, length] = [piece.buffer, filled]
    filled = 0
    await db.write('keepPiece', {
      project_id: projectId,
      upload_id: id,
      position,
      memory,
      length,
      now: now(),
    })
    position++
  }

  const lastPiece = () => (filled > 0 ? { position, memory: piece.buffer, length: filled } : null)

  async function dropWritten(): Promise<void> {
    if (position === 0) return
    while (await db.write('dropPieces', { project_id: projectId, upload_id: id }));
  }

  return {
    async add(bytes) {
      size += bytes.length
      if (size > limit) throw refuse('file_too_large', { field: 'file', limit })
      digest.add(bytes)
      const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
      for (let from = 0; from < source.length; ) {
        if (filled === pieceBytes) await writePiece()
        const left = source.length - from
        if (filled + left > piece.length) piece = grown(piece, filled, left)
        // On shared memory, `set` takes ten times as long if the two are not aligned alike.
        const copied = source.copy(piece, filled, from)
        filled += copied
        from += copied
      }
    },
    async finish() {
      const name = digest.end()
      if ((await readFileEntry(db, projectId, name)) === undefined) {
        const last = lastPiece()
        const finished = { project_id: projectId, upload_id: id, digest: name, size, last, now: now() }
        if (await db.write('finishFile', finished)) return name
      }
      await dropWritten()
      return name
    },
    finishAs: (write) => write({ upload_id: id, size, last: lastPiece() }),
    drop: dropWritten,
  }
}

/** Most files are small, so room for a whole piece is allocated only when it is needed. */
function grown(piece: Buffer, filled: number, more: number): Buffer<SharedArrayBuffer> {
  const length = Math.min(pieceBytes, Math.max(filled + more, piece.length * 2))
  const larger = Buffer.from(new SharedArrayBuffer(length))
  piece.copy(larger, 0, 0, filled)
  return larger
}
