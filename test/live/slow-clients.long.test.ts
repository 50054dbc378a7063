import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { buildApp } from '../../src/app.ts'
import { openRecord } from '../../src/storage/open.ts'
import { keys, testConfig } from '../support/app.ts'
import { project, startOf } from '../support/calls.ts'
import { canMeasureMemory, memoryOf, resetPeak } from '../support/process-memory.ts'
import { rawPost } from '../support/raw-client.ts'
import { type RunningServer, startServer } from '../support/server.ts'
import { withTimeout } from '../support/wait.ts'
import { writeLargeRecord } from './large-record.ts'

const megabytes = 900
const everything = { project_id: project }
const firstOnly = { project_id: project, limit: 1 }

/** The number of long reads of one tenant that run at once; others wait. */
const seats = 4

describe('clients that read slowly', () => {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-test-'))
  before(() => writeLargeRecord(folder, megabytes))
  after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

  /** Each of these requests is answered while another client is slow. */
  async function othersAreServed(server: RunningServer): Promise<void> {
    const start = startOf({ project_id: 'acme/other' })
    assert.equal((await server.post('/call/start', { start })).status, 200)
    const read = { project_id: 'acme/other', id: start.id }
    assert.equal((await server.post('/call/read', read)).status, 200)
    assert.equal((await server.get('/health')).status, 200)
  }

  test('and disconnect free their slots for waiting clients', async (t) => {
    const server = await startServer(t, { HEDDLE_DATA: folder })
    const query = '/calls/stream_query'
    const readers = await Promise.all(
      Array.from({ length: seats }, () => rawPost(server.address, query, everything)),
    )
    for (const reader of readers) await reader.begun()

    await othersAreServed(server)
    for (const { socket } of readers) socket.destroy()
    assert.equal((await server.post(query, firstOnly)).status, 200)

    // Repeatedly, to show that no reader is lost.
    for (let round = 0; round < 3 * seats; round++) {
      const reader = await rawPost(server.address, query, everything)
      await reader.begun()
      reader.socket.destroy()
    }
    assert.equal((await server.post(query, firstOnly)).status, 200)
    assert.equal(await server.end('SIGTERM'), 0)
  })

  test('and take nothing of their answers delay no other client, and lose nothing', async (t) => {
    const server = await startServer(t, { HEDDLE_DATA: folder })
    const query = '/calls/stream_query'
    const some = { project_id: project, limit: 30 }
    const readers = await Promise.all(
      Array.from({ length: 2 * seats }, () => rawPost(server.address, query, some, { keep: false })),
    )
    const began = performance.now()
    for (const reader of readers) await reader.begun()
    // As another tenant, and as the same tenant.
    const other = { ...firstOnly, project_id: 'globex/qa' }
    assert.equal((await server.post(query, other, { key: keys.bob })).status, 200)
    assert.equal((await server.post(query, firstOnly)).status, 200)
    const waited = performance.now() - began
    assert.ok(waited < 30_000, `no client was served for ${waited.toFixed(0)} ms`)
    for (const reader of readers) {
      const answer = await reader.answer()
      assert.ok(answer.length > 30 * 1_000_000, `${answer.length} bytes arrived`)
    }
    assert.equal(await server.end('SIGTERM'), 0)
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes('spool')),
      [],
    )
  })

  test('and disconnect while they wait leave the queue to other clients', async (t) => {
    const server = await startServer(t, { HEDDLE_DATA: folder })
    const query = '/calls/stream_query'
    const readers = await Promise.all(
      Array.from({ length: seats + 8 }, () => rawPost(server.address, query, everything)),
    )
    const begun = readers.map((reader) => reader.begun().then(() => reader))
    const first = new Set([await Promise.race(begun)])
    for (const reader of readers) if (!first.has(reader)) reader.socket.destroy()
    assert.equal((await server.post(query, firstOnly)).status, 200)
    for (const { socket } of first) socket.destroy()
    assert.equal(await server.end('SIGTERM'), 0)
  })

  test('and stop reading are cut off when their query is abandoned', async (t) => {
    const database = await openRecord({ databaseUrl: '', folder, queryTimeoutMs: 200 })
    t.after(() => database.close())
    const app = await buildApp(testConfig(), { database, sweep: false })
    t.after(() => app.close())
    const ended = new Promise<boolean>((resolve) => {
      app.server.once('request', (_, answer) => answer.once('close', () => resolve(answer.writableFinished)))
    })
    const address = await app.listen({ host: '127.0.0.1', port: 0 })
    const reader = await rawPost(address, '/calls/stream_query', everything)
    t.after(() => reader.socket.destroy())
    await reader.begun()
    assert.equal(await withTimeout('the answer ends while nobody reads it', ended), false)
  })

  test('neither make the server buffer unread answers nor delay other clients', async (t) => {
    if (!canMeasureMemory) return t.skip('there is no /proc to measure memory with')
    const server = await startServer(t, { HEDDLE_DATA: folder })
    const pid = server.process.pid as number
    // The first stream starts the thread of the reader and fills the caches.
    const warm = await server.post('/calls/stream_query', { ...everything, limit: 40 })
    await warm.text()
    await othersAreServed(server)
    const before = memoryOf(pid).now
    resetPeak(pid)

    const reader = await rawPost(server.address, '/calls/stream_query', everything, { keep: false })
    await reader.begun()
    for (let i = 0; i < 50; i++) await othersAreServed(server)
    let bytes = 0
    let nextPause = 0
    for await (const chunk of reader.socket as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes >= nextPause) {
        await othersAreServed(server)
        nextPause += 20_000_000
      }
    }
    assert.ok(bytes >= megabytes * 1_000_000, `everything arrived: ${bytes}`)
    const grown = memoryOf(pid).peak - before
    assert.ok(grown < megabytes / 2, `${grown.toFixed(0)} MB more than the ${before.toFixed(0)} MB before`)
    t.diagnostic(`${grown.toFixed(0)} MB more than the ${before.toFixed(0)} MB before`)
    assert.equal(await server.end('SIGTERM'), 0)
  })
})
