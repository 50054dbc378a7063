import { DatabaseError } from 'pg'
import { type PlainRefusalCode, Refusal, refuse, wrong } from '../../../domain/refusals.ts'
import { StorageRefusal, storageFailure } from '../../failures.ts'

/** How far the work had got when its connection was lost. */
type LossStage =
  /** There was no connection; nothing was sent. */
  | 'unreachable'
  /** The transaction was open; the server rolls it back. */
  | 'before-commit'
  /** COMMIT was sent but not answered; only the server knows the outcome. */
  | 'unconfirmed'

export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
  readonly stage: LossStage

  constructor(stage: LossStage, cause: unknown) {
    super(reasonOf(cause), { cause })
    this.stage = stage
  }
}

interface Limits {
  queryTimeoutMs: number
  idleTimeoutMs: number
}

/** SQLSTATE prefixes that a request can cause, https://www.postgresql.org/docs/current/errcodes-appendix.html */
const codes: [prefix: string, code: PlainRefusalCode][] = [
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

/** A failure of the store becomes a refusal; an error of ours (a wrong statement) is left as it is. */
export function postgresFailure(error: unknown, limits: Limits): unknown {
  if (error instanceof Refusal) return error
  if (error instanceof ConnectionLost && error.stage === 'unconfirmed')
    return storageFailure('write_unconfirmed', error)
  const code = codeOf(error)
  if (code === '57014') return tooSlow(limits.queryTimeoutMs, error)
  if (code === '25P03') return tooSlow(limits.idleTimeoutMs, error)
  // Text with U+0000, or escapes that are not valid Unicode: only PostgreSQL cannot store these.
  if (code === '22021' || code === '22P05') {
    return unstorable('a text with the character U+0000', 'text without it', error)
  }
  // An index entry must fit on a third of a page; SQLite has no such bound.
  if (code === '54000') {
    const accepted = 'names, ids and references of at most 1000 bytes'
    return unstorable('a text that is too long for an index', accepted, error)
  }
  const found = code === undefined ? undefined : codes.find(([prefix]) => code.startsWith(prefix))
  if (found !== undefined) return storageFailure(found[1], error)
  return error instanceof ConnectionLost ? storageFailure('storage_failed', error) : error
}

/** A write has no reader to wait for. If the server ended its transaction as idle, the server had not heard from us. */
export function writeFailure(error: unknown, limits: Limits): unknown {
  return codeOf(error) === '25P03' ? storageFailure('storage_failed', error) : postgresFailure(error, limits)
}

function codeOf(error: unknown): string | undefined {
  const reported = error instanceof ConnectionLost ? error.cause : error
  return reported instanceof DatabaseError ? reported.code : undefined
}

function unstorable(fault: string, accepted: string, cause: unknown): Refusal {
  return Object.assign(wrong('body', fault, accepted), { cause })
}

function tooSlow(limit: number, cause: unknown): Refusal {
  return Object.assign(refuse('query_too_slow', { limit }), { cause })
}

/**
 * Whether the same transaction may succeed when it is run again: two transactions took their locks in conflicting
 * order.
 */
export function isCollision(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '40001' || error.code === '40P01')
}

/** Whether a migration gave way to others: it waited too long for a lock, or was in a circle of those that wait. */
export function hasToWait(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '55P03' || error.code === '40P01')
}

/** Whether the connection has ended with this answer, or can no longer be trusted with our statements. */
export function endsConnection(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false
  // The tables changed under a prepared statement. Recognised by the name of the function in the server's source,
  // because the message is translated.
  if (error.routine === 'RevalidateCachedQuery') return true
  return /^(08|57P|25P03|25P04|26000)/.test(error.code ?? '')
}

/** Why the record cannot be opened, by SQLSTATE prefix: the text an operator reads after the server's name. */
const openFailures: [
  prefix: string,
  kind: StorageRefusal['kind'],
  says: (reason: string, setting: string) => string,
][] = [
  ['28', 'unreachable', (_, setting) => ` refuses the user or the password of ${setting}.`],
  ['3D000', 'unreachable', () => ' does not exist. Create the database first.'],
  ['42501', 'read-only', (reason) => ` does not let this user create its tables (${reason}).`],
  ['25006', 'read-only', (reason) => ` does not let this user create its tables (${reason}).`],
  ['53100', 'full', () => ': the disk is full. Free some space, then start again.'],
  [
    '55P03',
    'locked',
    () => ' is being migrated, or its tables are in use, by another process that does not finish.',
  ],
  ['40P01', 'locked', () => ' is in use by servers whose requests always collide with the migration.'],
  [
    '53300',
    'unreachable',
    (reason) =>
      ` has no free connection (${reason}). Raise its max_connections, or lower HEDDLE_DATABASE_CONNECTIONS of the servers.`,
  ],
  ['53', 'unreachable', (reason) => ` accepts no connections (${reason}).`],
]

/** The one line an operator gets when the record cannot be opened. */
export function openFailure(where: string, failure: unknown, setting = 'HEDDLE_DATABASE_URL'): unknown {
  if (failure instanceof StorageRefusal) return failure
  const error = failure instanceof ConnectionLost ? failure.cause : failure
  const refused = (kind: StorageRefusal['kind'], says: string) =>
    new StorageRefusal(kind, `${where}${says}`, { cause: error })
  const reason = reasonOf(error)
  if (error instanceof DatabaseError) {
    const found = openFailures.find(([prefix]) => error.code?.startsWith(prefix))
    if (found !== undefined) return refused(found[1], found[2](reason, setting))
    return endsConnection(error) ? refused('unreachable', ` accepts no connections (${reason}).`) : failure
  }
  if (!isNetworkFailure(error) && !(failure instanceof ConnectionLost)) return failure
  const check = `Check ${setting}, and that the database server is running.`
  return refused('unreachable', ` cannot be reached (${reason}). ${check}`)
}

function isNetworkFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  // pg has no code of its own for a connection that ends or takes too long to open.
  return 'syscall' in error || 'errors' in error || /^(Connection terminated|timeout )/.test(error.message)
}

/** When all addresses of a name fail, the error has no message of its own. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as NodeJS.ErrnoException
  return error.message || code || error.name
}
