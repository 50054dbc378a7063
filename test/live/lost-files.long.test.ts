import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openSqlite } from '../../src/storage/engines/sqlite/open.ts'
import { sqliteFile } from '../../src/storage/open.ts'
import { startPart, streamOfCalls } from '../support/call-parts.ts'
import { project, startOf } from '../support/calls.ts'
import { newFolder, type RunningServer, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const [code, status] = ['storage_replaced', 503]

/** A server on its own folder, to which four clients write until they are refused. */
async function writingServer(t: TestContext) {
  const parent = await newFolder(t)
  const folder = join(parent, 'data')
  const server = await startServer(t, { HEDDLE_DATA: folder })
  const acknowledged: string[] = []
  async function write(): Promise<void> {
    for (;;) {
      const id = randomUUID()
      const answer = await server.post('/call/start', { start: startOf({ id }) })
      if (answer.status !== 200) {
        assert.deepEqual([answer.status, ((await answer.json()) as { code: string }).code], [status, code])
        return
      }
      await answer.text()
      acknowledged.push(id)
    }
  }
  const writing = [write(), write(), write(), write()]
  await until('some are written', () => acknowledged.length >= 40)
  return { parent, folder, server, acknowledged, written: Promise.all(writing) }
}

/** All reads and writes are refused, one log line says why, and the server stays up until it is stopped. */
async function refusesAll(server: RunningServer, id: string, says: RegExp): Promise<void> {
  const body = { project_id: project, id }
  await until('reads are refused', async () => (await server.post('/call/read', body)).status === status)
  for (const ask of [
    () => server.post('/call/start', { start: startOf() }),
    () => server.post('/call/read', { project_id: project, id }),
    () => server.post('/calls/stream_query', { project_id: project }),
    () => server.post('/calls/query_stats', { project_id: project }),
    () => server.get('/ready'),
  ]) {
    const answer = await ask()
    assert.deepEqual([answer.status, ((await answer.json()) as { code: string }).code], [status, code])
  }
  assert.equal((await server.get('/health')).status, 200)
  const loud = server.log.map((line) => JSON.parse(line)).filter(({ level }) => level > 30)
  assert.equal(loud.length, 1, JSON.stringify(loud))
  assert.equal(loud[0].level, 60)
  assert.match(loud[0].msg, says)
  assert.match(loud[0].msg, /HEDDLE_DATA.*restart the server/)
}

async function idsIn(t: TestContext, folder: string): Promise<Set<string>> {
  const server = await startServer(t, { HEDDLE_DATA: folder })
  const answer = await server.post('/calls/stream_query', { project_id: project, columns: ['id'] })
  const lines = (await answer.text()).split('\n').filter(Boolean)
  assert.equal(await server.end('SIGTERM'), 0)
  return new Set(lines.map((line) => (JSON.parse(line) as { id: string }).id))
}

function holdsAll(ids: Set<string>, acknowledged: readonly string[]): void {
  assert.deepEqual(
    acknowledged.filter((id) => !ids.has(id)),
    [],
  )
}

const first = (ids: readonly string[]) => ids[0] as string

test('a data folder is removed: no lost write is acknowledged', async (t) => {
  const { folder, server, acknowledged, written } = await writingServer(t)
  rmSync(folder, { recursive: true })
  await written
  // The files are removed one by one, and the server may notice any of them first.
  await refusesAll(server, first(acknowledged), /heddle\.db(-wal|-shm)? is gone/)
  assert.equal(await server.end('SIGTERM'), 0)
})

test('a data folder is renamed: it has everything that was acknowledged', async (t) => {
  const { folder, server, acknowledged, written } = await writingServer(t)
  renameSync(folder, `${folder}-moved`)
  await written
  await refusesAll(server, first(acknowledged), /heddle\.db is gone/)
  await server.end('SIGKILL')
  holdsAll(await idsIn(t, `${folder}-moved`), acknowledged)
})

test('a data folder is renamed: a read that opens the record afterwards is refused as the others are', async (t) => {
  const folder = join(await newFolder(t), 'data')
  const told: string[] = []
  const record = await openSqlite({ file: sqliteFile(folder), onLost: (text) => told.push(text) })
  t.after(() => record.close())
  renameSync(folder, `${folder}-moved`)
  await assert.rejects(streamOfCalls(record, project)[Symbol.asyncIterator]().next(), { code })
  assert.equal(told.length, 1)
})

test('the data folder is replaced: the new one is neither written nor read', async (t) => {
  const { parent, folder, server, acknowledged, written } = await writingServer(t)
  const other = join(parent, 'other')
  mkdirSync(other)
  const record = await openSqlite({ file: sqliteFile(other) })
  await record.write('upsertCalls', [startPart(project, 'foreign', {})])
  await record.close()
  const bytes = readFileSync(sqliteFile(other))
  renameSync(folder, `${folder}-moved`)
  renameSync(other, folder)
  await written
  await refusesAll(server, first(acknowledged), /heddle\.db is now a different file/)
  assert.equal(await server.end('SIGTERM'), 0)
  assert.deepEqual(readdirSync(folder), ['heddle.db'])
  assert.deepEqual(readFileSync(sqliteFile(folder)), bytes)
  holdsAll(await idsIn(t, `${folder}-moved`), acknowledged)
})

test('a backup replaces the database', async (t) => {
  const { folder, server, acknowledged, written } = await writingServer(t)
  const copy = join(folder, 'restored.db')
  copyFileSync(sqliteFile(folder), copy)
  renameSync(copy, sqliteFile(folder))
  await written
  await refusesAll(server, first(acknowledged), /heddle\.db is now a different file/)
  assert.equal(await server.end('SIGTERM'), 0)
})

for (const suffix of ['-wal', '-shm']) {
  test(`a ${suffix} is removed: a kill loses nothing that was acknowledged`, async (t) => {
    const { folder, server, acknowledged, written } = await writingServer(t)
    rmSync(`${sqliteFile(folder)}${suffix}`)
    await written
    await refusesAll(server, first(acknowledged), new RegExp(`heddle\\.db${suffix} is gone`))
    await server.end('SIGKILL')
    holdsAll(await idsIn(t, folder), acknowledged)
  })
}

test('a -wal is removed while no client writes: a probe detects it, and a kill loses nothing', async (t) => {
  const folder = await newFolder(t)
  const server = await startServer(t, { HEDDLE_DATA: folder })
  const start = startOf()
  assert.equal((await server.post('/call/start', { start })).status, 200)
  rmSync(`${sqliteFile(folder)}-wal`)
  await refusesAll(server, start.id, /heddle\.db-wal is gone/)
  await server.end('SIGKILL')
  holdsAll(await idsIn(t, folder), [start.id])
})
