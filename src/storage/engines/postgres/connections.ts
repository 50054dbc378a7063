import { setTimeout as sleep } from 'node:timers/promises'
import pg, { DatabaseError } from 'pg'
import { refuse } from '../../../domain/refusals.ts'
import { acquireWithTimeout, createSlots, type SlotCounts } from '../../../threads/slots.ts'
import { ConnectionLost } from './failures.ts'
import { createSession, type Session } from './session.ts'

export interface ConnectionOptions {
  connections: number
  /**
   * Pieces of work of one tenant that may wait for a connection; for all tenants together the limit is twice as many.
   */
  maxWaiting: number
  connectTimeoutMs: number
  /** For one statement, enforced by the server. */
  queryTimeoutMs: number
  /**
   * For one lock. Always shorter than the statement limit, so that the refusal names the wait for a lock as its cause.
   */
  lockTimeoutMs: number
  /** For a transaction between two statements, such as when a reader has stopped reading. */
  idleTimeoutMs: number
  /** Added to the server's limit before a silent server is abandoned. */
  graceMs: number
  /**
   * Asks the database itself whether it is there. Present if the address is a pooler's that gives each transaction another
   * session: all work is then in transactions, each with its settings, and no statement is named.
   */
  askDirectly?(): Promise<unknown>
  /** Called when a connection ends while it is idle. */
  report(error: Error): void
}

/** One connection is reserved for tenants that have none. */
export function sharesOf(connections: number): SlotCounts & { reserved: number } {
  const reserved = connections > 2 ? 1 : 0
  return { shared: connections - reserved, reserved }
}

export type Connections = ReturnType<typeof createConnections>

const never = new AbortController().signal

/** `closing` ends the waits for a connection that the server does not give yet. */
export function createConnections(url: string, options: ConnectionOptions, closing = never) {
  const { connectTimeoutMs } = options
  const slots = createSlots(sharesOf(options.connections), {
    perTenant: options.maxWaiting,
    total: 2 * options.maxWaiting,
  })
  const free = createFreeConnections()
  const facts = new WeakMap<pg.ClientBase, { pid: number; prepared: Set<string> }>()
  const { askDirectly } = options
  const pooled = askDirectly && {
    settings: settingsQuery(options, true),
    maxWaitMs: options.queryTimeoutMs,
    checkMs: connectTimeoutMs,
    askDirectly,
  }

  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'heddle',
    max: options.connections,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: 60_000,
    // The server's processes accumulate caches for as long as they live.
    maxLifetimeSeconds: 3_600,
    keepAlive: true,
    types: columnTypes,
    onConnect: async (client) => {
      if (pooled !== undefined) return
      facts.set(client, { pid: await prepareConnection(client as pg.Client, options), prepared: new Set() })
    },
  })
  // Without a listener, an idle connection that ends would end this process.
  pool.on('error', (error) => options.report(error))

  /** Requests that the server has not answered yet. */
  const unanswered = new Set<Promise<unknown>>()

  async function asking<T>(answer: Promise<T>): Promise<T> {
    unanswered.add(answer)
    try {
      return await answer
    } finally {
      unanswered.delete(answer)
    }
  }

  async function checkOut(tenant: string, signal?: AbortSignal): Promise<Session> {
    const before = [...unanswered]
    const { queryTimeoutMs } = options
    const slot = await acquireWithTimeout(slots, tenant, queryTimeoutMs, signal, () => {
      // The server ends every statement within the time that this caller waited. If an earlier one is still unanswered,
      // the server is unreachable rather than busy.
      if (!before.some((answer) => unanswered.has(answer))) return refuse('queue_full')
      return new ConnectionLost(
        'unreachable',
        new Error(`the server did not answer within ${queryTimeoutMs} ms`),
      )
    })
    try {
      const signals = signal === undefined ? [closing] : [closing, signal]
      const client = await free.connected(() => asking(pool.connect()), queryTimeoutMs, signals)
      const { pid, prepared } = facts.get(client) ?? { pid: 0, prepared: new Set<string>() }
      return createSession(client, {
        pid,
        prepared,
        ...(pooled && { pooled }),
        asking,
        answerTimeoutMs: queryTimeoutMs + options.graceMs,
        onRelease: () => {
          slots.release(slot)
          free.wakeNext()
        },
      })
    } catch (error) {
      slots.release(slot)
      const isLeft = error === closing.reason || error === signal?.reason
      throw isLeft ? error : new ConnectionLost('unreachable', error)
    }
  }

  return {
    /** The caller returns the connection. */
    checkOut,
    async use<T>(tenant: string, work: (session: Session) => Promise<T>): Promise<T> {
      const session = await checkOut(tenant)
      try {
        return await work(session)
      } finally {
        session.giveBack()
      }
    },
    /** Logs in once more: that shows a pooler that does not answer, even if all of its connections are in use. */
    async logIn(): Promise<void> {
      const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs })
      client.on('error', () => undefined)
      try {
        await client.connect()
      } catch (error) {
        throw new ConnectionLost('unreachable', error)
      } finally {
        client.end().catch(() => undefined)
      }
    },
    load: () => ({ used: slots.used, bound: options.connections, waiting: slots.waiting }),
    /** Resolves when every connection has been returned and closed. */
    close: () => pool.end(),
  }
}

const firstMs = 20
const maxMs = 1_000

/** The server, or this user or database, has as many connections as it may have. */
const isFull = (error: unknown) => error instanceof DatabaseError && error.code === '53300'

/**
 * Waits while the server accepts no further connection: until it does, or one of ours is free again. Servers that
 * together have more connections than PostgreSQL allows are then slower, instead of refusing work.
 */
function createFreeConnections() {
  const waiting = new Set<() => void>()

  /** Until a signal aborts, the time is over, or a connection is returned. */
  async function pause(ms: number, signals: readonly AbortSignal[]): Promise<void> {
    const woken = new AbortController()
    const signal = AbortSignal.any([...signals])
    const wake = () => woken.abort()
    waiting.add(wake)
    try {
      await sleep(ms, undefined, { signal: AbortSignal.any([woken.signal, signal]) })
    } catch (error) {
      if (!woken.signal.aborted) throw signal.aborted ? signal.reason : error
    } finally {
      waiting.delete(wake)
    }
  }

  return {
    /** Fails with the last answer of the server when the time is over. */
    async connected<T>(
      connect: () => Promise<T>,
      limitMs: number,
      signals: readonly AbortSignal[],
    ): Promise<T> {
      const last = performance.now() + limitMs
      for (let ms = firstMs; ; ms = Math.min(maxMs, ms * 2)) {
        try {
          return await connect()
        } catch (error) {
          const left = last - performance.now()
          if (!isFull(error) || left <= 0) throw error
          await pause(Math.min(left, ms * (0.5 + Math.random())), signals)
        }
      }
    },
    /** Called when a connection is back in the pool. */
    wakeNext(): void {
      const [next] = waiting
      next?.()
    },
  }
}

/** Share of the statement limit. */
const lockShare = 0.75

/**
 * The settings that every statement relies on, whatever the defaults of the server or the role. Set by a statement and
 * not in the startup packet, because poolers refuse settings there.
 */
function settingsQuery(options: ConnectionOptions, isLocal: boolean): string {
  const { queryTimeoutMs, lockTimeoutMs, idleTimeoutMs } = options
  const lockMs = Math.min(lockTimeoutMs, Math.ceil(lockShare * queryTimeoutMs))
  const set = (name: string, value: string | number) => `set_config('${name}', '${value}', ${isLocal})`
  // A commit is answered when it is on disk; a server that also waits for its replicas is left to do so.
  return `SELECT pg_backend_pid() AS pid,
    CASE WHEN current_setting('synchronous_commit') IN ('on', 'remote_apply') THEN ''
      ELSE ${set('synchronous_commit', 'on')} END,
    ${set('client_encoding', 'UTF8')},
    ${set('extra_float_digits', 1)},
    ${set('bytea_output', 'hex')},
    ${set('statement_timeout', queryTimeoutMs)},
    ${set('lock_timeout', lockMs)},
    ${set('idle_in_transaction_session_timeout', idleTimeoutMs)}`
}

async function prepareConnection(client: pg.Client, options: ConnectionOptions): Promise<number> {
  const alarm = setTimeout(() => {
    client.connection.stream.destroy(new Error('timeout while the connection was prepared'))
  }, options.connectTimeoutMs)
  try {
    const { rows } = await client.query<{ pid: number }>(settingsQuery(options, false))
    return rows[0]?.pid ?? 0
  } finally {
    clearTimeout(alarm)
  }
}

/** Type numbers of PostgreSQL, https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat */
const parsers = new Map<number, (text: string) => unknown>([
  [16, (text) => (text === 't' ? 1 : 0)], // bool, in the form SQLite returns
  [17, bytes],
  [20, wholeNumber], // int8
  [21, Number], // int2
  [23, Number], // int4
  [26, Number], // oid
  [700, Number], // float4
  [701, Number], // float8
  [1700, Number], // numeric
])

function wholeNumber(text: string): number {
  const value = Number(text)
  // Better to fail than to change the last digits of a number silently.
  if (!Number.isSafeInteger(value)) throw new RangeError(`the database answered ${text}, beyond 2^53`)
  return value
}

function bytes(text: string): Uint8Array {
  return Buffer.from(text.slice(2), 'hex')
}

const plain = (text: string) => text

/**
 * Converts rows to the same JavaScript values as from SQLite. Applies to our connections only; `pg.types` is left
 * alone.
 */
const columnTypes = {
  getTypeParser: (type: number) => parsers.get(type) ?? plain,
} as pg.CustomTypesConfig
