import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { copyRecord } from '../../src/storage/copying/copy.ts'
import type { Database } from '../../src/storage/database.ts'
import { openRecord } from '../../src/storage/open.ts'
import { hasUnread } from '../../src/storage/search/indexing.ts'
import { rawSql, sql } from '../../src/storage/sql/sql.ts'
import { keys, openApp } from '../support/app.ts'
import { completeOf } from '../support/calls.ts'
import { runCommand } from '../support/commands.ts'
import { storeOneOfEach } from '../support/one-of-each.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { dumpOf } from '../support/record-dump.ts'
import { heddle, newFolder } from '../support/server.ts'

const project = 'acme/qa'

let postgres: TestPostgres
before(async () => {
  postgres = await startPostgres()
})
after(() => postgres.stop())

type Place = { databaseUrl: string; folder: string }

async function open(t: TestContext, place: Place): Promise<Database> {
  const db = await openRecord({ ...place, queryTimeoutMs: 30_000, mayBePart: true })
  t.after(() => db.close())
  return db
}

const sqliteIn = (folder: string): Place => ({ databaseUrl: '', folder })
const postgresAt = (databaseUrl: string): Place => ({ databaseUrl, folder: '' })

/** One thing of each kind, and calls in many traces, some of a hundred kilobytes. */
async function fill(place: Place, calls = 300): Promise<void> {
  const closing: (() => Promise<void>)[] = []
  const database = await openRecord({ ...place, queryTimeoutMs: 30_000 })
  const opened = await openApp({ after: (close) => closing.push(close) }, { database })
  await storeOneOfEach(opened, project, keys.alice)
  for (let at = 0; at < calls; at += 100) {
    const batch = Array.from({ length: Math.min(100, calls - at) }, (_, n) =>
      completeOf({
        project_id: project,
        inputs: { text: 'wörds 😀 '.repeat(n % 20 === 0 ? 8_000 : 1), number: n + at, big: '\u0000\ud800' },
        output: [0.1 + n, null, true],
      }),
    )
    const { status, text } = await opened.post(`/v2/${project}/calls/complete`, { batch })
    assert.equal(status, 200, text)
  }
  for (const close of closing) await close()
}

/** All tables except those about how the record was opened, and what is not copied: the index of words and sums of calls. */
async function contents(db: Database): Promise<Record<string, string[]>> {
  const all = await dumpOf(db, () => false, [])
  return Object.fromEntries(
    Object.entries(all).filter(([name]) => !/^(heddle|search|call_sum)_|^call_sums$/.test(name)),
  )
}

const copying = (from: string) => ({ from, signal: new AbortController().signal, report: () => {} })

test('a record is copied from SQLite to PostgreSQL and back without loss', async (t) => {
  const [first, last] = [await newFolder(t), await newFolder(t)]
  const url = await postgres.createDatabase()
  await fill(sqliteIn(first))
  const environment = { HEDDLE_DATA: first }
  const there = await runCommand(['db', 'copy', url], environment)
  assert.equal(there.code, 0, there.err)
  assert.match(there.out, /^calls: 301 rows$/m)
  assert.match(
    there.out,
    /^PostgreSQL at 127\.0\.0\.1:\d+\/heddle_\d+ now contains everything from .*: \d+ rows\.$/m,
  )
  assert.doesNotMatch(there.out, new RegExp(new URL(url).password), 'without the password')
  const back = await runCommand(['db', 'copy', last], { HEDDLE_DATABASE_URL: url })
  assert.equal(back.code, 0, back.err)
  const [before, between, behind] = [
    await contents(await open(t, sqliteIn(first))),
    await contents(await open(t, postgresAt(url))),
    await contents(await open(t, sqliteIn(last))),
  ]
  assert.ok(
    Object.values(before).filter((rows) => rows.length > 0).length > 12,
    'the record has many kinds of things',
  )
  assert.deepEqual(behind, before)
  assert.equal(await hasUnread(await open(t, sqliteIn(last))), true, 'words are indexed again')
  assert.deepEqual(Object.keys(between).sort(), Object.keys(before).sort())
  for (const [table, rows] of Object.entries(before)) assert.equal(between[table]?.length, rows.length, table)
})

test('an interrupted copy is not a record yet, and continues where it stopped', async (t) => {
  const [from, to] = [await newFolder(t), await newFolder(t)]
  await fill(sqliteIn(from))
  const child = heddle(['db', 'copy', to], { HEDDLE_DATA: from })
  await once(child.stdout as NodeJS.ReadableStream, 'data')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const served = await runCommand(['db', 'check'], { HEDDLE_DATA: to })
  assert.equal(served.code, 3)
  assert.match(served.err, /only a part of a copy of .*heddle-test-.* Run the same `heddle db copy` again/)
  const another = await newFolder(t)
  await fill(sqliteIn(another), 0)
  const mixed = await runCommand(['db', 'copy', to], { HEDDLE_DATA: another })
  assert.equal(mixed.code, 3)
  assert.match(mixed.err, /part of a copy of .*, not of /)
  const again = await runCommand(['db', 'copy', to], { HEDDLE_DATA: from })
  assert.equal(again.code, 0, again.err)
  assert.deepEqual(await contents(await open(t, sqliteIn(to))), await contents(await open(t, sqliteIn(from))))
})

test('what changed in the part that was already copied is copied again', async (t) => {
  const folder = await newFolder(t)
  await fill(sqliteIn(folder), 20)
  const source = await open(t, sqliteIn(folder))
  const target = await open(t, postgresAt(await postgres.createDatabase()))
  const stopped = {
    ...copying('here'),
    report: () => {
      throw new Error('stopped')
    },
  }
  await assert.rejects(copyRecord(source, target, stopped), /stopped/)
  const rows = [[project, 'z-last', 'not what the source says']]
  const table = { name: 'object_tags', columns: ['project_id', 'object_id', 'digest', 'tag'], key: [] }
  await target.write('copyRows', { table, rows: rows.map((row) => [...row, 'tag']) })
  await copyRecord(source, target, copying('here'))
  const tags = rawSql('SELECT project_id, object_id, digest, tag FROM object_tags')
  assert.deepEqual(await target.all(tags), await source.all(tags))
})

test('a copy only writes into an empty record', async (t) => {
  const [from, to] = [await newFolder(t), await newFolder(t)]
  await fill(sqliteIn(from), 0)
  await fill(sqliteIn(to), 0)
  const before = await contents(await open(t, sqliteIn(to)))
  const refused = await runCommand(['db', 'copy', to], { HEDDLE_DATA: from })
  assert.equal(refused.code, 3)
  assert.match(
    refused.err,
    /The target already has a record: its table \w+ has rows\. A copy needs an empty record\./,
  )
  assert.deepEqual(await contents(await open(t, sqliteIn(to))), before)
  const onto = await runCommand(['db', 'copy', join(from, '.')], { HEDDLE_DATA: from })
  assert.equal(onto.code, 2)
  const nothing = await newFolder(t)
  assert.equal((await runCommand(['db', 'copy', to], { HEDDLE_DATA: nothing })).code, 3)
  assert.equal((await runCommand(['db', 'copy'], { HEDDLE_DATA: from })).code, 2)
  const unreachable = await runCommand(['db', 'copy', 'postgres://127.0.0.1:1/none'], { HEDDLE_DATA: from })
  assert.equal(unreachable.code, 3)
  assert.equal((await (await open(t, sqliteIn(from))).all(sql`SELECT 1 AS one FROM users`)).length, 0)
})
