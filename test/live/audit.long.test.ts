import assert from 'node:assert/strict'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import { openRecord } from '../../src/storage/open.ts'
import { keys } from '../support/app.ts'
import { completeOf, project } from '../support/calls.ts'
import { runCommand } from '../support/commands.ts'
import { startPostgres } from '../support/postgres.ts'
import { newFolder, startServer } from '../support/server.ts'

const tampering = [
  "UPDATE audit SET actor = 'bob'",
  'DELETE FROM audit',
  "DELETE FROM audit WHERE action = 'feedback.purge'",
  "INSERT INTO audit SELECT * FROM audit WHERE true ON CONFLICT (id) DO UPDATE SET actor = 'bob'",
]

const places = {
  async SQLite(t: TestContext) {
    const folder = await newFolder(t)
    const run = async (text: string) => {
      const db = new Sqlite(join(folder, 'heddle.db'))
      try {
        db.exec(text)
      } finally {
        db.close()
      }
    }
    return {
      place: { databaseUrl: '', folder },
      run,
      more: ['INSERT OR REPLACE INTO audit SELECT * FROM audit'],
    }
  },
  async PostgreSQL(t: TestContext) {
    const server = await startPostgres()
    t.after(() => server.stop())
    const databaseUrl = await server.createDatabase()
    const run = async (text: string) => {
      const client = new pg.Client(databaseUrl)
      await client.connect()
      await client.query(text).finally(() => client.end())
    }
    return { place: { databaseUrl, folder: '' }, run, more: ['TRUNCATE audit'] }
  },
}

for (const [name, open] of Object.entries(places)) {
  test(`${name} refuses to change the audit log`, async (t) => {
    const { place, run, more } = await open(t)
    const db = await openRecord({ ...place, queryTimeoutMs: 60_000 })
    const by = { via: 'http' as const, name: 'alice' }
    await db.write('removeFeedback', { project_id: 'acme/qa', ids: ['a'], by })
    await db.close()
    for (const text of [...tampering, ...more]) await assert.rejects(run(text), /the audit log is not/, text)
  })
}

interface Line {
  via: string
  actor: string
  action: string
  project_id: string | null
  count: number | null
  details: Record<string, unknown>
}

test('the audit log lists what was done on the command line and over HTTP', async (t) => {
  const HEDDLE_DATA = await newFolder(t)
  const secret = 'hf_a-token-of-nobody'
  const run = async (...args: string[]) => {
    const { code, out, err } = await runCommand(args, { HEDDLE_DATA })
    assert.equal(code, 0, err)
    return out
  }
  const made = (await run('user', 'add', 'ann', '--entities', 'acme', '--new')).trim()
  const added = (await run('key', 'add', 'ann')).trim()
  await run('user', 'set', 'ann', '--at-once', '7')
  const server = await startServer(t, { HEDDLE_DATA, HF_TOKEN: secret, HEDDLE_RETENTION_DAYS: '9' })
  const call = completeOf()
  await server.post('/v2/acme/qa/calls/complete', { batch: [call] }, { key: made })
  const gone = await server.post('/calls/delete', { project_id: project, call_ids: [call.id] }, { key: made })
  assert.equal(gone.status, 200)
  assert.equal(await server.end('SIGTERM'), 0)
  await run('user', 'remove', 'ann')

  const out = await run('audit', '--json')
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
  const me = userInfo().username
  assert.deepEqual(
    lines.map(({ via, actor, action }) => `${via}: ${actor} ${action}`),
    [
      `command line: ${me} user.add`,
      `command line: ${me} key.add`,
      `command line: ${me} user.set`,
      `start: ${me} server.start`,
      'http: ann calls.delete',
      `command line: ${me} user.remove`,
    ],
  )
  assert.deepEqual(lines[2]?.details, { user: 'ann', change: { requests_at_once: 7 } })
  const settings = lines[3]?.details.settings as Record<string, unknown>
  assert.equal(settings.retention_days, 9)
  assert.equal(settings.hf_token, '[redacted]')
  assert.deepEqual(settings.users, ['alice:acme', 'bob:globex', 'root:*'])
  assert.deepEqual([lines[4]?.project_id, lines[4]?.count], [project, 1])
  for (const hidden of [made, added, secret, ...Object.values(keys), String(call.id)]) {
    assert.ok(!out.includes(hidden), hidden)
  }
  const plain = await run('audit')
  assert.equal(plain.trim().split('\n').length, lines.length)
  assert.match(plain, /ann {2}calls\.delete {2}acme\/qa {2}1 ids/)
  assert.equal(await run('audit', '--json', '--to', '2020-01-01'), '')
  assert.equal((await runCommand(['audit', '--from', 'yesterday'], { HEDDLE_DATA })).code, 2)
})

test('usage is saved when the server stops, and is listed', async (t) => {
  const HEDDLE_DATA = await newFolder(t)
  for (let i = 0; i < 2; i++) {
    const server = await startServer(t, { HEDDLE_DATA })
    for (let n = 0; n < 3; n++) assert.equal((await server.get('/server_info')).status, 200)
    assert.equal(await server.end('SIGTERM'), 0)
  }
  const { out } = await runCommand(['usage', '--user', 'alice', '--json'], { HEDDLE_DATA })
  const days = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { user: string; requests: number })
  assert.deepEqual(new Set(days.map(({ user }) => user)), new Set(['alice']))
  // The test may run across midnight.
  assert.equal(
    days.reduce((sum, { requests }) => sum + requests, 0),
    6,
  )
  const table = await runCommand(['usage'], { HEDDLE_DATA })
  assert.match(table.out, /^day +user +requests +refused +prompt tokens +completion tokens\n/)
  assert.match(table.out, /alice +\d/)
})
