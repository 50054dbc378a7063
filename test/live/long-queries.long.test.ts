import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSqlite } from '../../src/storage/engines/sqlite/open.ts'
import { createPoolReader } from '../../src/storage/engines/sqlite/pool-reader.ts'
import { sqliteFile } from '../../src/storage/open.ts'
import { sql } from '../../src/storage/sql/sql.ts'
import { refusedWith } from '../support/refusals.ts'
import { newFolder } from '../support/server.ts'
import { until, withTimeout } from '../support/wait.ts'

/** Searches numbers for ever and never finds one. */
const endless = sql`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
  SELECT i FROM n WHERE heddle_going() = 1 AND i < ${0}`

/** Finds numbers for ever. */
const numbers = sql`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n`

const never = new AbortController().signal

/** The number of long queries that run at once. */
const places = 4

/** More than `places`. */
const rounds = 6

// The tests for PostgreSQL are in postgres.test.ts: there the server stops a statement, here a thread has to.
describe('a long query on SQLite', () => {
  async function opened(t: Parameters<typeof newFolder>[0], queryTimeoutMs: number, waitMs?: number) {
    const file = sqliteFile(await newFolder(t))
    const db = await openSqlite({ file, queryTimeoutMs, ...(waitMs !== undefined && { waitMs }) })
    const all = async (signal: AbortSignal) => {
      for await (const rows of db.stream(endless, { signal })) assert.equal(rows.length, 0)
    }
    const few = async () => {
      for await (const rows of db.stream<{ i: number }>(numbers, { signal: never, rows: 3 })) {
        return rows.map((row) => row.i)
      }
    }
    return { db, all, few }
  }

  test('stops while it searches when its reader aborts, and others are served', async (t) => {
    const { db, all, few } = await opened(t, 600_000)
    for (let round = 0; round < rounds; round++) {
      const controller = new AbortController()
      const running = all(controller.signal)
      // The event loop is free while the thread searches.
      await db.probe()
      controller.abort(new Error('left'))
      await assert.rejects(running, /left/)
      assert.deepEqual(await few(), [1, 2, 3])
    }
    await db.close()
  })

  test('is refused when it searches too long', async (t) => {
    const { db, all, few } = await opened(t, 50)
    for (let round = 0; round < rounds; round++) {
      await assert.rejects(all(never), refusedWith('query_too_slow'))
      assert.deepEqual(await few(), [1, 2, 3])
    }
    await db.close()
  })

  test('loses its slot when its reader stops reading', async (t) => {
    const { db, few } = await opened(t, 50)
    const readers = Array.from({ length: places + rounds }, () =>
      db.stream(numbers, { signal: never, rows: 3 })[Symbol.asyncIterator](),
    )
    // There are fewer slots: later queries begin when earlier ones have lost theirs.
    for (const reader of readers) assert.equal((await reader.next()).done, false)
    assert.deepEqual(await few(), [1, 2, 3])
    for (const reader of readers.slice(0, rounds)) {
      await assert.rejects(async () => reader.next(), refusedWith('query_too_slow'))
    }
    for (const reader of readers) await reader.return?.()
    await db.close()
  })

  test('that is expensive does not delay others', async (t) => {
    const { db, all, few } = await opened(t, 600_000)
    const leaving = new AbortController()
    const expensive = Array.from({ length: places - 1 }, () => all(leaving.signal))
    for (let round = 0; round < rounds; round++) {
      assert.deepEqual(await withTimeout('a short answer beside long ones', few()), [1, 2, 3])
    }
    leaving.abort(new Error('left'))
    await Promise.all(expensive.map((one) => assert.rejects(one, /left/)))
    await db.close()
  })

  test('of one tenant leaves a reader for others, however many it sends', async (t) => {
    const { db, all } = await opened(t, 600_000)
    const leaving = new AbortController()
    const expensive = Array.from({ length: 3 * places }, () => all(leaving.signal))
    for (const tenant of ['bob', 'carol', 'bob']) {
      const query = db.stream<{ i: number }>(numbers, { signal: never, tenant, rows: 3 })
      const few = async () => {
        for await (const rows of query) return rows.map((row) => row.i)
      }
      assert.deepEqual(await withTimeout('an answer to another tenant', few()), [1, 2, 3])
    }
    leaving.abort(new Error('left'))
    await Promise.all(expensive.map((one) => assert.rejects(one, /left/)))
    await db.close()
  })

  test('whose reader stalls frees its thread and loses no rows', async (t) => {
    const { db, few } = await opened(t, 600_000)
    const count = 50_000
    const rows = sql`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ${count})
      SELECT i, printf('%0100d', i) AS text FROM n`
    const readers = Array.from({ length: places }, () =>
      db.stream<{ i: number }>(rows, { signal: never })[Symbol.asyncIterator](),
    )
    const begun = await Promise.all(readers.map((reader) => reader.next()))
    assert.deepEqual(await withTimeout('an answer beside unread ones', few()), [1, 2, 3])
    for (const [index, reader] of readers.entries()) {
      let seen = begun[index]
      const read: number[] = []
      for (; seen !== undefined && !seen.done; seen = await reader.next()) {
        read.push(...seen.value.map((row) => row.i))
      }
      assert.equal(read.length, count)
      assert.ok(read.every((i, position) => i === position + 1))
    }
    await db.close()
  })

  test('is refused when it waits too long for a slot', async (t) => {
    const { db, all, few } = await opened(t, 600_000, 50)
    const leaving = new AbortController()
    const expensive = Array.from({ length: places }, () => all(leaving.signal))
    await assert.rejects(withTimeout('a refusal', few()), refusedWith('queue_full'))
    leaving.abort(new Error('left'))
    await Promise.all(expensive.map((one) => assert.rejects(one, /left/)))
    assert.deepEqual(await few(), [1, 2, 3])
    await db.close()
  })

  test('uses a thread that ends after some idle time', async (t) => {
    const file = sqliteFile(await newFolder(t))
    await (await openSqlite({ file })).close()
    const reader = createPoolReader(file, 10)
    const ask = () =>
      reader.ask({ kind: 'open', text: 'SELECT 1 AS one', values: [], rows: 10, limitMs: 600_000 })
    for (let round = 0; round < 2; round++) {
      reader.acquire()
      assert.deepEqual(await ask(), { kind: 'rows', rows: [{ one: 1 }], done: true })
      assert.equal(reader.running, true)
      reader.release()
      await until('the thread ends', () => !reader.running)
    }
    await reader.close()
    await assert.rejects(ask(), refusedWith('stopping'))
  })

  test('that SQLite does not interrupt is refused anyway, and its slot gets another thread', async (t) => {
    const file = sqliteFile(await newFolder(t))
    await (await openSqlite({ file })).close()
    const reader = createPoolReader(file, 600_000, 1)
    const ask = (text: string, limitMs: number) =>
      reader.ask({ kind: 'open', text, values: [], rows: 10, limitMs })
    const one = { kind: 'rows', rows: [{ one: 1 }], done: true }
    reader.acquire()
    assert.deepEqual(await ask('SELECT 1 AS one', 600_000), one)
    // Never checks whether it should stop.
    const deaf = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000000) SELECT sum(i) FROM n`
    await assert.rejects(ask(deaf, 1), refusedWith('query_too_slow'))
    assert.equal(reader.running, false)
    reader.acquire()
    assert.deepEqual(await ask('SELECT 1 AS one', 600_000), one)
    await withTimeout('the thread that was given up ends', reader.close())
  })

  test('does not prevent the record from closing', async (t) => {
    const { db, all } = await opened(t, 600_000)
    const running = all(never)
    await db.probe()
    const [closed, ended] = await Promise.allSettled([db.close(), running])
    assert.equal(closed.status, 'fulfilled')
    assert.equal(ended.status, 'rejected')
  })
})
