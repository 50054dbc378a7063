import pg from 'pg'
import { StorageRefusal } from '../../failures.ts'
import { type AppliedMigration, type Migration, migrationTable, pendingMigrations } from '../migrations.ts'
import { ConnectionLost, openFailure } from './failures.ts'

interface MigrateOptions {
  connectTimeoutMs: number
  /** For another process that migrates at the same time. */
  lockTimeoutMs: number
  mustExist?: boolean
}

/** Any number will do, as long as every Heddle takes the same: "heddle" in ASCII. */
const migrationLock = 0x6865_6464_6c65

/**
 * Brings the database to the schema of this version and answers what it applied. Each migration is a transaction of its
 * own that first takes the lock and then looks again, so that processes which start together share the work, and one
 * that dies leaves nothing half done.
 */
export async function migratePostgres(
  url: string,
  known: readonly Migration[],
  { connectTimeoutMs, lockTimeoutMs, mustExist }: MigrateOptions,
): Promise<Migration[]> {
  const client = createClient(url, connectTimeoutMs)
  // What was under way fails by itself and says why; without a listener the process would end.
  client.on('error', () => undefined)
  const where = `PostgreSQL at ${client.host}:${client.port}/${client.database ?? ''}`
  try {
    await reach(client)
    await refuseForeign(client, where)
    // A migration takes the time that it takes.
    await client.query(`SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0;
      SET client_encoding = 'UTF8'; SET lock_timeout = ${Math.trunc(lockTimeoutMs)}`)
    const done: Migration[] = []
    // A database that is up to date is only read, so that a server that takes no writes can still be read from.
    const before = await applied(client)
    if (mustExist && before.length === 0) throw new StorageRefusal('missing', `${where} holds no record.`)
    if (pendingMigrations(known, before).length === 0) return done
    for (;;) {
      const migration = await applyNext(client, known)
      if (migration === undefined) return done
      done.push(migration)
    }
  } catch (error) {
    throw openFailure(where, error)
  } finally {
    await leave(client)
  }
}

async function reach(client: pg.Client): Promise<void> {
  try {
    await client.connect()
  } catch (error) {
    throw new ConnectionLost('unreachable', error)
  }
}

/** A transaction that is still open is rolled back by the server. */
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
    // Without the address: it holds the password.
    throw new StorageRefusal(
      'unreachable',
      `HEDDLE_DATABASE_URL cannot be read (${(error as Error).message}). It should look like postgres://user:password@host:5432/database.`,
    )
  }
}

/** The oldest server whose functions the statements use. */
const oldestServer = 140_000

async function refuseForeign(client: pg.Client, where: string): Promise<void> {
  const { rows } = await client.query<{ encoding: string; version: string; number: number }>(
    `SELECT current_setting('server_encoding') AS encoding, current_setting('server_version') AS version,
      CAST(current_setting('server_version_num') AS INTEGER) AS number`,
  )
  const server = rows[0]
  if (server === undefined) return
  if (server.encoding !== 'UTF8') {
    throw new StorageRefusal(
      'foreign',
      `${where} stores text as ${server.encoding}. Create the database with ENCODING 'UTF8'.`,
    )
  }
  if (server.number < oldestServer) {
    throw new StorageRefusal(
      'foreign',
      `${where} is version ${server.version}; ${oldestServer / 10_000} is the oldest that works.`,
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

async function applyNext(client: pg.Client, known: readonly Migration[]): Promise<Migration | undefined> {
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED')
  await client.query('SELECT pg_advisory_xact_lock($1)', [migrationLock])
  // Whether the table is there has to be asked by locking it: what this connection remembers of the catalogue may be older
  // than what another one has done before it gave the lock away.
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
