import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import { sqliteFile } from '../../src/storage/open.ts'
import { keys, users } from '../support/app.ts'
import { project, startOf } from '../support/calls.ts'
import { rawPost, takesConnections } from '../support/raw-client.ts'
import { heddle, newFolder, type RunningServer, startServer } from '../support/server.ts'
import { until, withTimeout } from '../support/wait.ts'
import { writeLargeRecord } from './large-record.ts'

/** So long that it ends nothing in these tests, neither running requests nor idle connections. */
const endless = { HEDDLE_GRACE: '600000', HEDDLE_KEEP_ALIVE_TIMEOUT: '600000' }

/** The number of running requests in the metrics, including this one. */
async function running(server: RunningServer): Promise<number> {
  const figures = await (await server.get('/metrics', keys.root)).text()
  return Number(/^heddle_http_requests_running (\d+)$/m.exec(figures)?.[1])
}

/** Starts of calls whose last bytes are held back, and which the server has begun to read. */
async function halfSent(server: RunningServer, count: number) {
  const ids = Array.from({ length: count }, () => randomUUID())
  const requests = await Promise.all(
    ids.map((id) => rawPost(server.address, '/call/start', { start: startOf({ id }) }, { heldBack: 5 })),
  )
  await until('all requests are in work', async () => (await running(server)) === count + 1)
  return { ids, requests }
}

describe('a server that is told to stop', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`by ${signal} finishes running requests, accepts nothing new, and leaves one complete file`, async (t) => {
      const folder = await newFolder(t)
      const server = await startServer(t, { HEDDLE_DATA: folder, ...endless })
      const { ids, requests } = await halfSent(server, 10)
      const answers = requests.map((request) => request.answer())
      const ended = server.end(signal)
      await until('new connections are refused', async () => !(await takesConnections(server.address)))
      for (const { sendRest } of requests) sendRest()
      for (const answer of await Promise.all(answers)) assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/)
      assert.equal(await withTimeout('the server ends', ended), 0)
      const log = `${sqliteFile(folder)}-wal`
      assert.ok(!existsSync(log) || statSync(log).size === 0, 'the write-ahead log was emptied into the file')

      const again = await startServer(t, { HEDDLE_DATA: folder })
      for (const id of ids) {
        assert.equal((await again.post('/call/read', { project_id: project, id })).status, 200)
      }
      assert.equal(await again.end('SIGTERM'), 0)
    })
  }

  test('by SIGUSR2, which has another purpose, keeps running', async (t) => {
    const server = await startServer(t, { HEDDLE_DATA: await newFolder(t) })
    server.process.kill('SIGUSR2')
    // The event loop runs signal handlers before it accepts a connection that was opened after them.
    assert.equal((await server.post('/call/start', { start: startOf() })).status, 200)
    assert.equal((await server.get('/ready')).status, 200)
    assert.equal(await server.end('SIGTERM'), 0)
  })

  test('by a crash of native code ends at once', async (t) => {
    const server = await startServer(t, { HEDDLE_DATA: await newFolder(t) })
    assert.equal(await withTimeout('the server ends', server.end('SIGSEGV')), 'SIGSEGV')
  })

  test('twice ends at the second signal', async (t) => {
    const folder = await newFolder(t)
    const server = await startServer(t, { HEDDLE_DATA: folder, ...endless })
    const { requests } = await halfSent(server, 1)
    const ended = server.end('SIGTERM')
    await until('new connections are refused', async () => !(await takesConnections(server.address)))
    server.process.kill('SIGTERM')
    assert.equal(await withTimeout('the server ends', ended), 1)
    for (const { socket } of requests) socket.destroy()
  })

  test('cuts off requests that have not finished after the grace period', async (t) => {
    const folder = await newFolder(t)
    const server = await startServer(t, { HEDDLE_DATA: folder, HEDDLE_GRACE: '200' })
    const { ids, requests } = await halfSent(server, 3)
    assert.equal(await withTimeout('the server ends', server.end('SIGTERM')), 0)
    for (const request of requests) assert.equal(await request.answer(), '')
    const again = await startServer(t, { HEDDLE_DATA: folder })
    for (const id of ids) {
      assert.equal((await again.post('/call/read', { project_id: project, id })).status, 404)
    }
    assert.equal(await again.end('SIGTERM'), 0)
  })

  test('cuts off a client that does not read its answer', async (t) => {
    const folder = await newFolder(t)
    await writeLargeRecord(folder, 60)
    const server = await startServer(t, { HEDDLE_DATA: folder, HEDDLE_GRACE: '200' })
    const request = await rawPost(server.address, '/calls/stream_query', { project_id: project })
    await request.begun()
    assert.equal(await withTimeout('the server ends', server.end('SIGTERM')), 0)
    const answer = await request.answer()
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/)
    assert.ok(
      answer.length < 60_000_000 && !answer.endsWith('0\r\n\r\n'),
      'the answer shows that it is incomplete',
    )
  })

  test('as soon as its log says that it listens, exits with 0', async (t) => {
    const child = heddle(['serve'], { HEDDLE_DATA: await newFolder(t), HEDDLE_USERS: users })
    t.after(() => child.kill('SIGKILL'))
    const log = createInterface({ input: child.stdout as NodeJS.ReadableStream })
    log.on('line', (line) => {
      if (JSON.parse(line).msg === 'listening') child.kill('SIGTERM')
    })
    assert.deepEqual(await withTimeout('the server ends', once(child, 'close')), [0, null])
  })

  test('without clients exits with 0', async (t) => {
    const folder = await newFolder(t)
    const server = await startServer(t, { HEDDLE_DATA: folder })
    assert.equal(await withTimeout('the server ends', server.end('SIGTERM')), 0)
  })
})
