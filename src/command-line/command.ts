import type { Readable } from 'node:stream'
import type { Config } from '../config.ts'
import type { Database } from '../storage/database.ts'
import { StorageRefusal } from '../storage/failures.ts'

export interface Command {
  /** The arguments that follow the name. */
  usage: string
  summary: string
  more?: string
  run(args: readonly string[], config: Config, print: Print, around: Surroundings): Promise<void>
}

/** Where a command reads and writes, and its variables: those of the process, unless a caller gives others. */
export interface Surroundings {
  stdin: Readable & { isTTY?: boolean }
  stdout: NodeJS.WritableStream
  stderr: NodeJS.WritableStream & { isTTY?: boolean }
  env: Readonly<Record<string, string | undefined>>
}

/** Writes a line to the standard output. */
export type Print = (line: string) => void

/** The exit codes, from which scripts can tell how a command ended. */
export const exitCodes = {
  done: 0,
  failed: 1,
  /** The command line or a setting is wrong. */
  usage: 2,
  /** The record cannot be opened: it is locked, damaged, newer than this version, or unreachable. */
  record: 3,
} as const

/** Ends a command with one line on stderr. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exitCode: number

  constructor(message: string, exitCode: number = exitCodes.failed) {
    super(message)
    this.exitCode = exitCode
  }
}

export const usageError = (message: string) => new CommandError(message, exitCodes.usage)

/** The only argument of a command that takes one. */
export function onlyArgument(args: readonly string[], what: string): string {
  const [argument, ...rest] = args
  if (argument === undefined || rest.length > 0) throw usageError(`Give ${what}.`)
  return argument
}

export function recordOptions(config: Config) {
  return {
    databaseUrl: config.database_url,
    directUrl: config.database_direct_url,
    folder: config.data,
    queryTimeoutMs: config.query_timeout,
    maxConnections: config.database_connections,
    cold: config,
  }
}

/**
 * Opens the record for one piece of work, unnoticed by a running server. If there is no record, the command was
 * probably given in a different folder than the server's; only `mayMake` creates one.
 */
export async function withRecord<T>(
  config: Config,
  work: (db: Database) => Promise<T>,
  { mayMake = false } = {},
): Promise<T> {
  const { openRecord } = await import('../storage/open.ts')
  const db = await openRecord({ ...recordOptions(config), mustExist: !mayMake }).catch((error: unknown) => {
    if (!(error instanceof StorageRefusal) || error.kind !== 'missing') throw error
    const setting =
      config.database_url === '' ? 'HEDDLE_DATA to the folder' : 'HEDDLE_DATABASE_URL to the database'
    throw new CommandError(
      `${error.message} Set ${setting} of your server, or create a new record with \`heddle user add NAME --new\`.`,
      exitCodes.record,
    )
  })
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}
