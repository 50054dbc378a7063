import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { openPostgres } from '../../src/storage/engines/postgres/database.ts'
import { StorageRefusal } from '../../src/storage/failures.ts'
import { endOf, startOf } from '../support/calls.ts'
import { openEvents } from '../support/event-stream.ts'
import { startPgBouncer, type TestPgBouncer, withoutPgBouncer } from '../support/pgbouncer.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { newFolder, type RunningServer, startOne, type TestScope } from '../support/server.ts'
import { until } from '../support/wait.ts'

/** What is repeated, and with how many connections between the pooler and each database. */
const repeated: [connections: number, file: string][] = [
  [3, 'test/app/calls/stream-query-expression.test.ts'],
  [3, 'test/app/queues/next.test.ts'],
  [3, 'test/app/evaluations/results.test.ts'],
  [3, 'test/app/views/search.test.ts'],
  [3, 'test/live/queue-races.test.ts'],
  // Its long reads use all that they may.
  [12, 'test/live/postgres.test.ts'],
]
/** Statements have no names behind a pooler, and a pooler asks later than we do whether its database is back. */
const unlike = ['is prepared once', 'stopped server is reported', 'restart between two requests']

describe('PgBouncer in transaction mode, with the address of the database itself', {
  skip: withoutPgBouncer,
}, () => {
  let postgres: TestPostgres
  let pooler: TestPgBouncer
  before(async () => {
    postgres = await startPostgres()
    // Otherwise it asks every 15 seconds whether the database is back.
    const more = 'server_login_retry = 1'
    pooler = await startPgBouncer(postgres, { mode: 'transaction', connections: 3, more })
  })
  after(async () => {
    await pooler.stop()
    await postgres.stop()
  })

  /** With one long read each, so that both together leave one of the three connections. */
  async function startTwo(t: TestScope): Promise<[RunningServer, RunningServer]> {
    const directUrl = await postgres.createDatabase()
    const start = async () =>
      startOne(t, {
        HEDDLE_DATABASE_URL: pooler.through(directUrl),
        HEDDLE_DATABASE_DIRECT_URL: directUrl,
        HEDDLE_DATABASE_CONNECTIONS: '4',
        HEDDLE_DATA: await newFolder(t),
      })
    return [await start(), await start()]
  }

  const project_id = 'acme/pooled'
  async function store(server: RunningServer): Promise<string> {
    const start = startOf({ project_id })
    assert.equal((await server.post('/call/start', { start })).status, 200)
    assert.equal((await server.post('/call/end', { end: endOf(start.id, { project_id }) })).status, 200)
    return start.id
  }
  const idsIn = async (server: RunningServer) => {
    const answer = await server.post('/calls/stream_query', { project_id, columns: ['id'] })
    assert.equal(answer.status, 200)
    const lines = (await answer.text()).trim().split('\n')
    return lines.map((line) => (JSON.parse(line) as { id: string }).id).sort()
  }

  test('two servers write, read long answers and hear of what the other one wrote', async (t) => {
    const [one, other] = await startTwo(t)
    const events = await openEvents(t, other.address)
    const written: string[] = []
    let isHeard = false
    const heard = (async () => {
      for (let event = await events.next(); event !== undefined && !isHeard; event = await events.next()) {
        if (written.some((id) => JSON.stringify(event).includes(id))) isHeard = true
      }
    })()
    await until('a call is heard of by its id', async () => {
      written.push(await store(one))
      return isHeard
    })
    await heard
    const more = Array.from({ length: 60 }, (_, n) => store(n % 2 ? one : other))
    const reads = Array.from({ length: 12 }, (_, n) => idsIn(n % 2 ? one : other))
    written.push(...(await Promise.all(more)))
    await Promise.all(reads)
    for (const server of [one, other]) assert.deepEqual(await idsIn(server), written.toSorted())
  })

  test('the pooler and the database may end and come back', async (t) => {
    const [one, other] = await startTwo(t)
    const first = await store(one)
    for (const [end, back] of [
      [pooler.halt, pooler.resume],
      [postgres.halt, postgres.resume],
    ] as const) {
      await end()
      try {
        const refused = await one.post('/call/start', { start: startOf({ project_id }) })
        assert.equal(refused.status, 503)
        assert.match(String(refused.headers.get('retry-after')), /^\d+$/)
        await until('the other is not ready', async () => (await other.get('/ready')).status === 503)
      } finally {
        await back()
      }
      for (const server of [one, other]) {
        await until('the server is ready', async () => (await server.get('/ready')).status === 200)
        await until('it reads', async () => {
          const read = await server.post('/calls/query_stats', { project_id })
          await read.text()
          return read.status === 200
        })
      }
      assert.ok((await idsIn(other)).includes(first))
    }
  })

  test('the address of another database is refused', async () => {
    const [url, directUrl] = [await postgres.createDatabase(), await postgres.createDatabase()]
    await assert.rejects(
      openPostgres(pooler.through(url), { directUrl }),
      (error) =>
        error instanceof StorageRefusal &&
        /is not the database of HEDDLE_DATABASE_DIRECT_URL/.test(error.message),
    )
  })

  test('the address of a pooler is no address of the database itself', async () => {
    const url = pooler.through(await postgres.createDatabase())
    const directUrl = `${url}?application_name=another`
    await assert.rejects(openPostgres(url, { directUrl }), /behind a pooler in transaction or statement mode/)
  })

  test('statement mode is refused', async (t) => {
    const statements = await startPgBouncer(postgres, { mode: 'statement', connections: 3 })
    t.after(statements.stop)
    const directUrl = await postgres.createDatabase()
    await assert.rejects(openPostgres(statements.through(directUrl), { directUrl }), /refuses transactions/)
  })

  for (const [connections, file] of repeated) {
    test(`${file} holds`, async () => {
      const { NODE_TEST_CONTEXT: _, ...environment } = process.env
      const skipped = unlike.map((name) => `--test-skip-pattern=${name}`)
      const child = spawn(
        process.execPath,
        ['--import', './test/support/compile-cache.mjs', '--test', ...skipped, file],
        {
          env: {
            ...environment,
            HEDDLE_TEST_POOLED: String(connections),
            npm_lifecycle_event: 'test:postgres',
          },
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      )
      const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
      assert.equal(code, 0, output)
    })
  }
})
