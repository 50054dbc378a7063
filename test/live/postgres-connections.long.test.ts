import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { openPostgres } from '../../src/storage/engines/postgres/database.ts'
import { refusePooled } from '../../src/storage/engines/postgres/poolers.ts'
import { StorageRefusal } from '../../src/storage/failures.ts'
import { sql } from '../../src/storage/sql/sql.ts'
import { newProject, storedRows, wholePart } from '../support/call-parts.ts'
import { type PoolMode, startPgBouncer, withoutPgBouncer } from '../support/pgbouncer.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { runHeddle, type TestScope } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { startTransactionPooler } from './transaction-pooler.ts'

/** Five connections for Heddle: PostgreSQL reserves three of these for its administrator. */
const few = '8'

let postgres: TestPostgres
before(async () => {
  postgres = await startPostgres({ settings: { max_connections: few } })
})
after(() => postgres.stop())

const isPooled = (error: unknown) =>
  error instanceof StorageRefusal &&
  /pooler in transaction or statement mode.*HEDDLE_DATABASE_DIRECT_URL/.test(error.message)

describe('a pooler that gives each transaction another connection', () => {
  for (const count of [1, 2, 3, 4]) {
    test(`is refused before anything is changed, with ${count} connections`, async (t) => {
      const url = await postgres.createDatabase()
      const pooler = await startTransactionPooler(url, count)
      t.after(() => pooler.close())
      await assert.rejects(openPostgres(pooler.url), isPooled)
      await pooler.close()
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      const { rows } = await client.query("SELECT 1 FROM pg_tables WHERE schemaname = 'public'")
      await client.end()
      assert.deepEqual(rows, [])
    })
  }

  test('is refused by the command in one line', async (t) => {
    const pooler = await startTransactionPooler(await postgres.createDatabase(), 2)
    t.after(() => pooler.close())
    const { code, err } = await runHeddle(['serve'], { HEDDLE_DATABASE_URL: pooler.url })
    assert.equal(code, 3)
    assert.match(
      err,
      /^[^\n]*set HEDDLE_DATABASE_DIRECT_URL to the address of PostgreSQL itself; or use session mode\.\n$/,
    )
  })
})

test('a proxy that leaves a connection to the client that has set something there works', async (t) => {
  const pooler = await startTransactionPooler(await postgres.createDatabase(), 3, { pins: true })
  t.after(() => pooler.close())
  const client = () => new pg.Client({ connectionString: pooler.url })
  const clients = [client(), client()] as const
  for (const each of clients) await each.connect()
  await refusePooled(clients, 'PostgreSQL')
  await Promise.all(clients.map((each) => each.end()))
})

/** The address of the database through a PgBouncer. */
async function throughPgBouncer(t: TestScope, url: string, mode: PoolMode, more = ''): Promise<string> {
  const pooler = await startPgBouncer(postgres, { mode, connections: 4, more })
  t.after(pooler.stop)
  return pooler.through(url)
}

describe('PgBouncer', {
  skip: withoutPgBouncer,
}, () => {
  for (const more of ['', 'server_round_robin = 1']) {
    test(`in transaction mode is refused ${more}`, async (t) => {
      const url = await throughPgBouncer(t, await postgres.createDatabase(), 'transaction', more)
      // Some connections are open already, as other programs leave them.
      const others = await Promise.all(
        Array.from({ length: 2 }, async () => {
          const client = new pg.Client({ connectionString: url })
          await client.connect()
          await client.query('BEGIN')
          return client
        }),
      )
      for (const client of others) await client.query('COMMIT')
      await assert.rejects(openPostgres(url), isPooled)
      for (const client of others) await client.end()
    })
  }

  test('in statement mode is refused', async (t) => {
    await assert.rejects(
      openPostgres(await throughPgBouncer(t, await postgres.createDatabase(), 'statement')),
      isPooled,
    )
  })

  test('in session mode works', async (t) => {
    const url = await throughPgBouncer(t, await postgres.createDatabase(), 'session')
    const db = await openPostgres(url, { maxConnections: 4 })
    const project = newProject()
    await Promise.all(
      Array.from({ length: 40 }, (_, n) => db.write('upsertCalls', [wholePart(project, `call ${n}`)])),
    )
    assert.equal((await storedRows(db, project)).length, 40)
    await db.probe()
    await db.close()
  })
})

describe('with fewer connections than a server wants', () => {
  test('work waits for a free one', async () => {
    const url = await postgres.createDatabase()
    // Together they want 24.
    const [one, other] = await Promise.all([openPostgres(url), openPostgres(url)])
    const project = newProject()
    const writes = Array.from({ length: 400 }, (_, n) =>
      (n % 2 ? one : other).write('upsertCalls', [wholePart(project, `call ${n}`)], `tenant ${n % 3}`),
    )
    const failed = (await Promise.allSettled(writes)).filter(({ status }) => status === 'rejected')
    assert.deepEqual(failed, [])
    assert.equal((await storedRows(one, project)).length, 400)
    await Promise.all([one.close(), other.close()])
  })

  test('the wait ends with its time, and when the server stops', async (t) => {
    const url = await postgres.createDatabase()
    const db = await openPostgres(url, { queryTimeoutMs: 300 })
    t.after(() => db.close())
    const impatient = await openPostgres(url, { queryTimeoutMs: 3_600_000 })
    const project = newProject()
    // Their idle connections end, and others take them all.
    const client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
    t.after(async () => {
      await client.query('ALTER ROLE heddle CONNECTION LIMIT -1')
      await client.end()
    })
    await client.query('ALTER ROLE heddle CONNECTION LIMIT 0')
    await client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'heddle'")
    await until('the connections are gone', async () => {
      const left = await client.query("SELECT 1 FROM pg_stat_activity WHERE usename = 'heddle'")
      return left.rows.length === 0
    })
    const write = () => db.write('upsertCalls', [wholePart(project, 'late')])
    await assert.rejects(write(), { code: 'storage_failed' })
    const waiting = assert.rejects(impatient.write('upsertCalls', [wholePart(project, 'left')]), {
      code: 'stopping',
    })
    await impatient.close()
    await waiting
    await client.query('ALTER ROLE heddle CONNECTION LIMIT -1')
    await write()
    assert.equal((await storedRows(db, project)).length, 1)
  })

  test('4 are enough for long reads, writes and probes together', async () => {
    const db = await openPostgres(await postgres.createDatabase(), { maxConnections: 4 })
    const project = newProject()
    await db.write(
      'upsertCalls',
      Array.from({ length: 50 }, (_, n) => wholePart(project, `call ${n}`)),
    )
    const signal = new AbortController().signal
    const read = async () => {
      let rows = 0
      const calls = db.stream(sql`SELECT id FROM calls WHERE project_id = ${project}`, { signal, rows: 10 })
      for await (const some of calls) {
        rows += some.length
        await storedRows(db, project)
      }
      return rows
    }
    const reads = Promise.all(Array.from({ length: 6 }, read))
    const writes = Array.from({ length: 30 }, (_, n) =>
      db.write('upsertCalls', [wholePart(project, `call ${n}`)]),
    )
    await Promise.all([...writes, db.probe()])
    assert.deepEqual(await reads, Array(6).fill(50))
    await db.close()
  })
})
