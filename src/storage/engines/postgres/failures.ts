import { DatabaseError } from 'pg'
import { Refusal, type RefusalCode, refuse } from '../../../domain/refusals.ts'
import { StorageRefusal, storageFailure } from '../../failures.ts'

/** How far a statement got before its connection was gone. */
export type LossStage =
  /** There was no connection: nothing was sent. */
  | 'unreachable'
  /** The transaction was open and is rolled back by the server. */
  | 'before-commit'
  /** COMMIT was sent and not answered: the server alone knows. */
  | 'unconfirmed'

export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
  readonly stage: LossStage

  constructor(stage: LossStage, cause: unknown) {
    super(reasonOf(cause), { cause })
    this.stage = stage
  }
}

export interface Limits {
  queryTimeoutMs: number
  idleTimeoutMs: number
}

/** SQLSTATE prefixes that a request meets, https://www.postgresql.org/docs/current/errcodes-appendix.html */
const codes: [prefix: string, code: RefusalCode][] = [
  ['53100', 'storage_full'],
  ['25006', 'storage_read_only'],
  ['40001', 'storage_busy'],
  ['40P01', 'storage_busy'],
  ['55P03', 'storage_busy'],
  ['XX001', 'storage_corrupt'],
  ['XX002', 'storage_corrupt'],
  ['08', 'storage_failed'],
  ['28', 'storage_failed'],
  ['3D', 'storage_failed'],
  ['42501', 'storage_failed'],
  ['53', 'storage_failed'],
  ['57P', 'storage_failed'],
  ['58', 'storage_failed'],
]

/** A failure of the store becomes a refusal that says so; a fault of ours (a wrong statement) stays what it is. */
export function postgresFailure(error: unknown, limits: Limits): unknown {
  if (error instanceof Refusal) return error
  if (error instanceof ConnectionLost && error.stage === 'unconfirmed')
    return storageFailure('write_unconfirmed', error)
  const told = error instanceof ConnectionLost ? error.cause : error
  const code = told instanceof DatabaseError ? told.code : undefined
  if (code === '57014') return tooSlow(limits.queryTimeoutMs, error)
  if (code === '25P03') return tooSlow(limits.idleTimeoutMs, error)
  // A text with U+0000, or escaped text that is no Unicode: PostgreSQL alone cannot store it.
  if (code === '22021' || code === '22P05') {
    const refusal = refuse('invalid_value', {
      field: 'body',
      given: 'a text with the character U+0000',
      accepted: 'text without it',
    })
    refusal.cause = error
    return refusal
  }
  // What an index holds fits on a third of a page; SQLite has no such bound.
  if (code === '54000') {
    const refusal = refuse('invalid_value', {
      field: 'body',
      given: 'a text that is too long to be found again',
      accepted: 'names, ids and references of at most 1000 bytes',
    })
    refusal.cause = error
    return refusal
  }
  const found = code === undefined ? undefined : codes.find(([prefix]) => code.startsWith(prefix))
  if (found !== undefined) return storageFailure(found[1], error)
  return error instanceof ConnectionLost ? storageFailure('storage_failed', error) : error
}

function tooSlow(limit: number, cause: unknown): Refusal {
  const refusal = refuse('query_too_slow', { limit })
  refusal.cause = cause
  return refusal
}

/** Whether the same transaction may succeed when it is run again: two that met in the wrong order. */
export function isCollision(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '40001' || error.code === '40P01')
}

/** Whether this answer is the last one of its connection, or the connection can no longer be trusted with our statements. */
export function endsConnection(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false
  // Told by the source's own word, because the message is translated: the tables changed under a prepared statement.
  if (error.routine === 'RevalidateCachedQuery') return true
  return /^(08|57P|25P03|25P04|26000)/.test(error.code ?? '')
}

/** The one line that an operator gets when the record cannot be opened. */
export function openFailure(where: string, failure: unknown): unknown {
  const error = failure instanceof ConnectionLost ? failure.cause : failure
  const cause = { cause: error }
  const code = error instanceof DatabaseError ? (error.code ?? '') : undefined
  if (failure instanceof StorageRefusal) return failure
  if (code === undefined) {
    return isNetworkFailure(error) || failure instanceof ConnectionLost
      ? new StorageRefusal(
          'unreachable',
          `${where} cannot be reached (${reasonOf(error)}). Check HEDDLE_DATABASE_URL, and that the server runs.`,
          cause,
        )
      : failure
  }
  if (code.startsWith('28')) {
    return new StorageRefusal(
      'unreachable',
      `${where} refuses the user or the password of HEDDLE_DATABASE_URL.`,
      cause,
    )
  }
  if (code === '3D000') {
    return new StorageRefusal('unreachable', `${where} does not exist. Create the database first.`, cause)
  }
  if (code === '42501' || code === '25006') {
    return new StorageRefusal(
      'read-only',
      `${where} does not let this user make its tables (${reasonOf(error)}).`,
      cause,
    )
  }
  if (code === '53100') {
    return new StorageRefusal('full', `${where}: the disk is full. Free some space, then start again.`, cause)
  }
  if (code === '55P03') {
    return new StorageRefusal(
      'locked',
      `${where} is being migrated by another process that does not finish.`,
      cause,
    )
  }
  if (endsConnection(error) || code.startsWith('53')) {
    return new StorageRefusal(
      'unreachable',
      `${where} does not take connections (${reasonOf(error)}).`,
      cause,
    )
  }
  return failure
}

function isNetworkFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  // pg has no code of its own for a connection that ends or is too slow to begin.
  return 'syscall' in error || 'errors' in error || /^(Connection terminated|timeout )/.test(error.message)
}

/** An attempt on several addresses of one name fails with an error that has no message. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as NodeJS.ErrnoException
  return error.message || code || error.name
}
