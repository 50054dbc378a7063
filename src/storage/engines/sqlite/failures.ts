import { SqliteError } from 'better-sqlite3'
import { Refusal, type RefusalCode } from '../../../domain/refusals.ts'
import { StorageRefusal, storageFailure } from '../../failures.ts'

/** SQLite's primary result codes that a request meets, https://www.sqlite.org/rescode.html */
const codes: [prefix: string, code: RefusalCode][] = [
  ['SQLITE_FULL', 'storage_full'],
  ['SQLITE_BUSY', 'storage_busy'],
  ['SQLITE_LOCKED', 'storage_busy'],
  ['SQLITE_READONLY', 'storage_read_only'],
  ['SQLITE_CORRUPT', 'storage_corrupt'],
  ['SQLITE_NOTADB', 'storage_corrupt'],
  ['SQLITE_IOERR', 'storage_failed'],
  ['SQLITE_CANTOPEN', 'storage_failed'],
]

/** A failure of the store becomes a refusal that says so; a fault of ours (a wrong statement) stays what it is. */
export function sqliteFailure(error: unknown): unknown {
  if (error instanceof Refusal || !(error instanceof SqliteError)) return error
  const found = codes.find(([prefix]) => error.code.startsWith(prefix))
  return found ? storageFailure(found[1], error) : error
}

/** Whether the failure took the whole transaction with it, not just one statement. */
export function endsTransaction(error: unknown): boolean {
  return error instanceof Refusal && error.code.startsWith('storage_')
}

/** The one line that an operator gets when a file cannot be opened. */
export function openFailure(file: string, failure: unknown): unknown {
  const error = failure instanceof Refusal ? failure.cause : failure
  if (!(error instanceof SqliteError)) return failure
  const cause = { cause: error }
  if (error.code.startsWith('SQLITE_NOTADB') || error.code.startsWith('SQLITE_CORRUPT')) {
    return new StorageRefusal(
      'corrupt',
      `${file} is damaged or not a database (${error.message}). Restore a backup, or move it away to start empty.`,
      cause,
    )
  }
  if (error.code.startsWith('SQLITE_BUSY')) {
    return new StorageRefusal(
      'locked',
      `${file} is locked by another program. Stop that program, then start again.`,
      cause,
    )
  }
  if (error.code.startsWith('SQLITE_FULL')) {
    return new StorageRefusal('full', `${file}: the disk is full. Free some space, then start again.`, cause)
  }
  return new StorageRefusal(
    'read-only',
    `${file} cannot be opened or written (${error.message}). Check the folder and its permissions.`,
    cause,
  )
}
