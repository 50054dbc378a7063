import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { keys, users } from '../support/app.ts'
import { completeOf, project } from '../support/calls.ts'
import { runCommand } from '../support/commands.ts'
import { type FakeUpstream, startFakeUpstream, streamWords } from '../support/fake-upstream.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { queueOf } from '../support/queues.ts'
import { newFolder, type RunningServer, startOne } from '../support/server.ts'
import { until, withTimeout } from '../support/wait.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const clock = new URL('../support/shifted-clock.mjs', import.meta.url).href

let postgres: TestPostgres
before(async () => {
  postgres = await startPostgres()
})
after(() => postgres.stop())

// biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
async function ok(server: RunningServer, url: string, body: object, key?: string): Promise<any> {
  const answer = await server.post(url, { project_id: project, ...body }, { ...(key && { key }) })
  const text = await answer.text()
  assert.equal(answer.status, 200, `${url}: ${text}`)
  return JSON.parse(text || 'null')
}

async function cluster(t: { after(end: () => unknown): void }, upstream?: FakeUpstream) {
  const url = await postgres.createDatabase()
  const base = { HEDDLE_DATABASE_URL: url, HEDDLE_USERS: users, HEDDLE_MODEL: upstream?.url ?? 'none' }
  return {
    base,
    start: async (shift: number) =>
      startOne(t, {
        ...base,
        HEDDLE_DATA: await newFolder(t),
        TEST_CLOCK_SHIFT: `${shift}`,
        NODE_OPTIONS: `--import ${clock}`,
      }),
  }
}

const timeOf = (server: RunningServer) => (JSON.parse(server.log.at(-1) ?? '{}') as { time: number }).time

test('a server with a wrong clock neither drops calls and leases too early nor keeps expired ones', async (t) => {
  const { base, start } = await cluster(t)
  const ahead = await start(day + hour)
  const kept = completeOf({ expire_at: new Date(Date.now() + hour).toISOString() })
  const over = completeOf({ expire_at: new Date(Date.now() - minute).toISOString() })
  await ok(ahead, `/v2/${project}/calls/complete`, { batch: [kept, over] })
  const database = new pg.Client({ connectionString: base.HEDDLE_DATABASE_URL })
  await database.connect()
  t.after(() => database.end())
  const swept = 'SELECT 1 FROM calls WHERE id = $1 AND swept_at IS NOT NULL'
  // No other server runs that could sweep.
  await until('it has swept', async () => (await database.query(swept, [over.id])).rowCount === 1)
  const read = async (server: RunningServer, id: string) =>
    (await server.post('/call/read', { project_id: project, id })).status

  const right = await start(0)
  const behind = await start(-day)
  for (const server of [right, behind, ahead]) {
    assert.deepEqual([await read(server, kept.id), await read(server, over.id)], [200, 404])
  }

  // A lease lasts on all servers as long as its holder was told, and ends on all of them.
  const queue = (await ok(right, '/annotation_queues', queueOf())).id
  await ok(right, `/annotation_queues/${queue}/items`, { call_ids: [kept.id] })
  const next = async (server: RunningServer, key: string, lease_seconds: number) =>
    (await ok(server, `/annotation_queues/${queue}/next`, { lease_seconds }, key)).item
  for (const giving of [ahead, behind, right]) {
    const item = await next(giving, keys.alice, 900)
    assert.ok(item, 'the item is free')
    for (const server of [ahead, behind, right]) assert.equal(await next(server, keys.root, 1), null)
    await ok(behind, `/annotation_queues/${queue}/items/${item.id}/release`, {})
    assert.ok(await next(giving, keys.root, 1))
    await until('the lease is over', async () => (await next(behind, keys.alice, 1)) !== null)
    await ok(right, `/annotation_queues/${queue}/items/${item.id}/release`, {})
    await until('and nobody else has it', async () => (await next(ahead, keys.alice, 1)) !== null)
    await ok(right, `/annotation_queues/${queue}/items/${item.id}/release`, {})
  }

  // The clock is set while the server runs.
  const wrong = Date.now() + hour
  ahead.process.kill('SIGUSR2')
  await until('the clock was set', async () => {
    await read(ahead, kept.id)
    return timeOf(ahead) < wrong + hour
  })
  assert.ok(await next(ahead, keys.alice, 900))
  for (const server of [right, behind]) assert.equal(await next(server, keys.root, 1), null)
  assert.deepEqual([await read(ahead, kept.id), await read(ahead, over.id)], [200, 404])
})

test('servers with wrong clocks count the requests of a user together', async (t) => {
  const held: (() => void)[] = []
  const upstream = await startFakeUpstream(t, (response, asked) => {
    held.push(() => streamWords('Well')(response, asked))
  })
  const { base, start } = await cluster(t, upstream)
  const servers = [await start(day + hour), await start(0), await start(-hour)]
  for (const server of servers) {
    await until('the model is reached', async () => (await server.get('/ready')).status === 200)
  }
  const limit = await runCommand(['user', 'set', 'alice', '--at-once', '1'], base)
  assert.equal(limit.code, 0, limit.err)
  const status = async (server: RunningServer) => (await server.get('/me')).status
  /** A request that another server has just answered may still count for a moment. */
  const ask = async (server: RunningServer) => {
    const body = { model: 'far', messages: [{ role: 'user', content: 'Hm' }] }
    for (;;) {
      const answer = await server.post('/v1/chat/completions', body)
      if (answer.status !== 429) return answer
    }
  }
  for (const [index, server] of servers.entries()) {
    const asking = ask(server)
    await until('it is asked', () => held.length === index + 1)
    for (const other of servers.filter((one) => one !== server))
      await until('the others know', async () => (await status(other)) === 429)
    held.at(-1)?.()
    assert.equal((await withTimeout('an answer', asking)).status, 200)
  }
})
