import { SqliteError } from 'better-sqlite3'
import {
  type PlainRefusalCode,
  passOnRefusal,
  Refusal,
  type RefusalCode,
  type RefusalValues,
} from '../../../domain/refusals.ts'
import { StorageRefusal, storageFailure } from '../../failures.ts'

/** SQLite's primary result codes that a request can cause, https://www.sqlite.org/rescode.html */
const codes: [prefix: string, code: PlainRefusalCode][] = [
  ['SQLITE_FULL', 'storage_full'],
  // The index of the log did not fit, which is how a record is opened on a disk without any room.
  ['SQLITE_IOERR_SHMSIZE', 'storage_full'],
  ['SQLITE_BUSY', 'storage_busy'],
  ['SQLITE_LOCKED', 'storage_busy'],
  ['SQLITE_PROTOCOL', 'storage_busy'],
  ['SQLITE_READONLY', 'storage_read_only'],
  ['SQLITE_CORRUPT', 'storage_corrupt'],
  ['SQLITE_NOTADB', 'storage_corrupt'],
  ['SQLITE_IOERR', 'storage_failed'],
  ['SQLITE_CANTOPEN', 'storage_failed'],
]

/** A failure of the store becomes a refusal; an error of ours (a wrong statement) is left as it is. */
export function sqliteFailure(error: unknown): unknown {
  if (error instanceof StorageRefusal) return sqliteFailure(error.cause)
  if (isOfDamage(error)) return storageFailure('storage_corrupt', error)
  if (error instanceof Refusal || !(error instanceof SqliteError)) return error
  const found = codes.find(([prefix]) => error.code.startsWith(prefix))
  return found ? storageFailure(found[1], error) : error
}

/**
 * Errors that our statements and functions get only from a damaged record: text that is not JSON, numbers that are not
 * times.
 */
function isOfDamage(error: unknown): boolean {
  if (error instanceof SqliteError) {
    return error.code === 'SQLITE_ERROR' && /^malformed (JSON|database schema)/.test(error.message)
  }
  return (
    error instanceof SyntaxError || (error instanceof RangeError && error.message === 'Invalid time value')
  )
}

/** Whether the failure ended the whole transaction, not just one statement. */
export function endsTransaction(error: unknown): boolean {
  return error instanceof Refusal && error.code.startsWith('storage_')
}

/** The one line an operator gets when a file cannot be opened. */
export function openFailure(
  file: string,
  failure: unknown,
  remedy = 'Check the permissions of the folder that HEDDLE_DATA names.',
): unknown {
  const error = failure instanceof Refusal ? failure.cause : failure
  if (!(error instanceof SqliteError)) return failure
  const refused = (kind: StorageRefusal['kind'], says: string) =>
    new StorageRefusal(kind, `${file}${says}`, { cause: error })
  const { message } = error
  switch (codes.find(([prefix]) => error.code.startsWith(prefix))?.[1]) {
    case 'storage_corrupt': {
      const advice = 'Restore a backup, or move it away to start empty.'
      return refused('corrupt', ` is damaged or not a database (${message}). ${advice}`)
    }
    case 'storage_busy':
      return refused('locked', ' is locked by another program. Stop that program, then start again.')
    case 'storage_full':
      return refused('full', ': the disk is full. Free some space, then start again.')
    default:
      return refused('read-only', ` cannot be opened or written (${message}). ${remedy}`)
  }
}

/** A failure in a form that can be sent between threads. */
export type JobFailure =
  | { kind: 'refusal'; code: RefusalCode; values: RefusalValues; cause: string | undefined }
  | { kind: 'fault'; message: string; stack: string | undefined }

export function describeFailure(error: unknown): JobFailure {
  if (error instanceof Refusal) {
    const cause = error.cause instanceof Error ? error.cause.message : undefined
    return { kind: 'refusal', code: error.code, values: error.values, cause }
  }
  const fault = error instanceof Error ? error : new Error(String(error))
  return { kind: 'fault', message: fault.message, stack: fault.stack }
}

/** The messages of these state that nothing was stored. */
const nothingStored: ReadonlySet<RefusalCode> = new Set([
  'storage_full',
  'storage_busy',
  'storage_read_only',
  'storage_failed',
])

/** The failure of a list of which some items are already stored. */
export function partlyStored(failure: JobFailure): JobFailure {
  if (failure.kind === 'fault' || !nothingStored.has(failure.code)) return failure
  const cause = `part of a list was stored before: ${failure.cause ?? failure.code}`
  return { kind: 'refusal', code: 'write_unconfirmed', values: {}, cause }
}

export function failureError(failure: JobFailure): Error {
  if (failure.kind === 'refusal') {
    const refusal = passOnRefusal(failure)
    if (failure.cause !== undefined) refusal.cause = new Error(failure.cause)
    return refusal
  }
  const fault = new Error(failure.message)
  if (failure.stack !== undefined) fault.stack = failure.stack
  return fault
}
