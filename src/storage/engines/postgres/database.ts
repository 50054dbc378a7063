import { tmpdir } from 'node:os'
import { abandon } from '../../../domain/abandoning.ts'
import { withTexts } from '../../../domain/json/text.ts'
import { refuse } from '../../../domain/refusals.ts'
import { createSlots, type SlotCounts } from '../../../threads/slots.ts'
import { type Change, createWatchers } from '../../changes.ts'
import { commands } from '../../commands.ts'
import type { Database } from '../../database.ts'
import { storageFailure } from '../../failures.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { type Sql, sql } from '../../sql/sql.ts'
import type { Command, Reader, StreamOptions } from '../../transaction.ts'
import { createFailedWrites } from '../failed-writes.ts'
import { loadMigrations, type Migration } from '../migrations.ts'
import { createUnreadAnswers } from '../unread-answers.ts'
import { followClock } from './clock.ts'
import { type ConnectionOptions, type Connections, createConnections, sharesOf } from './connections.ts'
import { postgresDialect } from './dialect.ts'
import { postgresFailure, writeFailure } from './failures.ts'
import { migratePostgres } from './migrate.ts'
import { createNotices } from './notices.ts'
import { createStatements } from './statements.ts'
import { streamRows } from './stream.ts'
import { askAlone, mayReconnect, runCommand } from './transaction.ts'

export interface PostgresOptions extends ConnectionOptions {
  /** The most long reads that run at the same time. */
  streams: number
  /** Long reads of one tenant that may wait; for all tenants together the limit is twice as many. */
  maxStreamsWaiting: number
  probeTimeoutMs: number
  /** The database itself, if the address is a pooler's in transaction mode. */
  directUrl?: string
}

/** Of all connections, those for cancelling and probing. */
const sideConnections = 2

export const postgresDefaults: PostgresOptions = {
  connections: 10,
  maxWaiting: 1_000,
  streams: 4,
  maxStreamsWaiting: 128,
  connectTimeoutMs: 5_000,
  queryTimeoutMs: 60_000,
  lockTimeoutMs: 10_000,
  idleTimeoutMs: 60_000,
  graceMs: 5_000,
  probeTimeoutMs: 3_000,
  report: () => undefined,
}

type Registry = Record<string, Command<never, unknown>>

/** The record on PostgreSQL for any set of commands; with the commands of this program it is a `Database`. */
interface PostgresDatabase<R extends Registry>
  extends Reader,
    Omit<Database, 'write' | 'writeInBackground' | keyof Reader> {
  write<Name extends keyof R>(
    name: Name,
    input: Parameters<R[Name]>[1],
    tenant?: string,
  ): Promise<Awaited<ReturnType<R[Name]>>>
  writeInBackground<Name extends keyof R>(name: Name, input: Parameters<R[Name]>[1]): Promise<boolean>
}

const defaultRows = 200

/**
 * Long reads never use all shared connections, because the caller of one may need to read something else meanwhile. The
 * rest is for tenants that have no long read.
 */
function streamShares({ connections, streams }: PostgresOptions): SlotCounts {
  const most = sharesOf(connections).shared - 1
  const shared = Math.max(1, Math.min(streams, most))
  return { shared, reserved: Math.max(0, most - shared) }
}

export function createPostgresDatabase<R extends Registry>(
  url: string,
  dialect: Dialect,
  commands: R,
  options: PostgresOptions,
): PostgresDatabase<R> {
  const { directUrl = url } = options
  const isPooled = directUrl !== url
  const statements = createStatements({ areNamed: !isPooled })
  const leaving = new AbortController()
  const askDirectly = () => read(side, sql`SELECT 1 AS one`)
  const connections = createConnections(url, { ...options, ...(isPooled && { askDirectly }) }, leaving.signal)
  // Cancelling and probing must not queue behind the work that they are about.
  const ofSide = {
    ...options,
    connections: sideConnections,
    queryTimeoutMs: options.probeTimeoutMs,
    connectTimeoutMs: Math.min(options.connectTimeoutMs, options.probeTimeoutMs),
    lockTimeoutMs: options.probeTimeoutMs,
    graceMs: Math.min(options.graceMs, 1_000),
  }
  const side = createConnections(directUrl, ofSide, leaving.signal)
  const streamSlots = createSlots(streamShares(options), {
    perTenant: options.maxStreamsWaiting,
    total: 2 * options.maxStreamsWaiting,
  })
  const answer = createUnreadAnswers({
    folder: tmpdir(),
    waitMs: options.queryTimeoutMs,
    isContended: () => streamSlots.waiting > 0,
  })
  const watchers = createWatchers((isWatched) => notices.listen(isWatched))
  const notices = createNotices({
    url: directUrl,
    connectTimeoutMs: options.connectTimeoutMs,
    publish: (channel, payload) => read(side, sql`SELECT pg_notify(${channel}, ${payload})`),
    heard: watchers.tell,
  })
  const changed = (changes: readonly Change[]) => {
    watchers.tell(changes)
    notices.tell(changes)
  }
  let working = 0
  let closing: Promise<void> | undefined
  let probing: Promise<void> | undefined
  const idle: (() => void)[] = []

  async function counted<T>(work: () => Promise<T>, failure = postgresFailure): Promise<T> {
    if (closing !== undefined) throw refuse('stopping')
    working++
    try {
      return await work()
    } catch (error) {
      throw failure(error, options)
    } finally {
      if (--working === 0) for (const wake of idle.splice(0)) wake()
    }
  }

  async function read(from: Connections, query: Sql, tenant = ''): Promise<unknown[]> {
    const statement = statements(query)
    for (let attempt = 1; ; attempt++) {
      try {
        return (await from.use(tenant, (session) => askAlone(session, statement))).rows
      } catch (error) {
        if (!mayReconnect(error, attempt)) throw error
      }
    }
  }

  // An unreachable server is detected by the probe itself.
  const failedWrites = createFailedWrites(['storage_full'])

  async function readAndWrite(): Promise<void> {
    failedWrites.check()
    await read(side, sql`SELECT at FROM heddle_probe WHERE id = 1`)
    await read(
      side,
      sql`INSERT INTO heddle_probe (id, at) VALUES (1, ${Date.now() * 1000})
          ON CONFLICT (id) DO UPDATE SET at = excluded.at`,
    )
    if (isPooled) await connections.logIn()
  }

  const database: PostgresDatabase<R> = {
    dialect,
    all: <T>(query: Sql, tenant?: string) => counted(() => read(connections, query, tenant)) as Promise<T[]>,
    get: <T>(query: Sql, tenant?: string) =>
      counted(async () => (await read(connections, query, tenant))[0]) as Promise<T | undefined>,
    write<Name extends keyof R>(name: Name, input: Parameters<R[Name]>[1], tenant = '') {
      type Output = Awaited<ReturnType<R[Name]>>
      const command = commands[name] as Command<Parameters<R[Name]>[1], unknown> | undefined
      const write = counted(() => {
        if (command === undefined) throw new Error(`no command ${String(name)}`)
        return runCommand(connections, statements, dialect, command, input, tenant, changed)
      }, writeFailure) as Promise<Output>
      return failedWrites.noted(write)
    },
    // In PostgreSQL a write waits only for writes about the same rows, so this needs no special handling.
    writeInBackground: (name, input) => database.write(name, input as never) as Promise<boolean>,
    async *stream<T>(query: Sql, { signal, tenant = '', rows = defaultRows }: StreamOptions) {
      if (closing !== undefined) throw refuse('stopping')
      const givenUp = (reason: Error) => abandon(signal, reason)
      const source = { connections, tenant, streamSlots, waitMs: options.queryTimeoutMs, cancel, givenUp }
      const either = AbortSignal.any([signal, leaving.signal])
      try {
        yield* answer(tenant, either, () => streamRows<T>(source, statements(query), rows, either))
      } catch (error) {
        throw postgresFailure(error, options)
      }
    },
    probe() {
      probing ??= counted(() => inTime(readAndWrite(), options.probeTimeoutMs)).finally(() => {
        probing = undefined
      })
      return probing
    },
    watch: watchers.watch,
    connections: connections.load,
    // The server's autovacuum does this.
    reclaim: async () => false,
    scrub: async () => 'blocked',
    close() {
      closing ??= (async () => {
        leaving.abort(refuse('stopping'))
        if (working > 0) await new Promise<void>((resolve) => idle.push(resolve))
        // Resolves when the streams have returned their connections, some of them after a cancel.
        await notices.close()
        await connections.close()
        await side.close()
      })()
      return closing
    },
  }

  async function cancel(pid: number): Promise<void> {
    await read(side, sql`SELECT pg_cancel_backend(CAST(${pid} AS INTEGER))`)
  }

  return database
}

async function inTime(work: Promise<void>, limitMs: number): Promise<void> {
  let alarm: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const reason = new Error(`the database did not answer within ${limitMs} ms`)
    alarm = setTimeout(() => reject(storageFailure('storage_failed', reason)), limitMs)
  })
  try {
    await Promise.race([work, late])
  } finally {
    clearTimeout(alarm)
  }
}

interface OpenPostgresOptions extends Partial<PostgresOptions> {
  migrations?: readonly Migration[]
  /** How long to wait for another process that is migrating. */
  migrationLockTimeoutMs?: number
  mustExist?: boolean
  /** The most connections for everything, but for one that listens for changes. */
  maxConnections?: number
}

/** Migrates, then opens the record. */
export async function openPostgres(url: string, options: OpenPostgresOptions = {}): Promise<Database> {
  const {
    migrations = loadMigrations('postgres'),
    migrationLockTimeoutMs = 300_000,
    mustExist = false,
    maxConnections,
    ...overrides
  } = options
  const settings: PostgresOptions = {
    ...postgresDefaults,
    ...(maxConnections !== undefined && { connections: maxConnections - sideConnections }),
    ...overrides,
  }
  await migratePostgres(settings.directUrl ?? url, migrations, {
    ...(settings.directUrl !== undefined && { pooledUrl: url }),
    connectTimeoutMs: settings.connectTimeoutMs,
    lockTimeoutMs: migrationLockTimeoutMs,
    mustExist,
  })
  const database = createPostgresDatabase(url, postgresDialect, commands, settings)
  try {
    const clock = await followClock(database.get)
    return {
      ...database,
      // The commands run in this thread, so large texts are decoded here.
      write: (name, input, tenant) => database.write(name, withTexts(input), tenant),
      async close() {
        await Promise.all([database.close(), clock.stop()])
      },
    }
  } catch (error) {
    await database.close()
    throw error
  }
}
