import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { parseLossless } from '../../packages/json/index.ts'
import { buildApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import type { App } from '../../src/http/contracts.ts'
import { sumAll } from '../../src/operations/calls/sums.ts'
import type { Database } from '../../src/storage/database.ts'
import { loadMigrations, type Migration } from '../../src/storage/engines/migrations.ts'
import { migratePostgres } from '../../src/storage/engines/postgres/migrate.ts'
import { connect } from '../../src/storage/engines/sqlite/connection.ts'
import { checkSqlite } from '../../src/storage/engines/sqlite/maintenance.ts'
import { migrateSqlite } from '../../src/storage/engines/sqlite/migrate.ts'
import { openSqlite } from '../../src/storage/engines/sqlite/open.ts'
import { openRecord, sqliteFile } from '../../src/storage/open.ts'
import type { Engine } from '../../src/storage/sql/dialect.ts'
import { sql } from '../../src/storage/sql/sql.ts'
import { boundTo } from '../../src/storage/transaction.ts'
import { listUsers } from '../../src/storage/users/users.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { newFolder } from '../support/server.ts'

const fixtures = new URL('../fixtures/', import.meta.url)
const names = readdirSync(fixtures)
  .filter((name) => /^record-\d{4}\.sqlite$/.test(name))
  .map((name) => name.replace('.sqlite', ''))
  .sort()

const textOf = (name: string) => readFileSync(new URL(name, fixtures), 'utf8')

type Thing = Record<string, unknown>

/** The file that test/fixtures/write-record.ts wrote. */
interface Expected {
  postgres_schema: number
  project: string
  key: string
  revoked_key: string
  users: Thing[]
  hidden: string[]
  prices: { results: Thing[] }
  calls: Thing[]
}

/** Checks that what was known then is the same now; later versions may return more. */
function sameAsThen(now: readonly Thing[], then: readonly Thing[]): void {
  const known = now.map((thing, i) =>
    Object.fromEntries(Object.keys(then[i] ?? thing).map((name) => [name, thing[name]])),
  )
  assert.deepEqual(known, then)
}

async function readsBack(db: Database, name: string): Promise<void> {
  try {
    await sumAll(boundTo(db, new AbortController().signal))
    assert.deepEqual(await db.all(sql`SELECT project_id FROM unsummed_projects`), [])
    const app = await buildApp(readConfig({ HEDDLE_MAX_LOOP_DELAY: '0' }), { database: db, sweep: false })
    await saysTheSame(app, db, parseLossless(textOf(`${name}.json`)) as Expected).finally(() => app.close())
  } finally {
    await db.close()
  }
}

async function saysTheSame(app: App, db: Database, expected: Expected): Promise<void> {
  const ask = (url: string, body: unknown, key = expected.key) =>
    app.inject({
      method: 'POST',
      url,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      payload: JSON.stringify(body),
    })

  const { project } = expected
  const calls = await ask('/calls/stream_query', {
    project_id: project,
    include_costs: true,
    include_storage_size: true,
  })
  const lines = calls.body.trim().split('\n')
  assert.equal(lines.length, expected.calls.length)
  sameAsThen(
    lines.map((line) => parseLossless(line) as Thing),
    expected.calls,
  )
  await hasFacts(db, (body) => ask('/views/calls', { project_id: project, ...body }), expected.calls)
  const prices = parseLossless((await ask('/cost/query', { project_id: project })).body) as Expected['prices']
  sameAsThen(prices.results, expected.prices.results)
  sameAsThen(
    (await listUsers(db)).map((user) => ({ ...user })),
    expected.users,
  )

  for (const id of expected.hidden)
    assert.equal((await ask('/call/read', { project_id: project, id })).statusCode, 404)
  assert.equal(
    (await ask('/calls/query_stats', { project_id: project }, expected.revoked_key)).statusCode,
    401,
  )
  assert.equal((await ask('/calls/query_stats', { project_id: 'other/one' })).statusCode, 403)

  // The record can be continued: a call that was running can be ended.
  const running = expected.calls.find((call) => call.ended_at === null)
  const end = { project_id: project, id: running?.id, ended_at: '2026-02-01T00:00:00Z', summary: {} }
  assert.equal((await ask('/call/end', { end })).statusCode, 200)
  const read = await ask('/call/read', { project_id: project, id: running?.id })
  assert.equal(read.json().call.ended_at, end.ended_at)
}

/** Lists show these calls like others once their facts have been derived, a few at a time. */
async function hasFacts(
  db: Database,
  ask: (body: object) => Promise<{ json(): Thing & { calls: Thing[] } }>,
  calls: readonly Thing[],
): Promise<void> {
  const statuses = async () => {
    const answer = (await ask({ sort_by: [{ field: 'started_at', direction: 'asc' }] })).json()
    for (const { input_preview } of answer.calls) assert.ok(input_preview)
    return { isDeriving: answer.is_deriving, statuses: answer.calls.map(({ id, status }) => [id, status]) }
  }
  const statusOf = ({ summary }: Thing) => (summary as { weave: Thing }).weave.status
  const before = calls.map((call) => [call.id, statusOf(call)])
  assert.deepEqual(await statuses(), { isDeriving: true, statuses: before })
  while (await db.writeInBackground('backfillFacts', { limit: 2, characters: 10 }));
  // A root whose trace has a failure says so, which it did not in the versions that wrote the records.
  const failed = new Set(
    calls.filter((call) => call.parent_id && statusOf(call) === 'error').map((call) => call.trace_id),
  )
  const after = calls.map((call) => {
    const isRootOfFailed = !call.parent_id && failed.has(call.trace_id) && statusOf(call) === 'success'
    return [call.id, isRootOfFailed ? 'descendant_error' : statusOf(call)]
  })
  assert.notDeepEqual(after, before)
  assert.deepEqual(await statuses(), { isDeriving: false, statuses: after })
  const ended = await db.all<Thing>(
    sql`SELECT status, op FROM calls WHERE ended_at IS NOT NULL AND started_at IS NOT NULL AND swept_at IS NULL`,
  )
  assert.ok(ended.length > 0)
  for (const one of ended) assert.ok(one.status && one.op)
}

/** The progress of annotators, as stored before it was counted. */
const progressBefore = ['completed', 'skipped', 'in_progress', 'completed'].map(
  (state, n) =>
    `INSERT INTO annotation_progress VALUES ('acme/qa', 'item ${n}', '${n < 3 ? 'ann' : 'bob'}', 'queue', '${state}', 1, 1)`,
)

const beforeTheCount = (engine: Engine) => earlierThan(engine, 'CREATE TABLE annotation_finished')

/** The migrations of the versions before the one that has this text. */
function earlierThan(engine: Engine, marker: string): Migration[] {
  const all = loadMigrations(engine)
  return all.slice(
    0,
    all.findIndex(({ text }) => text.includes(marker)),
  )
}

/** A conversation of which an earlier version showed the JSON. */
const oldPreview = (() => {
  const message = { message: { role: 'user', content: `Why? ${'x'.repeat(5000)}` } }
  const inputs = JSON.stringify({ value: { messages: [message] } })
  return `INSERT INTO calls (project_id, id, trace_id, op_name, started_at, inputs, start_bytes, end_bytes, input_preview, derivation)
    VALUES ('acme/qa', 'c', 't', 'chat', 1, '${inputs}', ${inputs.length}, 0, '${inputs.slice(0, 160)}', 1)`
})()

async function showsWords(db: Database): Promise<void> {
  while (await db.writeInBackground('backfillFacts', { limit: 2, characters: 10 }));
  const { input_preview } =
    (await db.get<Thing>(sql`SELECT input_preview FROM calls WHERE id = ${'c'}`)) ?? {}
  await db.close()
  assert.match(String(input_preview), /^Why\? x+$/)
}

async function countsWhatWasFinished(db: Database): Promise<void> {
  const counts = await db.all(
    sql`SELECT annotator, items FROM annotation_finished WHERE project_id = ${'acme/qa'} ORDER BY annotator`,
  )
  await db.close()
  assert.deepEqual(
    counts.map((row) => ({ ...(row as object) })),
    [
      { annotator: 'ann', items: 2 },
      { annotator: 'bob', items: 1 },
    ],
  )
}

describe('P10: a record of a released version opens in this one', () => {
  let server: TestPostgres
  before(async () => {
    server = await startPostgres()
  })
  after(() => server.stop())

  test('there are old records', () => {
    assert.ok(names.includes('record-0001'))
  })

  test('what annotators had finished is counted, in SQLite', async (t) => {
    const folder = await newFolder(t)
    const file = sqliteFile(folder)
    await (await openSqlite({ file, migrations: beforeTheCount('sqlite') })).close()
    const { handle, close } = connect(file, 'write')
    for (const insertion of progressBefore) handle.exec(insertion)
    close()
    await countsWhatWasFinished(await openRecord({ databaseUrl: '', folder, queryTimeoutMs: 60_000 }))
  })

  test('what annotators had finished is counted, in PostgreSQL', async () => {
    const databaseUrl = await server.createDatabase()
    const patience = { connectTimeoutMs: 5_000, lockTimeoutMs: 60_000 }
    await migratePostgres(databaseUrl, beforeTheCount('postgres'), patience)
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    for (const insertion of progressBefore) await client.query(insertion)
    await client.end()
    await countsWhatWasFinished(await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 }))
  })

  test('previews are derived again, in SQLite', async (t) => {
    const folder = await newFolder(t)
    const file = sqliteFile(folder)
    await (await openSqlite({ file, migrations: earlierThan('sqlite', 'previews that earlier') })).close()
    const { handle, close } = connect(file, 'write')
    handle.exec(oldPreview)
    close()
    await showsWords(await openRecord({ databaseUrl: '', folder, queryTimeoutMs: 60_000 }))
  })

  test('previews are derived again, in PostgreSQL', async () => {
    const databaseUrl = await server.createDatabase()
    const patience = { connectTimeoutMs: 5_000, lockTimeoutMs: 60_000 }
    await migratePostgres(databaseUrl, earlierThan('postgres', 'previews that earlier'), patience)
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    await client.query(oldPreview)
    await client.end()
    await showsWords(await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 }))
  })

  test('an incomplete copy is not mistaken for the saved one', async (t) => {
    const folder = await newFolder(t)
    const file = sqliteFile(folder)
    const known = loadMigrations('sqlite')
    const first = connect(file, 'write')
    migrateSqlite(first, file, known.slice(0, 1), 1)
    const prepare = first.handle.prepare.bind(first.handle)
    const cutShort = t.mock.method(first.handle, 'prepare', (text: string) => {
      if (!text.startsWith('VACUUM INTO')) return prepare(text)
      return {
        run(copy: string) {
          writeFileSync(copy, 'the beginning')
          throw new Error('cut short')
        },
      }
    })
    assert.throws(() => migrateSqlite(first, file, known, 2), /cut short/)
    assert.equal(cutShort.mock.callCount() > 0, true)
    first.close()
    await (await openSqlite({ file })).close()
    const aside = readdirSync(folder).filter((other) => other.includes('.before-'))
    assert.equal(aside.length, 1)
    assert.deepEqual(checkSqlite(`${folder}/${aside[0]}`), [])
  })

  for (const name of names) {
    test(`${name} in SQLite`, async (t) => {
      const folder = await newFolder(t)
      const file = sqliteFile(folder)
      cpSync(fileURLToPath(new URL(`${name}.sqlite`, fixtures)), file)
      const before = readFileSync(file)
      await readsBack(await openRecord({ databaseUrl: '', folder, queryTimeoutMs: 60_000 }), name)
      assert.deepEqual(checkSqlite(file), [])
      const aside = readdirSync(folder).filter((other) => other.includes('.before-'))
      const schema = Number(name.slice(-4))
      assert.equal(
        aside.length,
        schema < loadMigrations('sqlite').length ? 1 : 0,
        'a copy is saved before the migration',
      )
      assert.deepEqual(readFileSync(new URL(`${name}.sqlite`, fixtures)), before)
    })

    test(`${name} in PostgreSQL`, async () => {
      const databaseUrl = await server.createDatabase()
      const { postgres_schema } = JSON.parse(textOf(`${name}.json`)) as Expected
      const known = loadMigrations('postgres').slice(0, postgres_schema)
      await migratePostgres(databaseUrl, known, { connectTimeoutMs: 5_000, lockTimeoutMs: 60_000 })
      const client = new pg.Client({ connectionString: databaseUrl })
      await client.connect()
      await client.query(textOf(`${name}.sql`))
      await client.end()
      await readsBack(await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 }), name)
    })
  }
})
