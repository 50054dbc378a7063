import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { StorageRefusal } from '../../failures.ts'
import { type AppliedMigration, type Migration, migrationTable, pendingMigrations } from '../migrations.ts'
import { ConnectionLost, hasToWait, openFailure } from './failures.ts'
import { refuseElsewhere, refusePooled } from './poolers.ts'

interface MigrateOptions {
  connectTimeoutMs: number
  /** How long to wait for another process that is migrating, and for tables that servers use. */
  lockTimeoutMs: number
  mustExist?: boolean
  /** A pooler's address in transaction mode, of the same database. */
  pooledUrl?: string
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
  { connectTimeoutMs, lockTimeoutMs, mustExist, pooledUrl }: MigrateOptions,
): Promise<Migration[]> {
  const setting = pooledUrl === undefined ? 'HEDDLE_DATABASE_URL' : 'HEDDLE_DATABASE_DIRECT_URL'
  const client = createClient(url, connectTimeoutMs, setting)
  const other = createClient(url, connectTimeoutMs, setting)
  // The statement in progress fails by itself and reports why; without a listener the process would end.
  for (const each of [client, other]) each.on('error', () => undefined)
  const where = placeOf(client)
  try {
    await reach(client)
    await refuseForeign(client, where)
    await reach(other)
    await refusePooled([client, other], where)
    if (pooledUrl !== undefined) await reachPooled(client, pooledUrl, connectTimeoutMs)
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
    throw openFailure(where, error, setting)
  } finally {
    await Promise.all([leave(client), leave(other)])
  }
}

const placeOf = ({ host, port, database }: pg.Client) => `PostgreSQL at ${host}:${port}/${database ?? ''}`

async function reachPooled(direct: pg.Client, url: string, connectTimeoutMs: number): Promise<void> {
  const pooled = createClient(url, connectTimeoutMs, 'HEDDLE_DATABASE_URL')
  pooled.on('error', () => undefined)
  try {
    await reach(pooled)
    await refuseElsewhere(direct, pooled, placeOf(pooled))
  } catch (error) {
    throw openFailure(placeOf(pooled), error, 'HEDDLE_DATABASE_URL')
  } finally {
    await leave(pooled)
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

function createClient(url: string, connectTimeoutMs: number, setting: string): pg.Client {
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
      `${setting} cannot be read (${(error as Error).message}). It should look like postgres://user:password@host:5432/database.`,
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
