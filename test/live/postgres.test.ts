import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { onAbandoned } from '../../src/domain/abandoning.ts'
import { Refusal, type RefusalCode, refuse } from '../../src/domain/refusals.ts'
import { loadMigrations, type Migration } from '../../src/storage/engines/migrations.ts'
import {
  createPostgresDatabase,
  openPostgres,
  type PostgresOptions,
  postgresDefaults,
} from '../../src/storage/engines/postgres/database.ts'
import { migratePostgres } from '../../src/storage/engines/postgres/migrate.ts'
import { StorageRefusal } from '../../src/storage/failures.ts'
import { openRecord } from '../../src/storage/open.ts'
import { countIndexedCalls, indexCoverage } from '../../src/storage/search/found-calls.ts'
import type { Dialect } from '../../src/storage/sql/dialect.ts'
import { sql } from '../../src/storage/sql/sql.ts'
import { boundTo, type Command, type Transaction } from '../../src/storage/transaction.ts'
import { newProject, startPart } from '../support/call-parts.ts'
import { usualAddresses } from '../support/pgbouncer.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { createRecord } from '../support/postgres-record.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

/** So long that only the test itself can end it. */
const forever = 3_600

let server: TestPostgres

before(async () => {
  server = await startPostgres()
})

after(() => server.stop())

const dialect = { engine: 'postgres' } as Dialect

/** What a test does in a transaction; the commands of the program only take and return plain data. */
type Body = (tx: Transaction) => Promise<unknown>

const commands = {
  act: (async (tx, body) => body(tx)) satisfies Command<Body, unknown>,
  put: (async (tx, { id, n }) => {
    await tx.run(sql`INSERT INTO things (id, n) VALUES (${id}, ${n})`)
  }) satisfies Command<{ id: string; n: number }, void>,
}

const things: Migration[] = [
  migration(1, 'CREATE TABLE things (id TEXT COLLATE "C" PRIMARY KEY, n BIGINT NOT NULL)'),
  migration(2, 'CREATE TABLE heddle_probe (id INTEGER PRIMARY KEY, at BIGINT NOT NULL)'),
]

function migration(version: number, text: string): Migration {
  const checksum = createHash('sha256').update(text).digest('hex')
  return { version, name: `000${version}_test.sql`, checksum, text }
}

const migrateOptions = { connectTimeoutMs: 5_000, lockTimeoutMs: 60_000 }

function migrate(url: string, known: readonly Migration[]): Promise<Migration[]> {
  return migratePostgres(url, known, migrateOptions)
}

function open(url: string, options: Partial<PostgresOptions> = {}) {
  return createPostgresDatabase(url, dialect, commands, { ...postgresDefaults, ...options })
}

type Store = ReturnType<typeof open>

/** A fresh store for one test, closed after it. */
async function withStore(
  options: Partial<PostgresOptions>,
  body: (store: Store, url: string) => Promise<void>,
): Promise<void> {
  const url = await server.createDatabase()
  await migrate(url, things)
  const { databaseUrl, ...direct } = await usualAddresses(server, url)
  const store = open(databaseUrl, { ...direct, ...options })
  try {
    await body(store, url)
  } finally {
    await store.close()
  }
}

async function ask<Row extends pg.QueryResultRow>(url: string, text: string, values: unknown[] = []) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text, values)).rows
  } finally {
    await client.end()
  }
}

function asAdministrator(url: string): string {
  const own = new URL(server.url)
  own.pathname = new URL(url).pathname
  return own.href
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(10)
}

async function countOf(url: string, condition: string): Promise<number> {
  const [row] = await ask<{ n: number }>(
    asAdministrator(url),
    `SELECT CAST(count(*) AS INTEGER) AS n FROM pg_stat_activity
      WHERE application_name = 'heddle' AND datname = current_database() AND ${condition}`,
  )
  return row?.n ?? 0
}

const sleeping = "wait_event = 'PgSleep'"

function refusedWith(code: RefusalCode): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof Refusal, String(error))
    assert.equal(error.code, code)
    return true
  }
}

function storageRefusedWith(kind: StorageRefusal['kind']): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof StorageRefusal, String(error))
    assert.equal(error.kind, kind)
    return true
  }
}

/** A barrier: each caller waits until `count` have arrived, and later ones pass. */
function meeting(count: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let came = 0
  return () => {
    if (++came === count) resolve()
    return promise
  }
}

const never = new AbortController().signal

/** 20 immediate rows, then one that takes an hour. */
const stuckAfterFirstChunk = sql`SELECT n, CAST(pg_sleep(CASE WHEN n <= 20 THEN 0 ELSE ${forever} END) AS TEXT) AS s
  FROM generate_series(1, 1000) AS n`

const oneTo = (last: number) => sql`SELECT n FROM generate_series(1, CAST(${last} AS INTEGER)) AS n`

describe('migrations', () => {
  test('a fresh database gets all of them, and a second start none', async () => {
    const url = await server.createDatabase()
    assert.deepEqual(
      (await migrate(url, things)).map((done) => done.version),
      [1, 2],
    )
    assert.deepEqual(await migrate(url, things), [])
    const history = await ask(url, 'SELECT version, name, checksum FROM heddle_migrations ORDER BY version')
    assert.deepEqual(
      history,
      things.map(({ version, name, checksum }) => ({ version, name, checksum })),
    )
  })

  test('those of this version apply', async () => {
    const url = await server.createDatabase()
    const known = loadMigrations('postgres')
    assert.deepEqual(await migrate(url, known), known)
    assert.deepEqual(await migrate(url, known), [])
  })

  test('concurrent starts apply each one once', async () => {
    const url = await server.createDatabase()
    const done = await Promise.all(Array.from({ length: 6 }, () => migrate(url, things)))
    assert.deepEqual(
      done
        .flat()
        .map(({ version }) => version)
        .sort(),
      [1, 2],
    )
  })

  test('a newer schema is refused and left unchanged', async () => {
    const url = await server.createDatabase()
    await migrate(url, things)
    await assert.rejects(migrate(url, things.slice(0, 1)), storageRefusedWith('newer'))
    assert.deepEqual(await migrate(url, things), [])
  })

  test('another history is refused', async () => {
    const url = await server.createDatabase()
    await migrate(url, things)
    const other = [migration(1, 'CREATE TABLE others (id TEXT)'), ...things.slice(1)]
    await assert.rejects(migrate(url, other), storageRefusedWith('foreign'))
  })

  test('one that fails leaves nothing, and earlier ones stay applied', async () => {
    const url = await server.createDatabase()
    const broken = migration(3, 'CREATE TABLE half (id TEXT); INSERT INTO nowhere VALUES (1)')
    await assert.rejects(migrate(url, [...things, broken]), /0003_test\.sql.*nowhere/)
    assert.deepEqual(await ask(url, 'SELECT version FROM heddle_migrations ORDER BY version'), [
      { version: 1 },
      { version: 2 },
    ])
    assert.deepEqual(await ask(url, "SELECT to_regclass('half') AS half"), [{ half: null }])
    const fixed = migration(3, 'CREATE TABLE half (id TEXT)')
    assert.deepEqual(await migrate(url, [...things, fixed]), [fixed])
  })

  test('a read-only database can be opened when it is up to date', async () => {
    const url = await server.createDatabase()
    await migrate(url, things)
    await makeReadOnly(url)
    assert.deepEqual(await migrate(url, things), [])
    await assert.rejects(
      migrate(url, [...things, migration(3, 'CREATE TABLE more (id TEXT)')]),
      storageRefusedWith('read-only'),
    )
  })

  test('a start waits for a concurrent migration, but not for ever', async () => {
    const url = await server.createDatabase()
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    try {
      await other.query('SELECT pg_advisory_lock($1)', [0x6865_6464_6c65])
      await assert.rejects(
        migratePostgres(url, things, { ...migrateOptions, lockTimeoutMs: 50 }),
        storageRefusedWith('locked'),
      )
    } finally {
      await other.end()
    }
  })

  /** The database before the triggers that mark calls, with a transaction that reads trials. */
  async function beforeTheMarks() {
    const url = await server.createDatabase()
    const all = loadMigrations('postgres')
    await migrate(url, all.slice(0, 27))
    const administered = Object.assign(new URL(server.url), { pathname: new URL(url).pathname })
    const user = new pg.Client({ connectionString: String(administered) })
    const other = new pg.Client({ connectionString: url })
    await user.connect()
    await other.connect()
    // As on other servers, a deadlock is looked for later than migrations wait for a table.
    await user.query("SET deadlock_timeout = '1min'")
    await user.query('BEGIN')
    await user.query('SELECT 1 FROM eval_trials LIMIT 1')
    const isWaiting = async () => {
      const { rows } = await other.query(
        "SELECT 1 FROM pg_stat_activity WHERE application_name = 'heddle migrate' AND wait_event_type = 'Lock' AND datname = current_database()",
      )
      return rows.length > 0
    }
    return { url, all, user, other, isWaiting, end: () => Promise.all([user.end(), other.end()]) }
  }

  test('a migration that waits for a table gives it back to those who queue behind it', async () => {
    const { url, all, user, other, isWaiting, end } = await beforeTheMarks()
    try {
      const migrating = migrate(url, all)
      await until(isWaiting)
      // While the first reader still holds what the migration waits for.
      await other.query('SELECT 1 FROM calls LIMIT 1')
      await user.query('COMMIT')
      assert.deepEqual(await migrating, all.slice(27))
    } finally {
      await end()
    }
  })

  test('a migration gives way to a server that takes tables in another order', async () => {
    const { url, all, user, isWaiting, end } = await beforeTheMarks()
    try {
      const migrating = migrate(url, all)
      await until(isWaiting)
      await user.query('SELECT 1 FROM calls LIMIT 1')
      await user.query('COMMIT')
      assert.deepEqual(await migrating, all.slice(27))
    } finally {
      await end()
    }
  })

  test('a migration does not wait for a table for ever', async () => {
    const { url, all, end } = await beforeTheMarks()
    try {
      await assert.rejects(
        migratePostgres(url, all, { ...migrateOptions, lockTimeoutMs: 3_000 }),
        storageRefusedWith('locked'),
      )
    } finally {
      await end()
    }
  })

  test('trials that are deleted together renew the rows of their evaluation once', async () => {
    const url = await server.createDatabase()
    await migrate(url, loadMigrations('postgres'))
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      for (const evaluation of ['e1', 'e2']) {
        await client.query(
          `INSERT INTO eval_row_sets (project_id, evaluation_id, row_count, row_sum, version) VALUES ('p/q', '${evaluation}', 50, '1', 'first')`,
        )
        await client.query(
          `INSERT INTO eval_trials (project_id, evaluation_id, trial_id, row_digest, row_kind, started_at, output_key, failed,
              scorer_call_ids, scores, shape)
            SELECT 'p/q', '${evaluation}', '${evaluation} ' || n, 'row', 0, n, 0, 0, '{}', '{}', 0
            FROM generate_series(1, 50) AS n`,
        )
      }
      await client.query('BEGIN')
      await client.query("DELETE FROM eval_trials WHERE trial_id LIKE 'e1 %'")
      const updates = await client.query(
        "SELECT CAST(n_tup_upd AS INTEGER) AS n FROM pg_stat_xact_user_tables WHERE relname = 'eval_row_sets'",
      )
      await client.query('COMMIT')
      assert.deepEqual(updates.rows, [{ n: 1 }])
      const kept = await client.query("SELECT evaluation_id FROM eval_row_sets WHERE version = 'first'")
      assert.deepEqual(kept.rows, [{ evaluation_id: 'e2' }])
    } finally {
      await client.end()
    }
  })

  test('a database that cannot be opened is reported in one line, without the password', async () => {
    const url = new URL(await server.createDatabase())
    const { password } = url
    const cases: [change: (url: URL) => void, words: RegExp][] = [
      [(to) => (to.pathname = '/nowhere'), /nowhere does not exist/],
      [(to) => (to.password = 'wrong'), /refuses the user or the password/],
      [(to) => (to.port = '1'), /cannot be reached \(.*ECONNREFUSED/],
    ]
    for (const [change, words] of cases) {
      const to = new URL(url)
      change(to)
      await assert.rejects(migrate(to.href, things), (error) => {
        storageRefusedWith('unreachable')(error)
        assert.match((error as Error).message, words)
        assert.ok(!(error as Error).message.includes(password))
        return true
      })
    }
    await assert.rejects(migrate('postgres://u:secret@[/x', things), (error) => {
      storageRefusedWith('unreachable')(error)
      assert.ok(!(error as Error).message.includes('secret'))
      return true
    })
    const latin = `latin_${url.pathname.slice(1)}`
    await ask(
      server.url,
      `CREATE DATABASE ${latin} OWNER heddle TEMPLATE template0 ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C'`,
    )
    url.pathname = `/${latin}`
    await assert.rejects(migrate(url.href, things), storageRefusedWith('foreign'))
  })
})

async function makeReadOnly(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1)
  await ask(server.url, `ALTER DATABASE ${name} SET default_transaction_read_only = on`)
}

describe('writes', () => {
  test('a command commits its writes and returns a result', async () => {
    await withStore({}, async (store, url) => {
      const changed = await store.write('act', async (tx) => {
        await tx.run(sql`INSERT INTO things (id, n) VALUES (${'a'}, ${1}), (${'b'}, ${2})`)
        assert.equal((await tx.get<{ n: number }>(sql`SELECT n FROM things WHERE id = ${'b'}`))?.n, 2)
        assert.equal(await tx.get(sql`SELECT n FROM things WHERE id = ${'c'}`), undefined)
        return tx.run(sql`UPDATE things SET n = n + ${10}`)
      })
      assert.equal(changed, 2)
      assert.deepEqual(await ask(url, 'SELECT id, CAST(n AS INTEGER) AS n FROM things ORDER BY id'), [
        { id: 'a', n: 11 },
        { id: 'b', n: 12 },
      ])
    })
  })

  test('a refusal passes through and rolls the writes back', async () => {
    await withStore({ connections: 2 }, async (store) => {
      const refusal = refuse('call_not_found', { field: 'id', id: 'x', project: 'p' })
      const write = store.write('act', async (tx) => {
        await tx.run(sql`INSERT INTO things (id, n) VALUES ('a', 1)`)
        throw refusal
      })
      await assert.rejects(write, (error) => error === refusal)
      assert.deepEqual(await store.all(sql`SELECT id FROM things`), [])
    })
  })

  test('a wrong statement is an error, not a refusal, and the connection stays usable', async () => {
    await withStore({ connections: 2 }, async (store) => {
      const fails = store.write('act', (tx) => tx.run(sql`INSERT INTO nowhere (id) VALUES (${1})`))
      await assert.rejects(fails, (error) => !(error instanceof Refusal) && /nowhere/.test(String(error)))
      await assert.rejects(store.all(sql`SELECT nothing`), (error) => !(error instanceof Refusal))
      await store.write('put', { id: 'a', n: 1 })
      assert.deepEqual(await store.all(sql`SELECT id FROM things`), [{ id: 'a' }])
    })
  })

  test('a command that continues after a failed statement does not succeed', async () => {
    await withStore({}, async (store) => {
      const write = store.write('act', async (tx) => {
        await tx.run(sql`INSERT INTO things (id, n) VALUES ('a', 1)`)
        await tx.run(sql`INSERT INTO things (id, n) VALUES ('a', 2)`).catch(() => undefined)
        return 'stored'
      })
      await assert.rejects(write, /after one of its statements had failed/)
      assert.deepEqual(await store.all(sql`SELECT id FROM things`), [])
    })
  })

  test('a transaction cannot be used after its end', async () => {
    await withStore({}, async (store) => {
      let kept: Transaction | undefined
      await store.write('act', async (tx) => {
        kept = tx
      })
      await assert.rejects(kept?.run(sql`DELETE FROM things`) ?? Promise.resolve(), /did not await/)
    })
  })

  test('commands that lock in opposite order both succeed', async () => {
    await withStore({}, async (store) => {
      await store.write('put', { id: 'a', n: 0 })
      await store.write('put', { id: 'b', n: 0 })
      const bothLocked = meeting(2)
      let runs = 0
      const inOrder = (first: string, second: string) =>
        store.write('act', async (tx) => {
          runs++
          await tx.run(sql`UPDATE things SET n = n + 1 WHERE id = ${first}`)
          await bothLocked()
          await tx.run(sql`UPDATE things SET n = n + 1 WHERE id = ${second}`)
        })
      await Promise.all([inOrder('a', 'b'), inOrder('b', 'a')])
      assert.ok(runs > 2, 'the server should have aborted one of the two')
      assert.deepEqual(await store.all(sql`SELECT n FROM things`), [{ n: 2 }, { n: 2 }])
    })
  })

  test('endless collisions are refused as busy', async () => {
    await withStore({}, async (store) => {
      let runs = 0
      const write = store.write('act', async (tx) => {
        runs++
        await tx.run(sql`DO $$ BEGIN RAISE EXCEPTION 'collision' USING ERRCODE = '40001'; END $$`)
      })
      await assert.rejects(write, refusedWith('storage_busy'))
      assert.equal(runs, 4)
    })
  })

  test('a write that waits for another is refused as busy before it counts as slow', async () => {
    await withStore({ queryTimeoutMs: 2_000 }, async (store) => {
      const add = sql`UPDATE things SET n = n + 1 WHERE id = 'a'`
      await store.write('put', { id: 'a', n: 0 })
      const locked = Promise.withResolvers<void>()
      const over = Promise.withResolvers<void>()
      const first = store.write('act', async (tx) => {
        await tx.run(add)
        locked.resolve()
        await over.promise
      })
      await locked.promise
      await assert.rejects(
        store.write('act', (tx) => tx.run(add)),
        refusedWith('storage_busy'),
      )
      over.resolve()
      await first
      await store.write('act', (tx) => tx.run(add))
      assert.deepEqual(await store.all(sql`SELECT n FROM things`), [{ n: 2 }])
    })
  })

  test('commands that read and then write take turns', async () => {
    await withStore({ connections: 8 }, async (store) => {
      const next = () =>
        store.write('act', async (tx) => {
          await tx.lock('counter')
          const last = await tx.get<{ n: number | null }>(sql`SELECT max(n) AS n FROM things`)
          const n = (last?.n ?? 0) + 1
          await tx.run(sql`INSERT INTO things (id, n) VALUES (${`${n}`}, ${n})`)
          return n
        })
      const given = await Promise.all(Array.from({ length: 40 }, next))
      assert.deepEqual(
        given.map(Number).sort((a, b) => a - b),
        Array.from({ length: 40 }, (_, i) => i + 1),
      )
    })
  })

  test('a write that gets no lock is refused as busy', async () => {
    await withStore({ lockTimeoutMs: 50 }, async (store, url) => {
      const other = new pg.Client({ connectionString: url })
      await other.connect()
      try {
        await other.query('BEGIN; LOCK TABLE things')
        await assert.rejects(store.write('put', { id: 'a', n: 1 }), refusedWith('storage_busy'))
        await other.query('COMMIT')
        await store.write('put', { id: 'a', n: 1 })
      } finally {
        await other.end()
      }
    })
  })

  test('a request that finds the queue full is told to try again', async () => {
    await withStore({ connections: 1, maxWaiting: 1 }, async (store) => {
      const gate = Promise.withResolvers<void>()
      const first = store.write('act', () => gate.promise)
      const second = store.all(sql`SELECT 1 AS one`)
      await assert.rejects(store.all(sql`SELECT 1 AS one`), refusedWith('queue_full'))
      gate.resolve()
      await first
      assert.deepEqual(await second, [{ one: 1 }])
    })
  })

  test('a request that waits too long in the queue is told to try again', async () => {
    await withStore({ connections: 1, queryTimeoutMs: 500 }, async (store) => {
      const gate = Promise.withResolvers<void>()
      const first = store.write('act', () => gate.promise)
      await assert.rejects(store.all(sql`SELECT 1 AS one`), refusedWith('queue_full'))
      gate.resolve()
      await first
    })
  })

  test('a wait for a connection to a silent server is not reported as a full queue', async () => {
    await withStore({}, async (_, url) => {
      const proxy = await startTcpProxy(url)
      const store = open(proxy.url, { connections: 1, queryTimeoutMs: 500, graceMs: 60_000 })
      const asked = Promise.withResolvers<void>()
      const first = store.write('act', async (tx) => {
        proxy.silence()
        const put = tx.run(sql`INSERT INTO things (id, n) VALUES ('a', 1)`)
        setImmediate(asked.resolve)
        return put
      })
      const cut = assert.rejects(first, refusedWith('storage_failed'))
      await asked.promise
      await assert.rejects(store.all(sql`SELECT 1 AS one`), refusedWith('storage_failed'))
      await proxy.close()
      await cut
      await store.close()
    })
  })

  test('a commit is acknowledged once it is on disk, whatever the default of the server', async () => {
    await withStore({}, async (_, url) => {
      const name = new URL(url).pathname.slice(1)
      for (const [configured, used] of [
        ['off', 'on'],
        ['local', 'on'],
        ['remote_apply', 'remote_apply'],
      ]) {
        await ask(server.url, `ALTER DATABASE ${name} SET synchronous_commit = ${configured}`)
        const store = open(url)
        const [row] = await store.all(sql`SELECT current_setting('synchronous_commit') AS used`)
        await store.close()
        assert.deepEqual(row, { used })
      }
    })
  })
})

describe('values', () => {
  test('are read as they were written', async () => {
    await withStore({}, async (store) => {
      const text = `{"n": 1.0, "big": 9007199254740993, "q": "what? 'this' \\"that\\"", "e": "héé 🧵\\u0000"}\n`
      const bytes = Uint8Array.from({ length: 256 }, (_, i) => i)
      const row = await store.get<Record<string, unknown>>(
        sql`SELECT CAST(${text} AS TEXT) AS text, CAST(${''} AS TEXT) AS empty, CAST(${null} AS TEXT) AS nothing,
          CAST(${Number.MAX_SAFE_INTEGER} AS BIGINT) AS most, CAST(${-Number.MAX_SAFE_INTEGER} AS BIGINT) AS least,
          CAST(${9007199254740991n} AS BIGINT) AS big, CAST(${0.1} AS DOUBLE PRECISION) AS tenth,
          CAST(${5e-324} AS DOUBLE PRECISION) AS tiny, CAST(${1.7976931348623157e308} AS DOUBLE PRECISION) AS huge,
          CAST(${bytes} AS BYTEA) AS bytes, 1 = 1 AS yes, 1 = 2 AS no, 'what?' AS "quoted?",
          (SELECT count(*) FROM generate_series(1, 3)) AS count,
          (SELECT sum(CAST(n AS BIGINT)) FROM generate_series(1, 3) AS n) AS sum,
          CAST('{"a": 1.0}' AS JSON) AS json`,
      )
      assert.ok(row?.bytes instanceof Uint8Array)
      assert.deepEqual(
        { ...row, bytes: Uint8Array.from(row.bytes) },
        {
          text,
          empty: '',
          nothing: null,
          most: Number.MAX_SAFE_INTEGER,
          least: -Number.MAX_SAFE_INTEGER,
          big: Number.MAX_SAFE_INTEGER,
          tenth: 0.1,
          tiny: 5e-324,
          huge: 1.7976931348623157e308,
          bytes,
          yes: 1,
          no: 0,
          'quoted?': 'what?',
          count: 3,
          sum: 6,
          json: '{"a": 1.0}',
        },
      )
    })
  })

  test('a whole number beyond 2^53 is an error, never another number', async () => {
    await withStore({}, async (store) => {
      await assert.rejects(store.get(sql`SELECT CAST(${9007199254740993n} AS BIGINT) AS n`), RangeError)
      assert.deepEqual(await store.get(sql`SELECT 1 AS one`), { one: 1 })
    })
  })

  test('a text that PostgreSQL cannot store is refused', async () => {
    await withStore({}, async (store) => {
      await assert.rejects(store.write('put', { id: 'a\0b', n: 1 }), refusedWith('invalid_value'))
    })
  })

  test('a wrong number of values is an error before anything is sent', async () => {
    await withStore({}, async (store) => {
      const wrong = { ...sql`SELECT ${1} AS one`, values: [] }
      await assert.rejects(store.all(wrong), /1 parameters and 0 values/)
    })
  })

  test('a statement is prepared once and found again by its text', async () => {
    await withStore({}, async (store) => {
      await store.write('act', async (tx) => {
        for (let n = 0; n < 3; n++) await tx.get(sql`SELECT CAST(${n} AS INTEGER) AS marker`)
        const found = await tx.all(
          sql`SELECT generic_plans + custom_plans AS runs FROM pg_prepared_statements WHERE statement LIKE ${'%AS marker%'}`,
        )
        assert.deepEqual(found, [{ runs: 3 }])
      })
    })
  })

  test('a prepared statement survives a change of its table', async () => {
    await withStore({ connections: 2 }, async (store, url) => {
      await store.write('put', { id: 'a', n: 1 })
      assert.deepEqual(await store.all(sql`SELECT * FROM things`), [{ id: 'a', n: 1 }])
      await ask(url, 'ALTER TABLE things ADD COLUMN more TEXT')
      assert.deepEqual(await store.all(sql`SELECT * FROM things`), [{ id: 'a', n: 1, more: null }])
    })
  })
})

describe('a record that is opened by its settings', () => {
  test('reports idle connections that are lost', async () => {
    const databaseUrl = await server.createDatabase()
    let tell: (error: Error) => void = () => undefined
    const told = new Promise<Error>((resolve) => (tell = resolve))
    const db = await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000, report: (e) => tell(e) })
    await db.probe()
    await db.all(sql`SELECT CAST(1 AS INTEGER) AS one`)
    await ask(
      asAdministrator(databaseUrl),
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'heddle' AND datname = current_database()`,
    )
    assert.ok((await told) instanceof Error)
    await db.close()
  })

  test('is not created when it must already exist', async () => {
    const databaseUrl = await server.createDatabase()
    const place = { databaseUrl, folder: '', queryTimeoutMs: 60_000, mustExist: true }
    await assert.rejects(openRecord(place), /^StorageRefusal: PostgreSQL at .* has no record\.$/)
    await (await openRecord({ ...place, mustExist: false })).close()
    await (await openRecord(place)).close()
  })

  test('waits as long for a reader as for rows', async () => {
    const databaseUrl = await server.createDatabase()
    const db = await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 12_345 })
    const query = sql`SELECT current_setting('statement_timeout') AS rows,
      current_setting('idle_in_transaction_session_timeout') AS reader`
    assert.deepEqual(await db.get(query), { rows: '12345ms', reader: '12345ms' })
    await db.close()
  })
})

describe('streams', () => {
  test('return every row once, in chunks', async () => {
    await withStore({}, async (store) => {
      const sizes: number[] = []
      const seen: number[] = []
      for await (const chunk of store.stream<{ n: number }>(oneTo(1_001), { signal: never, rows: 250 })) {
        sizes.push(chunk.length)
        seen.push(...chunk.map(({ n }) => n))
      }
      assert.deepEqual(sizes, [20, 250, 250, 250, 231])
      assert.deepEqual(
        seen,
        Array.from({ length: 1_001 }, (_, i) => i + 1),
      )
      for await (const chunk of store.stream(oneTo(0), { signal: never }))
        assert.fail(`an unexpected chunk: ${chunk}`)
    })
  })

  test('an early end releases everything', async () => {
    await withStore({ connections: 2, streams: 1 }, async (store, url) => {
      for (let round = 0; round < 3; round++) {
        for await (const chunk of store.stream(stuckAfterFirstChunk, { signal: never })) {
          assert.equal(chunk.length, 20)
          break
        }
      }
      assert.equal(await countOf(url, "state <> 'idle'"), 0)
    })
  })

  test('an abort stops the statement on the server, and the connection stays usable', async () => {
    await withStore({ connections: 2, streams: 1 }, async (store, url) => {
      const leaving = new AbortController()
      const rows = store.stream(stuckAfterFirstChunk, { signal: leaving.signal })[Symbol.asyncIterator]()
      await rows.next()
      const stuck = rows.next()
      await until(async () => (await countOf(url, sleeping)) === 1)
      leaving.abort(new Error('the client left'))
      await assert.rejects(stuck, /the client left/)
      assert.equal(await countOf(url, sleeping), 0)
      for await (const chunk of store.stream(oneTo(3), { signal: never })) assert.equal(chunk.length, 3)
      assert.equal(await countOf(url, "state <> 'idle'"), 0)
    })
  })

  test('an abort at any moment ends the stream', async () => {
    await withStore({ connections: 2, streams: 1 }, async (store, url) => {
      for (let turns = 0; turns < 30; turns++) {
        const leaving = new AbortController()
        const rows = store.stream(stuckAfterFirstChunk, { signal: leaving.signal, rows: 300 })
        const stuck = (async () => {
          for await (const chunk of rows) assert.equal(chunk.length, 20)
        })()
        void (async () => {
          for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate)
          leaving.abort(new Error('the client left'))
        })()
        await assert.rejects(stuck, /the client left/)
      }
      await until(async () => (await countOf(url, "state <> 'idle'")) === 0)
    })
  })

  test('an abort between two reads releases everything at once', async () => {
    await withStore({ connections: 2, streams: 1 }, async (store) => {
      const leaving = new AbortController()
      const rows = store.stream(oneTo(1_000), { signal: leaving.signal })[Symbol.asyncIterator]()
      await rows.next()
      leaving.abort(new Error('the client left'))
      for await (const chunk of store.stream(oneTo(3), { signal: never })) assert.equal(chunk.length, 3)
      await assert.rejects(rows.next(), /the client left/)
    })
  })

  test('a stalled reader is notified when its stream is abandoned, even if it does not read', async () => {
    await withStore({ connections: 2, streams: 1, idleTimeoutMs: 50 }, async (store) => {
      const { signal } = new AbortController()
      const told = new Promise<Error>((resolve) => onAbandoned(signal, resolve))
      const rows = store.stream(oneTo(1_000), { signal })[Symbol.asyncIterator]()
      await rows.next()
      assert.ok((await told) instanceof Error)
      await assert.rejects(async () => rows.next())
    })
  })

  test('only a limited number runs at once; others wait, and can leave the queue', async () => {
    await withStore({ connections: 4, streams: 2, maxStreamsWaiting: 2 }, async (store) => {
      const start = (signal: AbortSignal) =>
        store.stream<{ n: number }>(oneTo(1_000), { signal })[Symbol.asyncIterator]()
      const running = [start(never), start(never)]
      for (const rows of running) await rows.next()
      const leaving = new AbortController()
      const third = start(leaving.signal).next()
      const fourth = start(never)
      const fourthChunk = fourth.next()
      await assert.rejects(start(never).next(), refusedWith('queue_full'))
      leaving.abort(new Error('the client left'))
      await assert.rejects(third, /the client left/)
      assert.deepEqual(await store.all(sql`SELECT 1 AS one`), [{ one: 1 }])
      await running[0]?.return?.()
      assert.equal((await fourthChunk).value?.length, 20)
      await running[1]?.return?.()
      await fourth.return?.()
    })
  })

  test('a reader can run other queries while it reads', async () => {
    await withStore({ connections: 2, streams: 2 }, async (store) => {
      for await (const chunk of store.stream(oneTo(400), { signal: never })) {
        assert.ok(chunk.length > 0)
        assert.deepEqual(await store.get(sql`SELECT 1 AS one`), { one: 1 })
      }
    })
  })

  test('a stream sees one state of the record, whatever is written meanwhile', async () => {
    await withStore({}, async (store) => {
      await store.write('put', { id: 'a', n: 1 })
      await store.write('put', { id: 'b', n: 2 })
      const seen: unknown[] = []
      for await (const chunk of store.stream(sql`SELECT id FROM things ORDER BY id`, {
        signal: never,
        rows: 1,
      })) {
        seen.push(...chunk)
        if (seen.length === 1) await store.write('put', { id: 'c', n: 3 })
      }
      assert.deepEqual(seen, [{ id: 'a' }, { id: 'b' }])
    })
  })

  test('a reader that stops reading loses its transaction, not the store', async () => {
    await withStore({ connections: 2, streams: 1, idleTimeoutMs: 500 }, async (store) => {
      const slow = store.stream(oneTo(1_000), { signal: never })[Symbol.asyncIterator]()
      await slow.next()
      // Its slot is free again although it has not returned.
      for await (const chunk of store.stream(oneTo(3), { signal: never })) assert.equal(chunk.length, 3)
      await assert.rejects(slow.next(), refusedWith('query_too_slow'))
    })
  })
})

describe('limits and failures', () => {
  test('a statement that takes too long is refused', async () => {
    await withStore({ queryTimeoutMs: 50 }, async (store) => {
      const slow = sql`SELECT CAST(pg_sleep(${forever}) AS TEXT) AS s`
      const check = (error: unknown) => {
        refusedWith('query_too_slow')(error)
        assert.match((error as Error).message, /after 50 ms/)
        return true
      }
      await assert.rejects(store.all(slow), check)
      await assert.rejects(
        store.write('act', (tx) => tx.all(slow)),
        check,
      )
      const rows = store.stream(slow, { signal: never })[Symbol.asyncIterator]()
      await assert.rejects(rows.next(), check)
    })
  })

  test('a read-only record says so and can be read', async () => {
    await withStore({}, async (_, url) => {
      await makeReadOnly(url)
      const store = open(url)
      try {
        await assert.rejects(store.write('put', { id: 'a', n: 1 }), refusedWith('storage_read_only'))
        await assert.rejects(store.probe(), refusedWith('storage_read_only'))
        assert.deepEqual(await store.all(sql`SELECT id FROM things`), [])
      } finally {
        await store.close()
      }
    })
  })

  test('a full disk is reported as such', async () => {
    await withStore({}, async (store) => {
      const write = store.write('act', (tx) =>
        tx.run(sql`DO $$ BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = '53100'; END $$`),
      )
      await assert.rejects(write, refusedWith('storage_full'))
    })
  })

  test('the probe reads and writes', async () => {
    await withStore({}, async (store, url) => {
      await Promise.all([store.probe(), store.probe()])
      await store.probe()
      assert.equal((await ask(url, 'SELECT id FROM heddle_probe')).length, 1)
    })
  })

  test('the probe does not wait for other work', async () => {
    await withStore({ connections: 1, maxWaiting: 0 }, async (store) => {
      const gate = Promise.withResolvers<void>()
      const busy = store.write('act', () => gate.promise)
      await store.probe()
      gate.resolve()
      await busy
    })
  })

  test('a stopped server is reported, and used again when it is back', async () => {
    await withStore({}, async (store, url) => {
      await store.write('put', { id: 'a', n: 1 })
      const reader = store.stream(oneTo(1_000), { signal: never })[Symbol.asyncIterator]()
      await reader.next()
      const running = store.all(sql`SELECT CAST(pg_sleep(${forever}) AS TEXT) AS s`)
      const cut = assert.rejects(running, refusedWith('storage_failed'))
      await until(async () => (await countOf(url, sleeping)) === 1)

      await server.halt()
      await cut
      await assert.rejects(reader.next(), refusedWith('storage_failed'))
      await assert.rejects(store.all(sql`SELECT 1 AS one`), refusedWith('storage_failed'))
      await assert.rejects(store.write('put', { id: 'b', n: 2 }), refusedWith('storage_failed'))
      await assert.rejects(store.probe(), refusedWith('storage_failed'))
      const another = store.stream(oneTo(1), { signal: never })[Symbol.asyncIterator]()
      await assert.rejects(another.next(), refusedWith('storage_failed'))
      await assert.rejects(migrate(url, things), storageRefusedWith('unreachable'))

      await server.resume()
      await store.write('put', { id: 'c', n: 3 })
      await store.probe()
      assert.deepEqual(await store.all(sql`SELECT id FROM things ORDER BY id`), [{ id: 'a' }, { id: 'c' }])
      for await (const chunk of store.stream(oneTo(3), { signal: never })) assert.equal(chunk.length, 3)
    })
  })

  test('a restart between two requests goes unnoticed', async () => {
    await withStore({}, async (store) => {
      await Promise.all(Array.from({ length: 10 }, () => store.all(sql`SELECT 1 AS one`)))
      await server.crash()
      await server.resume()
      assert.deepEqual(await store.all(sql`SELECT 1 AS one`), [{ one: 1 }])
      await store.write('put', { id: 'a', n: 1 })
    })
  })

  test('a write whose connection is lost before COMMIT is retried once', async () => {
    await withStore({ connections: 2 }, async (store) => {
      let runs = 0
      const losing = (times: number) =>
        store.write('act', async (tx) => {
          runs++
          await tx.run(sql`INSERT INTO things (id, n) VALUES (${`run ${runs}`}, ${runs})`)
          if (runs <= times) await tx.all(sql`SELECT pg_terminate_backend(pg_backend_pid()) AS gone`)
        })
      await losing(1)
      assert.equal(runs, 2)
      assert.deepEqual(await store.all(sql`SELECT id FROM things`), [{ id: 'run 2' }])
      await assert.rejects(losing(10), refusedWith('storage_failed'))
      assert.equal(runs, 4)
    })
  })

  test('a write that the server aborts is not stored, and is refused as a storage failure', async () => {
    await withStore({ idleTimeoutMs: 100 }, async (store) => {
      let runs = 0
      const write = store.write('act', async (tx) => {
        runs++
        await tx.run(sql`INSERT INTO things (id, n) VALUES ('a', 1)`)
        const { pid } = (await tx.get<{ pid: number }>(sql`SELECT pg_backend_pid() AS pid`)) as {
          pid: number
        }
        await until(async () => {
          const found = await store.all(sql`SELECT pid FROM pg_stat_activity WHERE pid = ${pid}`)
          return found.length === 0
        })
        await tx.run(sql`INSERT INTO things (id, n) VALUES ('b', 1)`)
      })
      await assert.rejects(write, refusedWith('storage_failed'))
      assert.equal(runs, 2)
      assert.deepEqual(await store.all(sql`SELECT id FROM things`), [])
    })
  })

  test('a write whose connection is lost during COMMIT is refused and never tried again', async () => {
    await withStore({}, async (_, url) => {
      const proxy = await startTcpProxy(url)
      const store = open(proxy.url)
      try {
        for (const when of ['before', 'after'] as const) {
          let runs = 0
          // With the byte that ends a statement on the wire, because BEGIN contains READ COMMITTED.
          proxy.cutAt('COMMIT\0', when)
          const write = store.write('act', async (tx) => {
            runs++
            await tx.run(sql`INSERT INTO things (id, n) VALUES (${when}, 1)`)
          })
          await assert.rejects(write, refusedWith('write_unconfirmed'))
          assert.equal(runs, 1)
          proxy.heal()
          await store.probe()
        }
        await until(async () => (await ask(url, "SELECT id FROM things WHERE id = 'after'")).length === 1)
        assert.deepEqual(await store.all(sql`SELECT id FROM things`), [{ id: 'after' }])
      } finally {
        await store.close()
        await proxy.close()
      }
    })
  })

  test('a silent server is given up, and used again when it answers', async () => {
    await withStore({}, async (_, url) => {
      const proxy = await startTcpProxy(url)
      const limits = { queryTimeoutMs: 500, graceMs: 100, connectTimeoutMs: 500, probeTimeoutMs: 500 }
      const store = open(proxy.url, { ...limits, connections: 3, streams: 2 })
      try {
        const rows = store.stream(oneTo(1_000), { signal: never })[Symbol.asyncIterator]()
        await rows.next()
        proxy.silence()
        await assert.rejects(store.all(sql`SELECT 1 AS one`), refusedWith('storage_failed'))
        await assert.rejects(store.write('put', { id: 'a', n: 1 }), refusedWith('storage_failed'))
        await assert.rejects(store.probe(), refusedWith('storage_failed'))
        await assert.rejects(rows.next(), refusedWith('storage_failed'))
        const leaving = new AbortController()
        const left = store.stream(oneTo(1), { signal: leaving.signal })[Symbol.asyncIterator]().next()
        leaving.abort(new Error('the client left'))
        await assert.rejects(left)
        proxy.heal()
        await until(() =>
          store.probe().then(
            () => true,
            () => false,
          ),
        )
        await until(() =>
          store.write('put', { id: 'b', n: 1 }).then(
            () => true,
            () => false,
          ),
        )
        assert.deepEqual(await ask(url, 'SELECT id FROM things'), [{ id: 'b' }])
      } finally {
        proxy.silence()
        await store.close()
        await proxy.close()
      }
    })
  })
})

describe('the record of this program', () => {
  test('opens, writes, reads and closes', async () => {
    const url = await server.createDatabase()
    for (const at of [1_700_000_000_000_000, 1_800_000_000_000_000]) {
      const record = await openPostgres(url)
      await record.write('probe', { at })
      assert.deepEqual(await record.all(sql`SELECT id, at FROM heddle_probe`), [{ id: 1, at }])
      await record.close()
    }
  })
})

describe('closing', () => {
  test('waits for running work, ends the streams, and accepts nothing new', async () => {
    const url = await server.createDatabase()
    await migrate(url, things)
    const store = open(url)
    const idle = store.stream(oneTo(1_000_000), { signal: never })[Symbol.asyncIterator]()
    await idle.next()
    const sleeper = store.stream(stuckAfterFirstChunk, { signal: never, rows: 300 })[Symbol.asyncIterator]()
    await sleeper.next()
    const stuck = sleeper.next()
    await until(async () => (await countOf(url, sleeping)) === 1)
    const gate = Promise.withResolvers<void>()
    const started = Promise.withResolvers<void>()
    const write = store.write('act', async (tx) => {
      started.resolve()
      await gate.promise
      return tx.run(sql`INSERT INTO things (id, n) VALUES ('a', 1)`)
    })
    await started.promise

    const closed = store.close()
    await assert.rejects(stuck, refusedWith('stopping'))
    // What was read ahead still comes.
    const rest = async () => {
      while (!(await idle.next()).done);
    }
    await assert.rejects(rest(), refusedWith('stopping'))
    await assert.rejects(store.all(sql`SELECT 1 AS one`), refusedWith('stopping'))
    await assert.rejects(store.write('put', { id: 'b', n: 1 }), refusedWith('stopping'))
    await assert.rejects(store.probe(), refusedWith('stopping'))
    gate.resolve()
    assert.equal(await write, 1)
    await closed
    await store.close()
    assert.deepEqual(await ask(url, 'SELECT id FROM things'), [{ id: 'a' }])
    await until(async () => (await countOf(url, 'true')) === 0)
  })
})

test('search finds a call whose write began before it was switched on', async (t) => {
  const databaseUrl = await createRecord(server)
  const db = await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 })
  t.after(() => db.close())
  const other = new pg.Client(databaseUrl)
  await other.connect()
  t.after(() => other.end())
  const { signal } = new AbortController()
  const project = newProject()
  const indexed = async () => {
    while (await db.writeInBackground('indexCalls', { limit: 8, characters: 1 << 20 }));
    return [await indexCoverage(db, project), Number(await countIndexedCalls(boundTo(db, signal), project))]
  }
  await db.write('switchSearch', { isOn: false })
  await db.write('upsertCalls', [startPart(project, 'a')])
  await other.query('CREATE TEMP TABLE copied AS SELECT * FROM calls')
  await other.query("UPDATE copied SET id = 'b'")
  await other.query('BEGIN')
  await other.query('INSERT INTO calls SELECT * FROM copied')
  await db.write('switchSearch', { isOn: true })
  assert.deepEqual(await indexed(), ['some', 0])
  await other.query('COMMIT')
  assert.deepEqual(await indexed(), ['all', 2])
})
