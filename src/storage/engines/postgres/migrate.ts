import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { StorageRefusal } from '../../failures.ts'
import { type AppliedMigration, type Migration, migrationTable, pendingMigrations } from '../migrations.ts'
import { ConnectionLost, hasToWait, openFailure } from './failures.ts'

/**
 * The order in which the two connections ask. A pooler gives a statement the server process that was used last, or the
 * one that has waited longest: in this order, either shows after a few statements.
 */
const order = [0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1] as const

/**
 * Settings of a session, set as each of our connections sets them (connections.ts). Some proxies give a client a process of
 * its own from then on (https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/rds-proxy-pinning.html). These are the
 * values that PostgreSQL starts with, so that nothing changes for others who share the process.
 */
const sessionState = `SELECT set_config('extra_float_digits', '1', false), set_config('bytea_output', 'hex', false)`

/**
 * Refuses a pooler that gives a connection another server process for each transaction or statement. Settings of a
 * session, prepared statements and notices would then be on the wrong one (https://www.pgbouncer.org/features.html). Of
 * two connections that are open at the same time, each has to keep a process of its own.
 */
export async function refusePooled(clients: readonly [pg.Client, pg.Client], where: string): Promise<void> {
  for (const client of clients) await client.query(sessionState)
  const processes: [number | undefined, number | undefined] = [undefined, undefined]
  for (const which of order) {
    const { rows } = await clients[which].query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    const pid = rows[0]?.pid
    if ((processes[which] ?? pid) !== pid || processes[1 - which] === pid) {
      throw new StorageRefusal(
        'foreign',
        `${where} is behind a pooler in transaction or statement mode. HEDDLE_DATABASE_URL has to name a pooler in session mode, or PostgreSQL itself.`,
      )
    }
    processes[which] = pid
  }
}

interface MigrateOptions {
  connectTimeoutMs: number
  /** How long to wait for another process that is migrating, and for tables that servers use. */
  lockTimeoutMs: number
  mustExist?: boolean
}

/** Any number works, as long as every Heddle uses the same: "heddle" in ASCII. */
const migrationLock = 0x6865_6464_6c65

/**
 * Brings the database to the schema of this version and returns what it applied. Each migration is its own transaction,
 * which takes the lock first and then checks again. So processes that start together share the work, and one that dies
 * leaves nothing half done.
 */
export async function migratePostgres(
  url: string,
  known: readonly Migration[],
  { connectTimeoutMs, lockTimeoutMs, mustExist }: MigrateOptions,
): Promise<Migration[]> {
  const client = createClient(url, connectTimeoutMs)
  const other = createClient(url, connectTimeoutMs)
  // The statement in progress fails by itself and reports why; without a listener the process would end.
  for (const each of [client, other]) each.on('error', () => undefined)
  const where = `PostgreSQL at ${client.host}:${client.port}/${client.database ?? ''}`
  try {
    await reach(client)
    await refuseForeign(client, where)
    await reach(other)
    await refusePooled([client, other], where)
    // A migration may take as long as it needs.
    await client.query(`SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0;
      SET client_encoding = 'UTF8'`)
    const done: Migration[] = []
    // A database that is up to date is only read, so that a read-only server can still be opened.
    const before = await applied(client)
    if (mustExist && before.length === 0) throw new StorageRefusal('missing', `${where} has no record.`)
    if (pendingMigrations(known, before).length === 0) return done
    for (;;) {
      const migration = await applyNext(client, known, lockTimeoutMs)
      if (migration === undefined) return done
      done.push(migration)
    }
  } catch (error) {
    throw openFailure(where, error)
  } finally {
    await Promise.all([leave(client), leave(other)])
  }
}

async function reach(client: pg.Client): Promise<void> {
  try {
    await client.connect()
  } catch (error) {
    throw new ConnectionLost('unreachable', error)
  }
}

/** The server rolls back a transaction that is still open. */
async function leave(client: pg.Client): Promise<void> {
  const timer = setTimeout(() => client.connection.stream.destroy(), 2_000)
  await client.end()
  clearTimeout(timer)
}

function createClient(url: string, connectTimeoutMs: number): pg.Client {
  try {
    return new pg.Client({
      connectionString: url,
      application_name: 'heddle migrate',
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
    })
  } catch (error) {
    // Without the address, which contains the password.
    throw new StorageRefusal(
      'unreachable',
      `HEDDLE_DATABASE_URL cannot be read (${(error as Error).message}). It should look like postgres://user:password@host:5432/database.`,
    )
  }
}

/** The oldest server version that has the functions our statements use. */
const oldestServer = 140_000

export async function refuseForeign(client: Pick<pg.Client, 'query'>, where: string): Promise<void> {
  const { rows } = await client.query<{ product: string; encoding: string; version: string; number: number }>(
    `SELECT version() AS product, current_setting('server_encoding') AS encoding, current_setting('server_version') AS version,
      CAST(current_setting('server_version_num') AS INTEGER) AS number`,
  )
  const server = rows[0]
  if (server === undefined) return
  // Its advisory locks are granted to everybody.
  if (/^CockroachDB/i.test(server.product)) {
    const why = 'its advisory locks lock nothing, so that servers would write over each other'
    throw new StorageRefusal('foreign', `${where} is CockroachDB, which does not work: ${why}.`)
  }
  if (server.encoding !== 'UTF8') {
    throw new StorageRefusal(
      'foreign',
      `${where} stores text as ${server.encoding}. Create the database with ENCODING 'UTF8'.`,
    )
  }
  if (server.number < oldestServer) {
    throw new StorageRefusal(
      'foreign',
      `${where} is version ${server.version}; ${oldestServer / 10_000} is the oldest version that works.`,
    )
  }
}

async function applied(client: pg.Client): Promise<AppliedMigration[]> {
  const { rows } = await client.query<{ there: boolean }>(
    `SELECT to_regclass('heddle_migrations') IS NOT NULL AS there`,
  )
  return rows[0]?.there === true ? history(client) : []
}

async function history(client: pg.Client): Promise<AppliedMigration[]> {
  const { rows } = await client.query<AppliedMigration>(
    'SELECT version, name, checksum FROM heddle_migrations ORDER BY version',
  )
  return rows
}

/**
 * How long a migration waits for a table, and how long it then leaves it to others: servers of an older version that
 * still run queue behind a migration that waits.
 */
const tableLockMs = 2_000
const betweenTriesMs = 500

/** Tries again while servers that still run use the tables, or take them in another order. */
async function applyNext(
  client: pg.Client,
  known: readonly Migration[],
  lockTimeoutMs: number,
): Promise<Migration | undefined> {
  const end = performance.now() + lockTimeoutMs
  for (;;) {
    try {
      return await tryNext(client, known, end)
    } catch (error) {
      if (!hasToWait(error) || performance.now() + betweenTriesMs >= end) throw error
      await client.query('ROLLBACK')
    }
    await delay(betweenTriesMs)
  }
}

async function tryNext(
  client: pg.Client,
  known: readonly Migration[],
  end: number,
): Promise<Migration | undefined> {
  const leftMs = Math.max(1, Math.trunc(end - performance.now()))
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED')
  await client.query(`SET LOCAL lock_timeout = ${leftMs}`)
  await client.query('SELECT pg_advisory_xact_lock($1)', [migrationLock])
  await client.query(`SET LOCAL lock_timeout = ${Math.min(leftMs, tableLockMs)}`)
  // Whether the table exists must be checked under the lock: this connection's cached catalogue may predate what
  // another process did before it released the lock.
  await client.query(migrationTable)
  const [next] = pendingMigrations(known, await history(client))
  if (next !== undefined) await apply(client, next)
  await client.query('COMMIT')
  return next
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  const { version, name, checksum, text } = migration
  try {
    await client.query(text)
  } catch (error) {
    if (openFailure('', error) !== error) throw error
    throw new Error(`migrations/postgres/${name}: ${(error as Error).message}`, { cause: error })
  }
  await client.query(
    'INSERT INTO heddle_migrations (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)',
    [version, name, checksum, Date.now() * 1000],
  )
}
