import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { basic, keys, users } from '../support/app.ts'
import { startOf } from '../support/calls.ts'
import { heddle, newFolder, runHeddle, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

interface Line {
  level: number
  msg: string
  user?: string
  req?: { url: string }
  err?: unknown
}

const linesOf = (log: readonly string[]) => log.map((line) => JSON.parse(line) as Line)

const form = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nbegun'

test('a client that disconnects in the middle of its body is one log line and no error', async (t) => {
  const server = await startServer(t, { HEDDLE_DATA: await newFolder(t) })
  const { hostname, port } = new URL(server.address)
  const bodies = [
    ['/call/start', 'application/json', 'content-length: 5000', '{"start":'],
    ['/call/end', 'application/json', 'transfer-encoding: chunked', '9\r\n{"start":'],
    ['/files/create', 'multipart/form-data; boundary=x', 'content-length: 5000', form],
    ['/otel/v1/traces', 'application/x-protobuf', 'content-length: 5000', 'x'],
  ] as const
  for (const [url, type, length, begun] of bodies) {
    const socket = connect(Number(port), hostname)
    const head = `POST ${url} HTTP/1.1\r\nhost: x\r\nauthorization: ${basic(keys.alice)}`
    socket.write(`${head}\r\ncontent-type: ${type}\r\n${length}\r\n\r\n${begun}`)
    await once(socket, 'connect')
    // Once the next request is answered, the earlier bytes have been read.
    assert.equal((await server.get('/health')).status, 200)
    socket.resetAndDestroy()
    const left = () => linesOf(server.log).filter(({ req }) => req?.url === url)
    await until(`${url} is in the log`, () => left().length > 0)
  }
  assert.equal((await server.post('/call/start', { start: startOf() })).status, 200)
  assert.equal(await server.end('SIGTERM'), 0)
  const lines = linesOf(server.log)
  for (const [url] of bodies) {
    const about = lines.filter(({ req, msg }) => req?.url === url && msg !== 'request completed')
    assert.deepEqual(
      about.map(({ level, msg, user }) => [level, msg, user]),
      [[30, 'the client left before the end of its answer', 'alice']],
    )
  }
  assert.deepEqual(
    lines.filter(({ level, err }) => level > 30 || err !== undefined),
    [],
  )
})

test('a model that cannot be served is an error in the log, and the last words of the start', async (t) => {
  const settings = { HEDDLE_DATA: await newFolder(t), HEDDLE_MODEL: '/nowhere/m.gguf' }
  const server = await startServer(t, settings)
  const isSaid = ({ level, msg }: Line) => level === 50 && /^the model cannot be served: .*m\.gguf/.test(msg)
  await until('it is said', () => linesOf(server.log).some(isSaid))
  await until('the start ends', () => server.complaints.length > 0)
  assert.deepEqual(server.complaints, [
    `Heddle is up: ${server.address}/ui/ (its model cannot be served; the log says why)`,
  ])
  const answer = await server.post('/v1/completions', { prompt: 'x' })
  assert.equal(answer.status, 503)
  const again = () => linesOf(server.log).find(({ level }) => level === 40)
  await until('it is said again', () => again() !== undefined)
  assert.match(String(again()?.msg), /m\.gguf/)
  assert.equal(await server.end('SIGTERM'), 0)
})

describe('HEDDLE_LOG_FORMAT', () => {
  /** The output of the server from its start until it has stopped. */
  async function output(t: Parameters<typeof newFolder>[0], settings: Record<string, string>) {
    const given = { HEDDLE_DATA: await newFolder(t), HEDDLE_USERS: users, ...settings }
    const child = heddle(['serve'], given)
    t.after(() => child.kill('SIGKILL'))
    let out = ''
    child.stdout?.on('data', (data) => (out += data))
    await until('it listens', () => out.includes('listening'))
    child.kill('SIGTERM')
    // Its last lines may come after its exit.
    const [code] = await once(child, 'close')
    assert.equal(code, 0)
    return out.trim().split('\n')
  }

  test('auto is JSON without a terminal', async (t) => {
    for (const line of await output(t, {})) assert.equal(typeof JSON.parse(line), 'object')
  })

  test('pretty is plain text', async (t) => {
    const lines = await output(t, { HEDDLE_LOG_FORMAT: 'pretty' })
    assert.ok(lines.some((line) => /^\[\d\d:\d\d:\d\d\] INFO: listening \{"address":"http/.test(line)))
    assert.match(String(lines.at(-1)), /^\[\d\d:\d\d:\d\d\] INFO: stopped$/)
  })

  test('anything else is refused', async (t) => {
    const settings = { HEDDLE_DATA: await newFolder(t), HEDDLE_LOG_FORMAT: 'xml' }
    const { code, err } = await runHeddle(['serve'], settings)
    assert.equal(code, 2)
    assert.match(err, /^HEDDLE_LOG_FORMAT: .*"json".*\n$/)
  })
})
