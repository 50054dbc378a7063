import { withTexts } from '../../../domain/json/text.ts'
import type { Change } from '../../changes.ts'
import { refuseCold } from '../../cold/in-transactions.ts'
import { commands, commandsWithBytes, overwritingCommands } from '../../commands.ts'
import type { Command, Transaction } from '../../transaction.ts'
import { type Connection, overwriting } from './connection.ts'
import { sqliteDialect } from './dialect.ts'
import { describeFailure, endsTransaction, type JobFailure, sqliteFailure } from './failures.ts'

export interface Job {
  id: number
  name: string
  input: unknown
  /** The tenant whose request writes; absent for the server itself. */
  tenant?: string
  /**
   * Runs alone while nothing else waits, repeatedly but not endlessly as long as it returns true. Only for what a power
   * cut may undo, because it would be done again.
   */
  isBackground?: true
}

/** `changes` is set if the record is being watched. */
export type JobResult =
  | { id: number; value: unknown; changes?: Change[] }
  | { id: number; failure: JobFailure }

const registry: Record<string, Command<never, unknown>> = commands

/**
 * Group commit: the waiting jobs share one transaction and so one fsync, and are answered after it. Each has a
 * savepoint, so a job that is refused does not affect the others.
 */
export async function commitGroup(
  connection: Connection,
  jobs: Iterable<Job>,
  isWatched = false,
): Promise<JobResult[]> {
  const { handle } = connection
  const results: JobResult[] = []
  const begun: number[] = []
  try {
    handle.exec('BEGIN IMMEDIATE')
    for (const job of jobs) {
      begun.push(job.id)
      handle.exec('SAVEPOINT job')
      try {
        const command = registry[job.name]
        if (command === undefined) throw new Error(`no command ${job.name}`)
        const changes: Change[] = []
        const tx = transactionOn(connection, isWatched ? changes : undefined)
        const input = commandsWithBytes.has(job.name) ? job.input : withTexts(job.input)
        const run = () => command(tx, input as never)
        const value = overwritingCommands.has(job.name) ? await overwriting(connection, run) : await run()
        handle.exec('RELEASE job')
        results.push({ id: job.id, value, ...(changes.length > 0 && { changes }) })
      } catch (error) {
        const failure = sqliteFailure(error)
        // A full or failing disk may already have rolled back everything: nothing of this group was stored.
        if (endsTransaction(failure) || !handle.inTransaction) throw failure
        handle.exec('ROLLBACK TO job')
        handle.exec('RELEASE job')
        results.push({ id: job.id, failure: describeFailure(failure) })
      }
    }
    if (handle.inTransaction) handle.exec('COMMIT')
    return results
  } catch (error) {
    if (handle.inTransaction) handle.exec('ROLLBACK')
    const failure = describeFailure(sqliteFailure(error))
    // Without a transaction no job has begun, and those that wait cannot be written either.
    if (begun.length === 0) for (const { id } of jobs) begun.push(id)
    return begun.map((id) => ({ id, failure }))
  }
}

function transactionOn(connection: Connection, changes: Change[] | undefined): Transaction {
  return {
    dialect: sqliteDialect,
    record: connection,
    all: async (query) => refuseCold(connection.all(query)),
    get: async (query) => refuseCold([connection.get(query)])[0] as never,
    run: async (query) => connection.run(query),
    lock: async () => {},
    lockShared: async () => {},
    // The file has only one writer at a time.
    tryLock: async () => true,
    changed: (change) => void changes?.push(change),
  }
}
