import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import { factColumns } from '../../src/storage/calls/columns.ts'
import { sqliteFile } from '../../src/storage/open.ts'
import { completeOf } from '../support/calls.ts'
import { limitFileSize } from '../support/limited-disk.ts'
import { startPostgres } from '../support/postgres.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { newFolder, type RunningServer, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { campaign } from './campaign/length.ts'
import { createMixedWrites } from './campaign/mixed-writes.ts'

/** Calls of an older version have no facts: the first server that opens the record derives them in the background. */
const columns = [...factColumns('start'), ...factColumns('end')]
const cleared = columns.map((column) => `${column} = NULL`).join(', ')
const begin = "INSERT INTO facts_backfill (id, at_project, at_call) VALUES (1, '', '')"
const factsOf = `SELECT id, ${columns.join(', ')} FROM calls WHERE op_name = 'of old' ORDER BY id`
const count = 1_500

type Row = Record<string, unknown>

async function writeCalls(server: RunningServer): Promise<void> {
  for (let from = 0; from < count; from += 250) {
    const batch = Array.from({ length: 250 }, (_, n) =>
      completeOf({
        op_name: 'of old',
        inputs: { model: 'small', prompt: `${from + n} ${'x'.repeat(4_000)}` },
        output: { choices: [{ text: `answer ${from + n}` }] },
        summary: { usage: { small: { prompt_tokens: n, completion_tokens: 1 } } },
      }),
    )
    const answer = await server.post('/v2/acme/qa/calls/complete', { batch })
    assert.equal(answer.status, 200, await answer.text())
  }
}

/** A record as an older version left it, and the facts that its calls should get. */
async function oldRecord(t: TestContext): Promise<{ folder: string; facts: Row[] }> {
  const folder = await newFolder(t)
  const server = await startServer(t, { HEDDLE_DATA: folder })
  await writeCalls(server)
  assert.equal(await server.end('SIGTERM'), 0)
  const file = new Sqlite(sqliteFile(folder))
  const facts = file.prepare<[], Row>(factsOf).all()
  assert.equal(facts.length, count)
  file.exec(`UPDATE calls SET ${cleared}; ${begin}`)
  file.close()
  return { folder, facts }
}

function reading<T>(folder: string, read: (file: Sqlite.Database) => T): T {
  const file = new Sqlite(sqliteFile(folder), { readonly: true })
  try {
    return read(file)
  } finally {
    file.close()
  }
}

const isDone = (folder: string) =>
  reading(folder, (file) => file.prepare('SELECT * FROM facts_backfill').get() === undefined)

const assertFacts = (folder: string, facts: readonly Row[]) =>
  reading(folder, (file) => assert.deepEqual(file.prepare<[], Row>(factsOf).all(), facts))

test(`an old record is upgraded completely by servers that are killed on the way (seed ${campaign.seed})`, async (t) => {
  const random = seededRandom(campaign.seed)
  const { folder, facts } = await oldRecord(t)
  const writes = createMixedWrites(random)
  for (let round = 0; round < 2 + 2 * campaign.faults && !isDone(folder); round++) {
    const server = await startServer(t, { HEDDLE_DATA: folder })
    let isOver = false
    const writer = async () => {
      while (!isOver) await writes.write(server)
    }
    const writers = Array.from({ length: 4 }, writer)
    await sleep(450 + random() * 400)
    await server.end('SIGKILL')
    isOver = true
    await Promise.all(writers)
  }
  const server = await startServer(t, { HEDDLE_DATA: folder })
  await until('everything is read', () => isDone(folder))
  assertFacts(folder, facts)
  await writes.assertAllThere(server)
  assert.equal(await server.end('SIGTERM'), 0)
})

test('an old record on a full disk is upgraded when there is space', async (t) => {
  const { folder, facts } = await oldRecord(t)
  const kilobytes = Math.ceil(statSync(sqliteFile(folder)).size / 1024)
  // The log alone would grow larger than this.
  const limit = limitFileSize(Math.ceil(kilobytes / 8))
  if (limit === undefined) return t.skip('this system has no limits for files')
  const server = await startServer(t, { HEDDLE_DATA: folder }, limit.before)
  const writes = createMixedWrites(seededRandom(campaign.seed))
  const deadline = performance.now() + 5_000
  while (performance.now() < deadline) {
    await writes.write(server)
    const answer = await server.post('/views/calls', { project_id: 'acme/qa', limit: 5 })
    assert.ok([200, 503].includes(answer.status), `${answer.status} ${await answer.text()}`)
  }
  assert.equal((await server.get('/health')).status, 200)
  assert.equal(isDone(folder), false)
  limit.lift(server.process.pid as number)
  await until('writes are taken', async () => (await writes.write(server)) === 'acknowledged')
  await until('everything is read', () => isDone(folder))
  assertFacts(folder, facts)
  await writes.assertAllThere(server)
  assert.equal(await server.end('SIGTERM'), 0)
})

async function writeToBoth(servers: readonly RunningServer[], isDone: () => boolean | Promise<boolean>) {
  const writes = createMixedWrites(seededRandom(campaign.seed))
  let isOver = false
  const writers = servers.map(async (server) => {
    while (!isOver) await writes.write(server)
  })
  await until('everything is read', isDone).finally(() => {
    isOver = true
  })
  await Promise.all(writers)
  for (const server of servers) await writes.assertAllThere(server)
}

test('two servers upgrade one old record at once, in one folder', async (t) => {
  const { folder, facts } = await oldRecord(t)
  const servers = await Promise.all([1, 2].map(() => startServer(t, { HEDDLE_DATA: folder })))
  await writeToBoth(servers, () => isDone(folder))
  assertFacts(folder, facts)
  for (const server of servers) assert.equal(await server.end('SIGTERM'), 0)
})

test('two servers upgrade one old record at once, in one PostgreSQL, and one of them is killed', async (t) => {
  const postgres = await startPostgres()
  let client: pg.Client | undefined
  t.after(async () => {
    await client?.end()
    await postgres.stop()
  })
  const url = await postgres.createDatabase()
  const settings = async () => ({ HEDDLE_DATA: await newFolder(t), HEDDLE_DATABASE_URL: url })
  const first = await startServer(t, await settings())
  await writeCalls(first)
  assert.equal(await first.end('SIGTERM'), 0)
  const reader = new pg.Client(url)
  await reader.connect()
  client = reader
  const facts = (await reader.query(factsOf)).rows
  assert.equal(facts.length, count)
  await reader.query(`UPDATE calls SET ${cleared}`)
  await reader.query(begin)
  const killed = await startServer(t, await settings())
  const servers = [await startServer(t, await settings()), await startServer(t, await settings())]
  await killed.end('SIGKILL')
  const isDone = async () => (await reader.query('SELECT 1 FROM facts_backfill')).rows.length === 0
  await writeToBoth(servers, isDone)
  assert.deepEqual((await reader.query(factsOf)).rows, facts)
  for (const server of servers) assert.equal(await server.end('SIGTERM'), 0)
})
