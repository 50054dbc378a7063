import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import { sqliteFile } from '../../src/storage/open.ts'
import { keys } from '../support/app.ts'
import { runCommand } from '../support/commands.ts'
import { limitDiskSize } from '../support/limited-disk.ts'
import { startPostgres } from '../support/postgres.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { newFolder, type RunningServer, startServer } from '../support/server.ts'
import { until, withTimeout } from '../support/wait.ts'
import { campaign } from './campaign/length.ts'
import { createMixedWrites, type Outcome } from './campaign/mixed-writes.ts'

const writers = 8

/** A fault that occurs while a server writes, and its repair. */
interface Fault {
  server: RunningServer
  /** Begins while writes are in progress. */
  strike(server: RunningServer): unknown
  /** The outcome of writes once the fault has occurred. */
  meets: Exclude<Outcome, 'acknowledged'>
  /** Returns the server that continues. */
  mend(server: RunningServer): Promise<RunningServer>
  /** For the last check, after the server has ended. */
  settings: Record<string, string>
}

async function survives(fault: Fault, seed: number): Promise<void> {
  const random = seededRandom(seed)
  const writes = createMixedWrites(random)
  let { server } = fault
  for (let round = 0; round < campaign.faults; round++) {
    const target = writes.acknowledged.length + 40 + Math.floor(random() * 100)
    let struck: Promise<unknown> | undefined
    let isOver = false
    const writer = async () => {
      while (!isOver) {
        const outcome = await writes.write(server)
        if (writes.acknowledged.length >= target) struck ??= Promise.resolve(fault.strike(server))
        if (outcome === 'acknowledged') continue
        assert.ok(struck, `a write was ${outcome} before any fault`)
        if (outcome === fault.meets) isOver = true
      }
    }
    await withTimeout('the fault is met', Promise.all(Array.from({ length: writers }, writer)))
    await struck
    server = await fault.mend(server)
    await until('writes are taken again', async () => (await writes.write(server)) === 'acknowledged')
    assert.equal((await server.get('/ready')).status, 200)
    await writes.assertAllThere(server)
    await assertNoneOfOthers(server)
  }
  assert.equal(await server.end('SIGTERM'), 0)
  const { code, err } = await runCommand(['db', 'check'], fault.settings)
  assert.deepEqual([code, err], [0, ''])
}

/** Each tenant finds only the calls of its own projects. */
async function assertNoneOfOthers(server: RunningServer): Promise<void> {
  for (const [project_id, key] of [
    ['acme/qa', keys.alice],
    ['globex/qa', keys.bob],
  ] as const) {
    const answer = await server.post(
      '/calls/stream_query',
      { project_id, columns: ['id', 'project_id'] },
      { key },
    )
    assert.equal(answer.status, 200)
    for (const line of (await answer.text()).split('\n').filter(Boolean)) {
      assert.equal(JSON.parse(line).project_id, project_id)
    }
  }
}

function say(t: TestContext): void {
  t.diagnostic(`seed ${campaign.seed}`)
}

test('P1: a server that is killed in the middle of writes loses nothing that it acknowledged', async (t) => {
  say(t)
  const settings = { HEDDLE_DATA: await newFolder(t) }
  const server = await startServer(t, settings)
  const mend = () => startServer(t, settings)
  await survives(
    { server, settings, meets: 'cut off', strike: (it) => it.end('SIGKILL'), mend },
    campaign.seed,
  )
})

test('P1: on a full disk writes are refused, acknowledged ones are kept, and writing resumes when there is space', async (t) => {
  say(t)
  const folder = await newFolder(t)
  const disk = limitDiskSize(folder, 16 << 20)
  if (disk === undefined) return t.skip('this user may not mount a small disk')
  const settings = { HEDDLE_DATA: folder }
  const server = await startServer(t, settings, disk.before)
  const writes = createMixedWrites(seededRandom(campaign.seed))
  await until('the disk is full', async () => (await writes.write(server)) === 'refused', 300_000)
  await writes.assertAllThere(server)
  disk.lift(server.process.pid as number)
  await until('writes are taken again', async () => (await writes.write(server)) === 'acknowledged')
  await writes.assertAllThere(server)
  assert.equal(await server.end('SIGTERM'), 0)
})

test('P1: while another program locks the file writes are refused, and they resume when it is free', async (t) => {
  say(t)
  const settings = { HEDDLE_DATA: await newFolder(t) }
  const server = await startServer(t, settings)
  const other = new Sqlite(sqliteFile(settings.HEDDLE_DATA), { timeout: 60_000 })
  t.after(() => other.close())
  const fault: Fault = {
    server,
    settings,
    meets: 'refused',
    strike: () => other.exec('BEGIN IMMEDIATE'),
    async mend(it) {
      other.exec('ROLLBACK')
      return it
    },
  }
  await survives(fault, campaign.seed)
})

for (const how of ['crash', 'halt'] as const) {
  test(`P1: a PostgreSQL that stops (${how}) and restarts still has every acknowledged write`, async (t) => {
    say(t)
    const postgres = await startPostgres()
    t.after(() => postgres.stop())
    const settings = { HEDDLE_DATA: await newFolder(t), HEDDLE_DATABASE_URL: await postgres.createDatabase() }
    const server = await startServer(t, settings)
    const fault: Fault = {
      server,
      settings,
      meets: 'refused',
      strike: () => postgres[how](),
      async mend(it) {
        await postgres.resume()
        return it
      },
    }
    await survives(fault, campaign.seed)
  })
}
