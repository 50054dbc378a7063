import { randomInt } from 'node:crypto'
import type pg from 'pg'
import { DatabaseError } from 'pg'
import { StorageRefusal } from '../../failures.ts'

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
        `${where} is behind a pooler in transaction or statement mode. For one in transaction mode, set HEDDLE_DATABASE_DIRECT_URL to the address of PostgreSQL itself; or use session mode.`,
      )
    }
    processes[which] = pid
  }
}

/** "hedd" in ASCII. */
const mark = 0x6865_6464
/** The SQLSTATE with which PgBouncer refuses a transaction in statement mode, and others an unsupported request. */
const refusedByPooler = /^(08P01|0A000)$/

/**
 * Refuses a pooler that does not lead to the database of the direct connection, or has no transactions: a lock that is
 * held on one connection has to be seen on the other.
 */
export async function refuseElsewhere(direct: pg.Client, pooled: pg.Client, where: string): Promise<void> {
  const key = randomInt(2 ** 31)
  await direct.query(`BEGIN; SELECT pg_advisory_xact_lock(${mark}, ${key})`)
  try {
    await pooled.query('BEGIN')
    const { rows } = await pooled.query(
      `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = ${mark} AND objid = ${key}
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    )
    await pooled.query('COMMIT')
    if (rows.length > 0) return
  } catch (error) {
    if (!(error instanceof DatabaseError) || !refusedByPooler.test(error.code ?? '')) throw error
    const says = `${where} is behind a pooler that refuses transactions (${error.message}).`
    throw new StorageRefusal('foreign', `${says} It has to be in transaction or session mode.`)
  } finally {
    await direct.query('ROLLBACK')
  }
  throw new StorageRefusal(
    'foreign',
    `${where} is not the database of HEDDLE_DATABASE_DIRECT_URL. Both have to name the same one.`,
  )
}
