import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { basic, keys, openApp } from '../support/app.ts'
import { project, startOf } from '../support/calls.ts'
import { until, withTimeout } from '../support/wait.ts'

const large = 'x'.repeat(1024 * 1024)

async function openPort(t: TestContext) {
  const opened = await openApp(t)
  const address = await opened.app.listen({ port: 0, host: '127.0.0.1' })
  const start = startOf({ inputs: { large } })
  assert.equal((await opened.post('/call/start', { start })).status, 200)
  return {
    ...opened,
    bodies: {
      '/call/read': { project_id: project, id: start.id },
      '/calls/stream_query': { project_id: project, filter: { call_ids: [start.id] } },
    },
    async open() {
      const socket = connect(Number(new URL(address).port), '127.0.0.1')
      t.after(() => socket.destroy())
      socket.on('error', () => undefined)
      await once(socket, 'connect')
      return socket
    },
    /** The number of running requests, without this one. */
    async running(): Promise<number> {
      const { text } = await opened.get('/metrics', keys.root)
      return Number(/^heddle_http_requests_running (\d+)$/m.exec(text)?.[1]) - 1
    },
  }
}

function postOf(path: string, body: unknown): string {
  const text = JSON.stringify(body)
  return [
    `POST ${path} HTTP/1.1`,
    'Host: heddle',
    `Authorization: ${basic(keys.alice)}`,
    'Content-Type: application/json',
    `Content-Length: ${text.length}`,
    '',
    text,
  ].join('\r\n')
}

for (const path of ['/call/read', '/calls/stream_query'] as const) {
  test(`2,000 requests to ${path} whose answers are never read run one at a time`, async (t) => {
    const { open, bodies, running } = await openPort(t)
    const socket = await open()
    socket.write(postOf(path, bodies[path]).repeat(2_000))
    await once(socket, 'readable')
    assert.equal(await running(), 1)
    socket.destroy()
    await until('nothing is in work any more', async () => (await running()) === 0)
  })
}

test('thousands of requests that follow an unfinished one wait, and are all answered', async (t) => {
  const { open, running } = await openPort(t)
  const followers = 20_000
  const socket = await open()
  const gone = new Promise((resolve) => socket.once('close', resolve))
  const first = postOf('/call/start', { start: startOf() })
  socket.write(first.slice(0, -10))
  await until('the first is in work', async () => (await running()) === 1)
  socket.write(first.slice(-10) + 'GET /health HTTP/1.1\r\nHost: heddle\r\n\r\n'.repeat(followers))
  let answers = 0
  let rest = ''
  socket.setEncoding('latin1').on('data', (text: string) => {
    const lines = (rest + text).split('HTTP/1.1 200')
    answers += lines.length - 1
    rest = (lines.at(-1) ?? '').slice(-12)
    if (answers === followers + 1) socket.end()
  })
  await withTimeout('all answers', gone)
  assert.equal(answers, followers + 1)
  await until('nothing is in work any more', async () => (await running()) === 0)
})

for (const [why, head, body] of [
  ['the request is not JSON', '', '{'],
  ['the client asked to close the connection', 'Connection: close\r\n', JSON.stringify({ start: startOf() })],
] as const) {
  test(`requests after the last answer of a connection are not executed: ${why}`, async (t) => {
    const { open, post, running } = await openPort(t)
    const socket = await open()
    const gone = new Promise((resolve) => socket.once('close', resolve))
    const followers = Array.from({ length: 4 }, () => startOf())
    const last = postOf('/call/start', {}).replace(/Content-Length: .*/s, '')
    const bodies = followers.map((start) => postOf('/call/start', { start }))
    socket.resume().write(`${last}${head}Content-Length: ${body.length}\r\n\r\n${body}${bodies.join('')}`)
    await withTimeout('the end of the connection', gone)
    await until('nothing is in work any more', async () => (await running()) === 0)
    for (const { id } of followers)
      assert.equal((await post('/call/read', { project_id: project, id })).status, 404)
  })
}
