import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { now } from '../../src/domain/time.ts'
import type { Database } from '../../src/storage/database.ts'
import { openRecord } from '../../src/storage/open.ts'
import { keys } from '../support/app.ts'
import { endOf, startOf } from '../support/calls.ts'
import { runCommand } from '../support/commands.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { newFolder, startOne } from '../support/server.ts'
import { until } from '../support/wait.ts'

let postgres: TestPostgres
before(async () => {
  postgres = await startPostgres()
})
after(() => postgres.stop())

test('two servers on one record share revoked keys, limits and leases', async (t) => {
  const settings = { HEDDLE_DATABASE_URL: await postgres.createDatabase() }
  const [one, other] = await Promise.all([
    startOne(t, { ...settings, HEDDLE_DATA: await newFolder(t) }),
    startOne(t, { ...settings, HEDDLE_DATA: await newFolder(t) }),
  ])
  const project_id = 'acme/cluster'
  const made = await one.post('/users', { name: 'carol', entities: ['acme'] }, { key: keys.root })
  const { id, key } = ((await made.json()) as { key: { id: string; key: string } }).key
  assert.equal((await other.get('/me', key)).status, 200)

  // An item that one server leases is not given out by the other.
  const calls = Array.from({ length: 10 }, () => startOf({ project_id }))
  for (const start of calls) {
    assert.equal((await one.post('/call/start', { start })).status, 200)
    assert.equal((await other.post('/call/end', { end: endOf(start.id, { project_id }) })).status, 200)
  }
  const queue = (await (
    await one.post('/annotation_queues', { project_id, name: 'both', scorer_refs: [] })
  ).json()) as { id: string }
  const of = `/annotation_queues/${queue.id}`
  await other.post(`${of}/items`, { project_id, call_ids: calls.map(({ id }) => id) })
  const taken = await Promise.all(
    Array.from({ length: 10 }, async (_, n) => {
      const asked = await (n % 2 ? one : other).post(
        `${of}/next`,
        { project_id },
        { key: n < 5 ? keys.alice : key },
      )
      return ((await asked.json()) as { item: { id: string } | null }).item?.id
    }),
  )
  const [alices, carols] = [taken.slice(0, 5), taken.slice(5)]
  assert.ok(!alices.some((id) => carols.includes(id)), 'no item is leased to two reviewers')

  const limit = await runCommand(['user', 'set', 'carol', '--requests-per-minute', '30'], settings)
  assert.equal(limit.code, 0, limit.err)
  await until('the limit is known', async () =>
    (await one.get('/me', key)).headers.has('x-ratelimit-limit-requests'),
  )
  for (let n = 0; n < 20; n++) await one.get('/me', key)
  const leftOf = async (server: typeof one) =>
    Number((await server.get('/me', key)).headers.get('x-ratelimit-remaining-requests'))
  await until('the other server knows what was spent here', async () => (await leftOf(other)) < 12, 3_000)
  let served = 0
  for (let n = 0; n < 30; n++) if ((await other.get('/me', key)).status === 200) served++
  assert.ok(served < 15, `${served} of 30 more were served`)

  const revoked = await runCommand(['key', 'revoke', id], settings)
  assert.equal(revoked.code, 0, revoked.err)
  for (const server of [one, other]) assert.equal((await server.get('/me', key)).status, 401)
})

async function open(t: { after(end: () => unknown): void }, databaseUrl: string): Promise<Database> {
  const db = await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 30_000 })
  t.after(() => db.close())
  return db
}

test('background work on the record runs in one process, and continues in another when that one ends', async (t) => {
  const url = await postgres.createDatabase()
  const db = await open(t, url)
  const expired = {
    project_id: 'acme/qa',
    id: '0194c1a0-0000-7000-8000-000000000001',
    display_name: null,
  }
  const start = {
    trace_id: expired.id,
    parent_id: null,
    thread_id: null,
    turn_id: null,
    op_name: 'a',
    started_at: 1,
  }
  const more = {
    user_id: 'a',
    run_id: null,
    run_step: null,
    expire_at: 2,
    start_bytes: 4,
    attributes: '{}',
    inputs: '{}',
  }
  await db.write('upsertCalls', [{ ...expired, start: { ...start, ...more } }])
  const sweep = () => db.write('sweepCalls', { now: now(), forgetBefore: 0, limit: 10, bytes: 1e6 })

  const holder = new pg.Client({ connectionString: url })
  holder.on('error', () => undefined)
  await holder.connect()
  await holder.query('BEGIN')
  await holder.query(
    "SELECT pg_advisory_xact_lock(hashtextextended('the sweep of calls', 1751475308)), pg_advisory_xact_lock(hashtextextended('deriving', 1751475308))",
  )
  assert.equal(await sweep(), 0, 'another process has the lock')
  assert.equal(await db.write('deriveNext', { limit: 10, now: now() }), false)
  // Like a killed process: nothing is sent on the connection.
  ;(holder as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
  await until('the sweep goes on', async () => (await sweep()) > 0)
})

test('the usage of users with limits is one sum over all servers', async (t) => {
  const folder = await newFolder(t)
  const inFile = await openRecord({ databaseUrl: '', folder, queryTimeoutMs: 30_000 })
  t.after(() => inFile.close())
  for (const db of [inFile, await open(t, await postgres.createDatabase())]) {
    const at = now()
    const tell = (holder: string, more: number, running: number, later = 0) =>
      db.write('shareSpending', {
        holder,
        now: at + later,
        users: [
          {
            user: 'ann',
            requests: { more, perMinute: 60 },
            tokens: { more: 10 * more, perMinute: null },
            running,
          },
        ],
      })
    assert.deepEqual(await tell('one', 5, 2), [{ user: 'ann', requests: 5, tokens: 0, elsewhere: 0 }])
    assert.deepEqual(await tell('other', 3, 1), [{ user: 'ann', requests: 8, tokens: 0, elsewhere: 2 }])
    assert.deepEqual(await tell('one', 0, 2, 1_000_000), [
      { user: 'ann', requests: 7, tokens: 0, elsewhere: 1 },
    ])
    // A clock that is behind subtracts nothing, and a server that stops reporting has no requests.
    assert.deepEqual(await tell('other', 1, 0, 500_000), [
      { user: 'ann', requests: 8, tokens: 0, elsewhere: 2 },
    ])
    assert.deepEqual(await tell('other', 0, 0, 5_000_000), [
      { user: 'ann', requests: 4, tokens: 0, elsewhere: 0 },
    ])
  }
})
