import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { basic, keys, openApp } from '../support/app.ts'
import { project, startOf } from '../support/calls.ts'
import { until, withTimeout } from '../support/wait.ts'

const megabyte = 1024 * 1024
const settings = { HEDDLE_BODY_LIMIT: String(8 * megabyte), HEDDLE_BODY_BUDGET: String(12 * megabyte) }

async function openPort(t: TestContext) {
  const sockets: Socket[] = []
  // Before closing the app, which waits for running requests.
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  const { app, post } = await openApp(t, { settings })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const port = Number(new URL(address).port)

  /** Begins a chunked body that does not end. */
  async function begin(key: string, bytes: number): Promise<{ socket: Socket; answer(): string }> {
    const connected = once(app.server, 'connection')
    const socket = connect({ port, host: '127.0.0.1' })
    sockets.push(socket)
    socket.on('error', () => undefined)
    const [accepted] = (await connected) as [Socket]
    let answer = ''
    socket.setEncoding('latin1').on('data', (piece) => {
      answer += piece
    })
    const head = [
      'POST /call/start HTTP/1.1',
      'Host: heddle',
      `Authorization: ${basic(key)}`,
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    socket.write(`${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n`)
    await until('the body arrives or is refused', () => accepted.bytesRead > bytes || answer !== '')
    return { socket, answer: () => answer }
  }

  const write = (bytes: number, key: string, project_id: string) =>
    withTimeout(
      'an answer',
      post('/call/start', JSON.stringify({ start: startOf({ project_id }) }).padEnd(bytes), key),
    )
  return { begin, write }
}

test('unfinished bodies of one tenant take no space from another', async (t) => {
  const { begin, write } = await openPort(t)
  for (let n = 0; n < 8; n++) await begin(keys.alice, 1_000)
  assert.equal((await write(8 * megabyte, keys.bob, 'globex/qa')).status, 200)
  assert.equal((await write(7 * megabyte, keys.alice, project)).status, 200)
})

test('a tenant that uses its whole share leaves space for another', async (t) => {
  const { begin, write } = await openPort(t)
  const bodies = []
  for (let n = 0; n < 4; n++) bodies.push(await begin(keys.alice, 4 * megabyte))
  const refused = bodies.filter(({ answer }) => answer().startsWith('HTTP/1.1 429'))
  assert.equal(refused.length, 2)
  assert.equal((await write(4 * megabyte - 100_000, keys.bob, 'globex/qa')).status, 200)
})

test('a body that arrives too slowly loses its space to others and is refused', async (t) => {
  const { begin, write } = await openPort(t)
  const slow = [await begin(keys.alice, 4 * megabyte), await begin(keys.alice, 4 * megabyte)]
  assert.equal((await write(7 * megabyte, keys.bob, 'globex/qa')).status, 429)
  const asked = performance.now()
  await until('the body is slow', () => performance.now() - asked > 4_000)
  assert.equal((await write(7 * megabyte, keys.bob, 'globex/qa')).status, 200)
  for (const { answer } of slow) {
    await until('the slow body is refused', () => answer().includes('request_too_slow'))
    assert.match(answer(), /^HTTP\/1.1 408 /)
  }
})
