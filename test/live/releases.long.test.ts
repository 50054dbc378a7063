import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import pg from 'pg'
import { parseLossless } from '../../packages/json/index.ts'
import { buildApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import type { Database } from '../../src/storage/database.ts'
import { loadMigrations } from '../../src/storage/engines/migrations.ts'
import { migratePostgres } from '../../src/storage/engines/postgres/migrate.ts'
import { checkSqlite } from '../../src/storage/engines/sqlite/maintenance.ts'
import { openRecord, sqliteFile } from '../../src/storage/open.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { newFolder } from '../support/server.ts'

const fixtures = new URL('../fixtures/', import.meta.url)
const releases = readdirSync(fixtures).flatMap((name) => /^release-(.+)\.json\.gz$/.exec(name)?.[1] ?? [])

const contentOf = (release: string, ending: string) =>
  gunzipSync(readFileSync(new URL(`release-${release}.${ending}.gz`, fixtures)))

interface Looked {
  method: 'GET' | 'POST' | 'PUT'
  url: string
  body?: string
  answer: string
}

/** The file that test/fixtures/write-release.ts wrote. */
interface Release {
  project: string
  key: string
  postgres_schema: number
  sqlite: Looked[]
  postgres: Looked[]
}

const readRelease = (release: string) => JSON.parse(contentOf(release, 'json').toString()) as Release

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** The current value, without members that the release did not have. */
function known(then: unknown, now: unknown): unknown {
  if (Array.isArray(then) && Array.isArray(now))
    return now.map((one, at) => (at < then.length ? known(then[at], one) : one))
  if (!isObject(then) || !isObject(now)) return now
  const of = (name: string) => {
    // A lease expires after a quarter of an hour.
    if (name === 'lease') return then.lease
    // That of an item was the time when it was added; now it follows the state.
    const { annotation_state_changed_at: changed } = now
    if (name === 'updated_at' && changed != null && now.updated_at === changed) return then.updated_at
    return known(then[name], now[name])
  }
  return Object.fromEntries(Object.keys(then).map((name) => [name, of(name)]))
}

/** Members that 0.1 returned whatever `columns` named; now they are null, as in Weave, unless they are named. */
const onlyIfNamed = ['parent_id', 'thread_id', 'turn_id', 'expire_at'].concat(
  ['user_id', 'run_id', 'run_step', 'run_step_end'].map((name) => `svc_${name}`),
)

function asNamed(then: unknown, body: string | undefined): unknown {
  const { columns } = JSON.parse(body ?? '{}') as { columns?: string[] }
  if (columns === undefined || !isObject(then)) return then
  const unnamed = onlyIfNamed.filter((name) => name in then && !columns.includes(name))
  return { ...then, ...Object.fromEntries(unnamed.map((name) => [name, null])) }
}

/** Checks that every answer of the release is still given; there may be more members. */
async function saysTheSame(
  db: Database,
  { key, project }: Release,
  looked: readonly Looked[],
): Promise<void> {
  const users = `ann:${key}:acme`
  const app = await buildApp(readConfig({ HEDDLE_MAX_LOOP_DELAY: '0', HEDDLE_USERS: users }), {
    database: db,
    sweep: false,
  })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  try {
    for (const { method, url, body, answer } of looked) {
      const said = await app.inject({ method, url, headers, ...(body !== undefined && { payload: body }) })
      assert.equal(said.statusCode, 200, `${url}: ${said.body}`)
      const [then = [], now = []] = [answer, said.body].map((text) => text.trim().split('\n'))
      assert.equal(now.length, then.length, `${url} ${body}`)
      for (const [at, line] of then.entries()) {
        const was = asNamed(parseLossless(line), body)
        assert.deepEqual(known(was, parseLossless(now[at] as string)), was, `${url} ${body}`)
      }
    }
    const read = await app.inject({
      method: 'POST',
      url: '/calls/query_stats',
      headers,
      payload: { project_id: project },
    })
    assert.ok((read.json() as { count: number }).count > 150, 'there was something to compare')
  } finally {
    await app.close()
    await db.close()
  }
}

describe('P10: this version reads what a released version wrote, and gives the same answers', () => {
  let server: TestPostgres
  before(async () => {
    server = await startPostgres()
  })
  after(() => server.stop())

  test('there are records of releases', () => assert.ok(releases.includes('0.1.0')))

  for (const release of releases) {
    test(`${release} on SQLite`, async (t) => {
      const folder = await newFolder(t)
      writeFileSync(sqliteFile(folder), contentOf(release, 'sqlite'))
      const written = readRelease(release)
      await saysTheSame(
        await openRecord({ databaseUrl: '', folder, queryTimeoutMs: 60_000 }),
        written,
        written.sqlite,
      )
      assert.deepEqual(checkSqlite(sqliteFile(folder)), [])
    })

    test(`${release} on PostgreSQL`, async () => {
      const databaseUrl = await server.createDatabase()
      const written = readRelease(release)
      const migrations = loadMigrations('postgres').slice(0, written.postgres_schema)
      await migratePostgres(databaseUrl, migrations, { connectTimeoutMs: 5_000, lockTimeoutMs: 60_000 })
      const client = new pg.Client({ connectionString: databaseUrl })
      await client.connect()
      await client.query(contentOf(release, 'sql').toString())
      await client.end()
      const db = await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 })
      await saysTheSame(db, written, written.postgres)
    })
  }
})
