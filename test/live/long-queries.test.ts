import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sqliteFile } from '../../src/storage/open.ts'
import { sql } from '../../src/storage/sql.ts'
import { openSqlite } from '../../src/storage/sqlite/open.ts'
import { refusedWith } from '../support/refusals.ts'
import { newFolder } from '../support/server.ts'

/** Looks at numbers for ever and never finds one. */
const endless = sql`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
  SELECT i FROM n WHERE heddle_going() = 1 AND i < ${0}`

/** Finds numbers for ever. */
const numbers = sql`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n`

const never = new AbortController().signal

/** Long queries that run at once. */
const places = 4

/** More than that. */
const rounds = 6

// PostgreSQL has the same in its own file: there the server stops a statement, here a thread has to.
describe('a long query on SQLite', () => {
  async function opened(t: Parameters<typeof newFolder>[0], queryTimeoutMs: number) {
    const db = await openSqlite({ file: sqliteFile(await newFolder(t)), queryTimeoutMs })
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

  test('stops while it looks when its reader leaves, and others are served', async (t) => {
    const { db, all, few } = await opened(t, 600_000)
    for (let round = 0; round < rounds; round++) {
      const controller = new AbortController()
      const running = all(controller.signal)
      // The loop is free while the thread looks.
      await db.probe()
      controller.abort(new Error('left'))
      await assert.rejects(running, /left/)
      assert.deepEqual(await few(), [1, 2, 3])
    }
    await db.close()
  })

  test('is refused when it has looked for too long', async (t) => {
    const { db, all, few } = await opened(t, 50)
    for (let round = 0; round < rounds; round++) {
      await assert.rejects(all(never), refusedWith('query_too_slow'))
      assert.deepEqual(await few(), [1, 2, 3])
    }
    await db.close()
  })

  test('loses its place when its reader does not read on', async (t) => {
    const { db, few } = await opened(t, 50)
    const readers = Array.from({ length: places + rounds }, () =>
      db.stream(numbers, { signal: never, rows: 3 })[Symbol.asyncIterator](),
    )
    // There are not as many places: the later ones begin when the earlier ones have lost theirs.
    for (const reader of readers) assert.equal((await reader.next()).done, false)
    assert.deepEqual(await few(), [1, 2, 3])
    for (const reader of readers.slice(0, rounds)) {
      await assert.rejects(async () => reader.next(), refusedWith('query_too_slow'))
    }
    for (const reader of readers) await reader.return?.()
    await db.close()
  })

  test('does not keep the record from closing', async (t) => {
    const { db, all } = await opened(t, 600_000)
    const running = all(never)
    await db.probe()
    const [closed, ended] = await Promise.allSettled([db.close(), running])
    assert.equal(closed.status, 'fulfilled')
    assert.equal(ended.status, 'rejected')
  })
})
