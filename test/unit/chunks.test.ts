import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { freeChunk } from '../../src/http/chunks.ts'

test('the memory of a chunk that a connection received is freed at once', async (t) => {
  const left: { before: number; after: number }[] = []
  const server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => {
      const before = chunk.length
      freeChunk(request, chunk)
      left.push({ before, after: chunk.length })
    })
    request.on('end', () => response.end())
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const body = Buffer.alloc(4 * 1024 * 1024)
  await (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body })).arrayBuffer()
  assert.equal(
    left.reduce((sum, { before }) => sum + before, 0),
    body.length,
  )
  const large = left.filter(({ before }) => before >= 16 * 1024)
  assert.ok(large.length > 0)
  assert.deepEqual(
    large.filter(({ after }) => after > 0),
    [],
  )
  assert.equal(body.length, 4 * 1024 * 1024)
})

test('a buffer that did not come from a connection is left unchanged', () => {
  const given = Buffer.alloc(64 * 1024, 'x')
  freeChunk(Readable.from([given]), given)
  assert.equal(given.toString(), 'x'.repeat(64 * 1024))
})
