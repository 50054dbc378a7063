import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { refuse } from '../../../domain/refusals.ts'
import { startThread } from '../../../threads/thread.ts'
import type { Commands } from '../../commands.ts'
import type { Database } from '../../database.ts'
import { StorageRefusal, storageFailure } from '../../failures.ts'
import { sql } from '../../sql/sql.ts'
import { loadMigrations, type Migration } from '../migrations.ts'
import { type Connection, connect, reclaimPages } from './connection.ts'
import { sqliteDialect } from './dialect.ts'
import { failureError } from './failures.ts'
import type { Job, JobResult } from './group.ts'
import { migrateSqlite, refuseUnsuitable } from './migrate.ts'
import { createReaderPool } from './reader-pool.ts'
import { createWriter, defaultGroupLimit } from './writer.ts'
import { type WriterMessage, type WriterThreadData, writerThread } from './writer-thread.ts'

export interface SqliteOptions {
  /** `:memory:` lives on one connection without threads: for tests. */
  file: string
  queryTimeoutMs?: number
  /** For a long read to begin, while others are under way. */
  waitMs?: number
  groupLimit?: number
  migrations?: readonly Migration[]
}

/** Writes that may wait for the disk; beyond that a request is refused and may be sent again. */
const waitingLimit = 10_000

const leavingMs = 5_000

const freedPagesAtOnce = 256

interface WritePath {
  submit(jobs: Job[]): void
  /** Answers by `deliver`, as a write does: whether there is more. */
  reclaim(id: number): void
  close(): Promise<void>
}

export async function openSqlite(options: SqliteOptions): Promise<Database> {
  const { file, queryTimeoutMs = 60_000, groupLimit = defaultGroupLimit } = options
  // The query that runs may take that long, and some more to end.
  const waitMs = options.waitMs ?? queryTimeoutMs + leavingMs
  const known = options.migrations ?? loadMigrations('sqlite')
  const memory = file === ':memory:'
  if (!memory) {
    makeFolder(dirname(file))
    // Read by SQLite itself. This folder can be written, which others need not be in a container.
    process.env.SQLITE_TMPDIR ??= dirname(file)
    refuseUnsuitable(file, known)
  }
  const first = connect(file, 'write')
  try {
    migrateSqlite(first, file, known, Date.now() * 1000)
  } catch (error) {
    first.close()
    throw error
  }
  if (!memory) first.close()
  const reads = memory ? first : connect(file, 'read')

  const pending = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  const deliver = (results: readonly JobResult[]): void => {
    for (const result of results) {
      const one = pending.get(result.id)
      pending.delete(result.id)
      if ('failure' in result) one?.reject(failureError(result.failure))
      else one?.resolve(result.value)
    }
  }
  const writes = memory
    ? writeHere(first, groupLimit, deliver)
    : writeInThread(file, groupLimit, deliver, pending)
  const readerPool = memory ? undefined : createReaderPool(file, { limitMs: queryTimeoutMs, waitMs })

  let lastId = 0
  let batch: Job[] = []
  let closing: Promise<void> | undefined
  const idle: (() => void)[] = []

  function flush(): void {
    const jobs = batch
    batch = []
    if (jobs.length > 0) writes.submit(jobs)
  }

  function answered<T>(ask: (id: number) => void): Promise<T> {
    if (closing) return Promise.reject(refuse('stopping'))
    if (pending.size >= waitingLimit) return Promise.reject(refuse('queue_full'))
    return new Promise<T>((resolve, reject) => {
      const id = ++lastId
      const settle =
        <V>(pass: (value: V) => void) =>
        (value: V) => {
          pass(value)
          if (pending.size === 0) for (const wake of idle.splice(0)) wake()
        }
      pending.set(id, { resolve: settle(resolve as (value: unknown) => void), reject: settle(reject) })
      ask(id)
    })
  }

  function stillOpen(): Connection {
    if (closing) throw refuse('stopping')
    return reads
  }

  const readLong = readerPool ? readerPool.stream : streamHere(reads)

  const database: Database = {
    dialect: sqliteDialect,
    all: async (query) => stillOpen().all(query),
    get: async (query) => stillOpen().get(query),
    write<Name extends keyof Commands>(name: Name, input: Parameters<Commands[Name]>[1]) {
      type Output = Awaited<ReturnType<Commands[Name]>>
      return answered<Output>((id) => {
        // Everything that arrives in this turn of the loop crosses to the writer in one message.
        if (batch.length === 0) setImmediate(flush)
        batch.push({ id, name, input })
      })
    },
    writeBehind(name, input) {
      return answered<boolean>((id) => writes.submit([{ id, name, input, behind: true }]))
    },
    async *stream<T>(...[query, options]: Parameters<Database['stream']>) {
      stillOpen()
      yield* readLong<T>(query, options)
    },
    async probe() {
      stillOpen().get(sql`SELECT id FROM heddle_probe`)
      await database.write('probe', { at: Date.now() * 1000 })
    },
    reclaim: () => answered<boolean>((id) => writes.reclaim(id)),
    close() {
      closing ??= (async () => {
        flush()
        if (pending.size > 0) await new Promise<void>((resolve) => idle.push(resolve))
        await readerPool?.close()
        if (!memory) reads.close()
        await writes.close()
      })()
      return closing
    },
  }
  return database
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    throw new StorageRefusal(
      'read-only',
      `The folder ${folder} cannot be made (${(error as Error).message}). Set HEDDLE_DATA to a folder that can be written.`,
      {
        cause: error,
      },
    )
  }
}

function writeHere(
  connection: Connection,
  groupLimit: number,
  deliver: (results: readonly JobResult[]) => void,
): WritePath {
  const writer = createWriter(connection, deliver, { groupLimit })
  return {
    submit: (jobs) => writer.submit(jobs),
    reclaim: (id) => deliver([{ id, value: reclaimPages(connection, freedPagesAtOnce) }]),
    async close() {
      await writer.idle()
      connection.close()
    },
  }
}

function writeInThread(
  file: string,
  groupLimit: number,
  deliver: (results: readonly JobResult[]) => void,
  pending: Map<number, { reject(error: Error): void }>,
): WritePath {
  const thread = startThread(writerThread, { file, groupLimit } satisfies WriterThreadData, 512)
  // A write that is under way keeps the process alive; a thread that waits does not.
  thread.unref()
  thread.on('message', (results: readonly JobResult[]) => {
    deliver(results)
    if (pending.size === 0) thread.unref()
  })
  const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
  let ending: unknown
  const refuseAll = (code: 'write_unconfirmed' | 'storage_failed'): void => {
    const refused = [...pending.values()]
    pending.clear()
    for (const one of refused) one.reject(storageFailure(code, ending))
  }
  // Whether the running group reached the disk is not known.
  const fail = (cause: unknown): void => {
    ending ??= cause
    refuseAll('write_unconfirmed')
  }
  const ask = (message: WriterMessage): void => {
    if (ending !== undefined) {
      refuseAll('storage_failed')
      return
    }
    thread.ref()
    thread.postMessage(message)
  }
  thread.on('error', fail)
  thread.on('exit', () => fail(new Error('the writer thread has ended')))
  return {
    submit: (jobs) => ask({ jobs }),
    reclaim: (id) => ask({ id, reclaim: freedPagesAtOnce }),
    async close() {
      thread.ref()
      thread.postMessage('close' satisfies WriterMessage)
      await ended
    },
  }
}

function streamHere(connection: Connection): Database['stream'] {
  return async function* <T>(...[query, { signal, rows = 200 }]: Parameters<Database['stream']>) {
    signal.throwIfAborted()
    const all = connection.all<T>(query)
    for (let from = 0; from < all.length; from += rows) {
      signal.throwIfAborted()
      yield all.slice(from, from + rows)
    }
  }
}
