import type { Database } from '../../storage/database.ts'
import { pieceBytes, readFileEntry, readPiece } from '../../storage/objects/files.ts'
import { openUpload } from '../files/upload.ts'
import type { Value } from '../objects/values.ts'

/** Source code is read whole. */
const maxBytes = 4 * 1024 * 1024

/** Stores source code as a file of the project and returns its digest. */
export async function storeSource(db: Database, project: string, code: string): Promise<string> {
  const upload = openUpload(db, project, Number.POSITIVE_INFINITY)
  try {
    await upload.add(Buffer.from(code))
    return await upload.finish()
  } catch (error) {
    // The sweep removes what this fails to remove.
    await Promise.allSettled([upload.drop()])
    throw error
  }
}

/** The text of the file that a value names; null if there is none, or if it is too long to be source code. */
export async function readSource(
  db: Database,
  project: string,
  val: Value,
  file: string,
): Promise<string | null> {
  const digest = val.member('files')?.member(file)?.string
  const entry = digest === undefined ? undefined : await readFileEntry(db, project, digest)
  if (entry === undefined || entry.size > maxBytes) return null
  const pieces: Uint8Array[] = []
  for (let position = 0; position * pieceBytes < entry.size; position++) {
    const bytes = await readPiece(db, project, entry.upload_id, position)
    if (bytes === undefined) return null
    pieces.push(bytes)
  }
  return Buffer.concat(pieces).toString('utf8')
}
