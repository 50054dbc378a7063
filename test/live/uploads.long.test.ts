import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { digestOf, openDigest } from '../../src/domain/digests.ts'
import { pieceBytes } from '../../src/storage/objects/files.ts'
import { sql } from '../../src/storage/sql/sql.ts'
import { basic, keys, openApp, type TestApp } from '../support/app.ts'
import { project } from '../support/calls.ts'
import { boundary, fileForm, formType } from '../support/forms.ts'
import { rawPost } from '../support/raw-client.ts'
import { newFolder, startServer } from '../support/server.ts'
import { until, withTimeout } from '../support/wait.ts'

const huge = 200 * 1024 * 1024

async function openPort(t: TestContext): Promise<TestApp & { port: number }> {
  const opened = await openApp(t)
  const address = await opened.app.listen({ port: 0, host: '127.0.0.1' })
  return { ...opened, port: Number(new URL(address).port) }
}

/** Announces a form that is much longer than what is sent. */
async function beginForm(port: number, authorization?: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  // A client that is refused while it sends may be cut off; the tests check what has arrived.
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(
    [
      'POST /file/create HTTP/1.1',
      'Host: 127.0.0.1',
      `Content-Type: ${formType}`,
      `Content-Length: ${huge}`,
      ...(authorization === undefined ? [] : [`Authorization: ${authorization}`]),
      '\r\n',
    ].join('\r\n'),
  )
  return socket
}

function beginningOf(projectId: string): Buffer {
  const whole = fileForm(projectId, '')
  return whole.subarray(0, whole.lastIndexOf(`\r\n--${boundary}--`))
}

async function statusOf(socket: Socket): Promise<string> {
  const [data] = (await withTimeout('an answer', once(socket, 'data'))) as [Buffer]
  return data.toString('latin1').split('\r\n', 1)[0] as string
}

async function piecesOf({ database }: TestApp): Promise<number> {
  const row = await database.get<{ n: number }>(sql`SELECT count(*) AS n FROM file_pieces`)
  return row?.n ?? -1
}

async function uploadsOf({ database }: TestApp): Promise<number> {
  const row = await database.get<{ n: number }>(sql`SELECT count(*) AS n FROM file_uploads`)
  return row?.n ?? -1
}

test('an upload without credentials is refused before its body is sent', async (t) => {
  const { port } = await openPort(t)
  for (const authorization of [undefined, basic('wrong-secret-key')]) {
    const socket = await beginForm(port, authorization)
    assert.equal(await statusOf(socket), 'HTTP/1.1 401 Unauthorized')
    socket.destroy()
  }
})

test('an upload into a project of another tenant is refused before its file is sent', async (t) => {
  const opened = await openPort(t)
  const socket = await beginForm(opened.port, basic(keys.alice))
  socket.write(beginningOf('globex/qa'))
  assert.equal(await statusOf(socket), 'HTTP/1.1 403 Forbidden')
  socket.destroy()
  assert.equal(await uploadsOf(opened), 0)
})

test('a client that disconnects during an upload leaves nothing behind', async (t) => {
  const opened = await openPort(t)
  for (const pieces of [1, 5]) {
    const socket = await beginForm(opened.port, basic(keys.alice))
    socket.write(beginningOf(project))
    socket.write(Buffer.alloc((pieces + 1) * pieceBytes, 'x'))
    await until('pieces are written', async () => (await piecesOf(opened)) >= pieces)
    socket.destroy()
    await until('nothing is left', async () => (await piecesOf(opened)) + (await uploadsOf(opened)) === 0)
  }
  const files = await opened.post('/files/query_stats', { project_id: project })
  assert.deepEqual(files.json, { total_size_bytes: 0 })
})

test('a form that is cut off after its file stores nothing', async (t) => {
  const opened = await openPort(t)
  const socket = await beginForm(opened.port, basic(keys.alice))
  socket.write(beginningOf(project))
  socket.write(Buffer.alloc(2 * pieceBytes, 'x'))
  socket.write(`\r\n--${boundary}`)
  await until('pieces are written', async () => (await piecesOf(opened)) > 0)
  socket.end()
  await until('nothing is left', async () => (await piecesOf(opened)) + (await uploadsOf(opened)) === 0)
  const digest = digestOf(Buffer.alloc(2 * pieceBytes, 'x'))
  assert.equal((await opened.post('/file/content', { project_id: project, digest })).status, 404)
})

test('large files are uploaded and downloaded, and slow readers delay no other client', async (t) => {
  const server = await startServer(t, { HEDDLE_DATA: await newFolder(t) })
  const bytes = Buffer.alloc(24 * 1024 * 1024)
  for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE(at, at)
  const form = new FormData()
  form.append('project_id', project)
  form.append('file', new Blob([bytes]), 'blob')
  const authorization = basic(keys.alice)
  const sent = await fetch(`${server.address}/file/create`, {
    method: 'POST',
    headers: { authorization },
    body: form,
  })
  const digest = digestOf(bytes)
  assert.deepEqual(await sent.json(), { digest })

  const content = { project_id: project, digest }
  const slow = await Promise.all(
    Array.from({ length: 8 }, () => rawPost(server.address, '/file/content', content)),
  )
  for (const reader of slow) await reader.begun()
  const found = await server.post('/file/content', content)
  assert.equal(found.headers.get('content-length'), String(bytes.length))
  const read = openDigest()
  for await (const piece of found.body as unknown as AsyncIterable<Uint8Array>) read.add(piece)
  assert.equal(read.end(), digest)
  const table = { project_id: project, rows: [{ x: 1 }] }
  const { digest: rows } = (await (await server.post('/table/create', { table })).json()) as {
    digest: string
  }
  assert.equal((await server.post('/table/query', { project_id: project, digest: rows })).status, 200)
  for (const { socket } of slow) socket.destroy()
  assert.equal(await server.end('SIGTERM'), 0)
})
