import { existsSync, mkdirSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { inSteps } from '../../../../packages/waiting/index.ts'
import { batchesOf } from '../../../domain/batches.ts'
import { Refusal, refuse } from '../../../domain/refusals.ts'
import { startThread } from '../../../threads/thread.ts'
import { createWatchers, type Watcher } from '../../changes.ts'
import type { Database } from '../../database.ts'
import { StorageRefusal, storageFailure } from '../../failures.ts'
import { sql } from '../../sql/sql.ts'
import { createFailedWrites } from '../failed-writes.ts'
import { loadMigrations, type Migration } from '../migrations.ts'
import { connect } from './connection.ts'
import { sqliteDialect } from './dialect.ts'
import { failureError, openFailure } from './failures.ts'
import type { Job } from './group.ts'
import { createLogEmptying } from './log.ts'
import { migrateSqlite, refuseMissing, refuseUnsuitable } from './migrate.ts'
import { lossOf, openedFiles, refuseLost } from './opened-files.ts'
import { detectOtherWriters } from './other-writers.ts'
import { createPoolReader } from './pool-reader.ts'
import { createReaderPool } from './reader-pool.ts'
import {
  defaultGroupLimit,
  type WriterAnswer,
  type WriterMessage,
  type WriterThreadData,
  writerThread,
} from './writer.ts'

interface SqliteOptions {
  file: string
  queryTimeoutMs?: number
  /** How long a long read may wait to begin while others are running. */
  waitMs?: number
  groupLimit?: number
  mustExist?: boolean
  migrations?: readonly Migration[]
  /** Called once when the files of the record were removed; nothing is read or written after that. */
  onLost?: (text: string) => void
}

/** Writes that may wait for the disk; beyond that a request is refused and may be sent again. */
const maxWaiting = { perTenant: 5_000, total: 10_000 }

const leavingMs = 5_000

const freedPagesAtOnce = 256

/** Items of a list that are sent to the writer in one message. */
const itemsAtOnce = 64

/** A thread that empties the log ends when it was not needed for this long. */
const emptyingRestMs = 10_000

/** How often reads check whether the files still exist. */
const checkIntervalMs = 250

export async function openSqlite(options: SqliteOptions): Promise<Database> {
  const { file, queryTimeoutMs = 60_000, groupLimit = defaultGroupLimit } = options
  // The running query may take that long, plus some time to end.
  const waitMs = options.waitMs ?? queryTimeoutMs + leavingMs
  if (options.mustExist) refuseMissing(file)
  makeFolder(dirname(file))
  // Read by SQLite itself. This folder is writable; in a container others may not be.
  process.env.SQLITE_TMPDIR ??= dirname(file)
  migrateFile(file, options.migrations ?? loadMigrations('sqlite'))
  const reads = connect(file, 'read')
  try {
    // The first read opens the log.
    reads.get(sql`SELECT id FROM heddle_probe`)
  } catch (error) {
    reads.close()
    throw openFailure(file, error)
  }
  const opened = openedFiles(file)
  let lost: Refusal | undefined
  let looked = performance.now()
  const readerPool = createReaderPool(file, { limitMs: queryTimeoutMs, waitMs })
  const failedWrites = createFailedWrites(['storage_full', 'storage_failed', 'storage_read_only'])
  const watchers = createWatchers((isWatched) => {
    writer.watch(isWatched)
    others.look(isWatched)
  })
  const emptying = createPoolReader(file, emptyingRestMs)
  const emptyLog = createLogEmptying(emptying, queryTimeoutMs)
  const writer = startWriter({ file, opened, groupLimit }, watchers.tell, () => {
    // The file at this path may now be another record.
    look()
    if (!lost && !closing) emptyLog()
  })
  const others = detectOtherWriters(writer.version, () => watchers.tell('unknown'))
  let closing: Promise<void> | undefined

  function stillOpen() {
    if (closing) throw refuse('stopping')
    if (performance.now() - looked > checkIntervalMs) look()
    if (lost) throw lost
    return reads
  }

  function look(): void {
    looked = performance.now()
    const loss = lost ? undefined : lossOf(file, opened)
    if (loss === undefined) return
    lost = refuseLost(loss)
    options.onLost?.(loss.text)
    // The writer saves what it can of the log when it detects the same.
    writer.write('probe', { at: 0 }, '').catch(() => undefined)
  }

  /** The writer checks after each group; what it detects is passed on here. */
  async function told<T>(write: Promise<T>): Promise<T> {
    try {
      return await write
    } catch (error) {
      if (error instanceof Refusal && error.code === 'storage_replaced') look()
      throw error
    }
  }

  const database: Database = {
    dialect: sqliteDialect,
    all: async (query) => stillOpen().all(query),
    get: async (query) => stillOpen().get(query),
    write: (name, input, tenant = '') => told(failedWrites.noted(writer.write(name, input, tenant))),
    writeInBackground: (name, input) => told(writer.writeInBackground(name, input)),
    async *stream<T>(...[query, options]: Parameters<Database['stream']>) {
      stillOpen()
      try {
        for await (const rows of readerPool.stream<T>(query, options)) {
          // A newly started reader may have opened another file at the same path.
          look()
          stillOpen()
          yield rows
        }
      } catch (error) {
        // It may have found no file at all.
        look()
        throw lost ?? error
      }
    },
    async probe() {
      look()
      stillOpen().get(sql`SELECT id FROM heddle_probe`)
      failedWrites.check()
      await refuseFullDisk(dirname(file))
      await told(writer.write('probe', { at: Date.now() * 1000 }, ''))
    },
    watch: watchers.watch,
    reclaim: () => writer.reclaim(),
    scrub: () => told(writer.scrub()),
    close() {
      closing ??= (async () => {
        others.look(false)
        await writer.finish()
        await Promise.all([readerPool.close(), emptying.close()])
        reads.close()
        await writer.close()
      })()
      return closing
    },
  }
  return database
}

/**
 * With less free space than this the disk counts as full. Writes go to the log first, whose file may have room for a
 * while longer.
 */
const minFree = 1024 * 1024

async function refuseFullDisk(folder: string): Promise<void> {
  // If a file system does not report its free space, only the write itself can tell.
  const space = await statfs(folder).catch(() => undefined)
  if (space !== undefined && space.bavail * space.bsize < minFree) throw refuse('storage_full')
}

function migrateFile(file: string, known: readonly Migration[]): void {
  refuseUnsuitable(file, known)
  const connection = connect(file, 'write')
  try {
    migrateSqlite(connection, file, known, Date.now() * 1000)
  } finally {
    connection.close()
  }
}

function makeFolder(folder: string): void {
  try {
    makeWithParents(folder)
  } catch (error) {
    throw new StorageRefusal(
      'read-only',
      `The folder ${folder} cannot be created (${(error as Error).message}). Set HEDDLE_DATA to a folder that can be written.`,
      { cause: error },
    )
  }
}

/**
 * Node's own recursive form retries for ever on file systems that refuse a new folder with ENOENT, such as /proc and
 * mounts that create their folders themselves.
 */
function makeWithParents(folder: string): void {
  const parent = dirname(folder)
  if (parent !== folder && !existsSync(folder)) makeWithParents(parent)
  try {
    mkdirSync(folder)
  } catch (error) {
    // The folder existed, or another server has created it meanwhile.
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error
  }
}

/** The writer thread and the jobs that wait for its answers. */
function startWriter(data: WriterThreadData, changed: Watcher, emptyLog: () => void) {
  const thread = startThread(writerThread, data, 512)
  // A write in progress keeps the process alive; an idle thread does not.
  thread.unref()
  const pending = new Map<number, PromiseWithResolvers<unknown>>()
  const pendingOf = new Map<string, number>()
  let lastId = 0
  let batch: Job[] = []
  let ending: unknown
  let finishing = false

  thread.on('message', (results: WriterAnswer) => {
    if (results === 'log is long') return emptyLog()
    for (const result of results) {
      const job = pending.get(result.id)
      pending.delete(result.id)
      if ('failure' in result) job?.reject(failureError(result.failure))
      else {
        if (result.changes) changed(result.changes)
        job?.resolve(result.value)
      }
    }
    if (pending.size === 0) thread.unref()
  })
  const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
  const refuseAll = (code: 'write_unconfirmed' | 'storage_failed'): void => {
    const refused = [...pending.values()]
    pending.clear()
    for (const job of refused) job.reject(storageFailure(code, ending))
  }
  // Whether the running group reached the disk is unknown.
  const fail = (cause: unknown): void => {
    ending ??= cause
    refuseAll('write_unconfirmed')
  }
  thread.on('error', fail)
  thread.on('exit', () => fail(new Error('the writer thread has ended')))

  function post(message: WriterMessage): void {
    if (ending !== undefined) {
      refuseAll('storage_failed')
      return
    }
    thread.ref()
    thread.postMessage(message)
  }

  function flush(): void {
    const jobs = batch
    batch = []
    if (jobs.length > 0) post({ jobs })
  }

  function answered<T>(ask: (id: number) => void): Promise<T> {
    if (finishing) return Promise.reject(refuse('stopping'))
    if (pending.size >= maxWaiting.total) return Promise.reject(refuse('queue_full'))
    const answer = Promise.withResolvers<unknown>()
    const id = ++lastId
    pending.set(id, answer)
    ask(id)
    return answer.promise as Promise<T>
  }

  function add(job: Job): void {
    // Everything that arrives in this turn of the event loop is sent to the writer in one message.
    if (batch.length === 0) setImmediate(flush)
    batch.push(job)
  }

  /** Copying a long list at once would block this thread. */
  async function addLong(job: Job, list: readonly unknown[]): Promise<void> {
    await inSteps(batchesOf(list, itemsAtOnce), (items) => post({ id: job.id, items }))
    add({ ...job, input: [] })
  }

  return {
    write<T>(name: string, input: unknown, tenant: string): Promise<T> {
      const own = pendingOf.get(tenant) ?? 0
      if (own >= maxWaiting.perTenant) return Promise.reject(refuse('queue_full'))
      const answer = answered<T>((id) => {
        const job = { id, name, input, tenant }
        if (Array.isArray(input) && input.length > itemsAtOnce) {
          addLong(job, input).catch((error) => pending.get(id)?.reject(error))
        } else add(job)
      })
      pendingOf.set(tenant, own + 1)
      const settled = () => {
        const left = (pendingOf.get(tenant) ?? 1) - 1
        if (left > 0) pendingOf.set(tenant, left)
        else pendingOf.delete(tenant)
      }
      answer.then(settled, settled)
      return answer
    },
    writeInBackground: (name: string, input: unknown) =>
      answered<boolean>((id) => post({ jobs: [{ id, name, input, isBackground: true }] })),
    watch(watched: boolean): void {
      if (ending === undefined) thread.postMessage({ watched } satisfies WriterMessage)
    },
    version: () => answered<number>((id) => post({ id, ask: 'version' })),
    reclaim: () => answered<boolean>((id) => post({ id, reclaim: freedPagesAtOnce })),
    scrub: () =>
      answered<Awaited<ReturnType<Database['scrub']>>>((id) => post({ id, scrub: freedPagesAtOnce })),
    /** Accepts no more jobs, and resolves when all earlier ones are answered. */
    async finish(): Promise<void> {
      finishing = true
      flush()
      await Promise.allSettled([...pending.values()].map(({ promise }) => promise))
    },
    async close(): Promise<void> {
      thread.ref()
      thread.postMessage('close' satisfies WriterMessage)
      await ended
    },
  }
}
