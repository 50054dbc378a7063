import { type Caller, requireAccess } from '../../domain/callers.ts'
import { refuse } from '../../domain/refusals.ts'
import type { Database } from '../../storage/database.ts'
import { piecesOf, readFileEntry, sizeOfFiles } from '../../storage/objects/files.ts'
import type { Reader } from '../../storage/transaction.ts'
import type { ContentBody, StatsBody } from './contract.ts'

interface FileContent {
  size: number
  /** Read one after the other, at the pace of the reader. */
  pieces: AsyncIterable<Uint8Array>
}

export async function readFile(
  db: Reader,
  caller: Caller,
  { project_id, digest }: ContentBody,
): Promise<FileContent> {
  requireAccess(caller, project_id)
  const file = await readFileEntry(db, project_id, digest)
  if (file === undefined) {
    throw refuse('file_not_found', { digest: JSON.stringify(digest), project: JSON.stringify(project_id) })
  }
  return { size: file.size, pieces: piecesOf(db, project_id, file.upload_id, file.size) }
}

export async function sumOfFiles(
  db: Database,
  caller: Caller,
  { project_id }: StatsBody,
  signal: AbortSignal,
) {
  requireAccess(caller, project_id)
  return { total_size_bytes: await sizeOfFiles(db, project_id, signal) }
}
