import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { buildApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { parseLossless } from '../../src/domain/lossless-json.ts'
import type { App } from '../../src/http/contracts.ts'
import type { Database } from '../../src/storage/database.ts'
import { loadMigrations } from '../../src/storage/migrations.ts'
import { openRecord, sqliteFile } from '../../src/storage/open.ts'
import { migratePostgres } from '../../src/storage/postgres/migrate.ts'
import { checkSqlite } from '../../src/storage/sqlite/maintenance.ts'
import { listUsers } from '../../src/storage/users.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { newFolder } from '../support/server.ts'

const fixtures = new URL('../fixtures/', import.meta.url)
const names = readdirSync(fixtures)
  .filter((name) => /^record-\d{4}\.sqlite$/.test(name))
  .map((name) => name.replace('.sqlite', ''))
  .sort()

const textOf = (name: string) => readFileSync(new URL(name, fixtures), 'utf8')

type Thing = Record<string, unknown>

/** What test/fixtures/write-record.ts wrote down. */
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

/** What was known then is the same now; later versions may say more. */
function sameAsThen(now: readonly Thing[], then: readonly Thing[]): void {
  const known = now.map((thing, i) =>
    Object.fromEntries(Object.keys(then[i] ?? thing).map((name) => [name, thing[name]])),
  )
  assert.deepEqual(known, then)
}

async function readsBack(db: Database, name: string): Promise<void> {
  try {
    const app = await buildApp(readConfig({}), { database: db, sweep: false })
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

  // And it goes on: a call that was running can be ended.
  const running = expected.calls.find((call) => call.ended_at === null)
  const end = { project_id: project, id: running?.id, ended_at: '2026-02-01T00:00:00Z', summary: {} }
  assert.equal((await ask('/call/end', { end })).statusCode, 200)
  const read = await ask('/call/read', { project_id: project, id: running?.id })
  assert.equal(read.json().call.ended_at, end.ended_at)
}

describe('P10: a record of a released version opens in this one', () => {
  let server: TestPostgres
  before(async () => {
    server = await startPostgres()
  })
  after(() => server.stop())

  test('there are some', () => {
    assert.ok(names.includes('record-0001'))
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
      assert.equal(aside.length, schema < loadMigrations('sqlite').length ? 1 : 0, 'a copy is set aside')
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
