import type pg from 'pg'
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
        `${where} is behind a pooler in transaction or statement mode. HEDDLE_DATABASE_URL has to name a pooler in session mode, or PostgreSQL itself.`,
      )
    }
    processes[which] = pid
  }
}
