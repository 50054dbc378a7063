import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import perfHooks from 'node:perf_hooks'
import { pipeline } from 'node:stream/promises'
import { describe, mock, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { until, withTimeout } from '../support/wait.ts'

/** The simulated delay of the event loop, in milliseconds. */
let delay = 0

// The plugin that watches the event loop takes this function when it is loaded.
const { monitorEventLoopDelay } = perfHooks
mock.method(perfHooks, 'monitorEventLoopDelay', (...options: Parameters<typeof monitorEventLoopDelay>) =>
  Object.defineProperty(monitorEventLoopDelay(...options), 'mean', { get: () => (delay + 10) * 1e6 }),
)
const { basic, keys, openApp } = await import('../support/app.ts')
const { project, startOf } = await import('../support/calls.ts')
const { boundary, fileForm, formType } = await import('../support/forms.ts')

const megabyte = 1024 * 1024
const settings = { HEDDLE_BODY_LIMIT: String(8 * megabyte), HEDDLE_BODY_BUDGET: String(12 * megabyte) }

/** More than the kernel buffers for either side, and less than twice the limit. */
const long = 14 * megabyte

async function openPort(t: TestContext, more: Record<string, string> = {}) {
  const { app, post } = await openApp(t, { settings: { ...settings, ...more } })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const connections = promisify(app.server.getConnections.bind(app.server))
  const accepted: Socket[] = []
  app.server.on('connection', (socket: Socket) => accepted.push(socket))
  return { post, port: Number(new URL(address).port), connections, accepted }
}

interface Refused {
  path?: string
  headers?: readonly string[]
  begin?: string | Buffer
  /** Length of the whole body, which is sent in chunks if the length is not announced. */
  length?: number
  chunked?: boolean
  host?: readonly string[]
}

const asAlice = `Authorization: ${basic(keys.alice)}`
const json = 'Content-Type: application/json'

function* piecesOf({ path = '/call/start', headers = [asAlice, json], ...body }: Refused) {
  const { begin = '', length = long, chunked = false, host = ['Host: heddle'] } = body
  const size = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`
  yield [`POST ${path} HTTP/1.1`, ...host, size, ...headers, '', ''].join('\r\n')
  const piece = (bytes: string | Buffer) =>
    chunked ? Buffer.from(`${bytes.length.toString(16)}\r\n${bytes}\r\n`) : bytes
  if (begin.length > 0) yield piece(begin)
  for (let left = length - begin.length; left > 0; left -= megabyte)
    yield piece(' '.repeat(Math.min(left, megabyte)))
  if (chunked) yield '0\r\n\r\n'
}

function headOf(refused: Refused): string {
  return piecesOf(refused).next().value as string
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  await once(socket, 'connect')
  return socket
}

/** A client that reads nothing until it has sent everything. Fails when its connection is reset. */
async function answerAfterAll(port: number, refused: Refused): Promise<string> {
  const socket = await open(port)
  await withTimeout('everything is sent', pipeline(piecesOf(refused), socket, { end: false }))
  return answerOn(socket)
}

async function answerOn(socket: Socket): Promise<string> {
  let answer = ''
  for await (const piece of socket.setEncoding('latin1')) {
    answer += piece
    // The connection may stay open after the answer.
    const [, length] = /^content-length: (\d+)\r$/m.exec(answer) ?? []
    if (length && answer.length === answer.indexOf('\r\n\r\n') + 4 + Number(length)) break
  }
  socket.destroy()
  return answer
}

function assertRefused(answer: string, status: number, code: string): void {
  assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `))
  assert.equal(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))).code, code)
}

/** The beginning of a form of some megabytes, with the project first. */
const form = (projectId: string): Buffer =>
  fileForm(projectId, '').subarray(0, fileForm(projectId, '').lastIndexOf(`\r\n--${boundary}--`))

const refusals: Record<string, [status: number, code: string, refused: Refused]> = {
  'too long by its Content-Length': [413, 'body_too_large', {}],
  'found too long in the middle': [413, 'body_too_large', { chunked: true }],
  'without credentials': [401, 'not_authenticated', { headers: [json] }],
  'with a wrong key': [
    401,
    'wrong_credentials',
    { headers: [`Authorization: ${basic('wrong-secret-key')}`, json] },
  ],
  'on its last request': [413, 'body_too_large', { headers: [asAlice, json, 'Connection: close'] }],
  'to an unknown route': [404, 'route_not_found', { path: '/nothing' }],
  'to a route of another method': [405, 'method_not_allowed', { path: '/metrics' }],
  'of another type': [415, 'unsupported_media_type', { headers: [asAlice, 'Content-Type: text/plain'] }],
  'in an encoding that is not taken': [
    415,
    'unsupported_encoding',
    { headers: [asAlice, json, 'Content-Encoding: gzip'], length: 7 * megabyte },
  ],
  'without a Host': [400, 'malformed_http', { host: [] }],
  'with two Hosts': [400, 'malformed_http', { host: ['Host: heddle', 'host: another'] }],
  'in a transfer coding that nobody knows': [
    400,
    'malformed_http',
    { host: ['Host: heddle', 'Transfer-Encoding: gzip'], chunked: true },
  ],
  'with an expectation that nobody knows': [
    417,
    'unknown_expectation',
    { headers: [asAlice, json, 'Expect: miracles'] },
  ],
  'a form for another tenant': [
    403,
    'entity_forbidden',
    { path: '/file/create', headers: [asAlice, `Content-Type: ${formType}`], begin: form('globex/qa') },
  ],
  'a form without credentials': [
    401,
    'not_authenticated',
    { path: '/file/create', headers: [`Content-Type: ${formType}`], begin: form(project) },
  ],
  'a form whose file is too long': [
    413,
    'file_too_large',
    { path: '/file/create', headers: [asAlice, `Content-Type: ${formType}`], begin: form(project) },
  ],
}

async function assertAnswered(port: number, [status, code, refused]: (typeof refusals)[string]) {
  for (let round = 0; round < 3; round++)
    assertRefused(await withTimeout('an answer', answerAfterAll(port, refused)), status, code)
}

describe('a client that is refused while it sends gets its answer', () => {
  for (const [what, refusal] of Object.entries(refusals)) {
    test(`${refusal[0]}, ${what}`, async (t) => {
      const { port } = await openPort(t, { HEDDLE_FILE_LIMIT: String(megabyte) })
      await assertAnswered(port, refusal)
    })
  }

  test('429, while others use all the space', async (t) => {
    const { port, accepted } = await openPort(t)
    const other = await open(port)
    other.write(headOf({ length: 8 * megabyte }))
    other.write(' '.repeat(7 * megabyte))
    // If two arrive at once, either may be refused.
    await until('it has arrived', async () => (accepted[0]?.bytesRead ?? 0) > 7 * megabyte)
    // A stalled body would lose its space.
    const going = setInterval(() => other.write(' '.repeat(8192)), 100)
    t.after(() => clearInterval(going))
    const refused = { length: 7 * megabyte }
    await until('the room is taken', async () => / 429 /.test(await answerAfterAll(port, refused)))
    await assertAnswered(port, [429, 'queue_full', refused])
    other.destroy()
  })

  test('503, when the server is overloaded', async (t) => {
    delay = 60_000
    t.after(() => {
      delay = 0
    })
    const { port } = await openPort(t, { HEDDLE_MAX_LOOP_DELAY: '1000' })
    // It checks once a second.
    await until('the server sheds', async () => / 503 /.test(await answerAfterAll(port, { length: 1000 })))
    await assertAnswered(port, [503, 'too_busy', {}])
  })

  test('431 and 400, for invalid requests', async (t) => {
    const { port } = await openPort(t)
    for (const [status, code, sent] of [
      [431, 'headers_too_large', `GET / HTTP/1.1\r\nHost: heddle\r\nX-Long: ${'x'.repeat(megabyte / 2)}`],
      [431, 'headers_too_large', `GET /${'x'.repeat(megabyte / 2)}`],
      [400, 'malformed_http', `${'x'.repeat(megabyte / 2)}\r\n\r\n`],
      [400, 'malformed_http', `GET / HTTP/1.1\r\nHost : heddle\r\n\r\n${'x'.repeat(megabyte / 2)}`],
    ] as const) {
      const socket = await open(port)
      await withTimeout('everything is sent', pipeline([sent], socket, { end: false }))
      const answer = await withTimeout('an answer', answerOn(socket))
      assertRefused(answer, status, code)
      assert.match(answer, /^x-request-id: [\w-]+\r$/m)
    }
  })
})

test('the connection stays usable after a short body is refused', async (t) => {
  const { port } = await openPort(t)
  const socket = await open(port)
  socket.write([...piecesOf({ headers: [json], length: 1000 })].join(''))
  socket.write('GET /health HTTP/1.1\r\nHost: heddle\r\nConnection: close\r\n\r\n')
  let both = ''
  for await (const piece of socket.setEncoding('latin1')) both += piece
  assert.deepEqual(
    [...both.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status),
    ['401', '200'],
  )
})

test('an absolute URL is treated like its path', async (t) => {
  const { port } = await openPort(t)
  for (const [path, status, code] of [
    ['http://heddle/v1/chat/completions', 400, 'invalid_request'],
    ['HTTP://heddle:1/v1/chat/completions?a=http://b/c', 400, 'invalid_request'],
    ['https://heddle?a=/v1/chat/completions', 405, 'method_not_allowed'],
    ['http://heddle/v1/nothing', 404, 'route_not_found'],
  ] as const) {
    const answer = await answerAfterAll(port, { path, begin: '{}', length: 2 })
    const { error, code: own } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))
    assert.deepEqual([answer.slice(9, 12), error?.code ?? own], [String(status), code], path)
    assert.equal(error !== undefined, path.includes('/v1/') && !path.includes('?a=/'), path)
  }
})

test('a request after the last answer of a connection is not executed', async (t) => {
  const { port, post } = await openPort(t)
  const start = startOf()
  const body = JSON.stringify({ start })
  const socket = await open(port)
  const first = [...piecesOf({ headers: [json] })]
  const head = headOf({ length: body.length })
  await withTimeout('all is sent', pipeline([...first, head, body], socket, { end: false }))
  let answer = ''
  for await (const piece of socket.setEncoding('latin1')) answer += piece
  assertRefused(answer, 401, 'not_authenticated')
  assert.equal((await post('/call/read', { project_id: project, id: start.id })).status, 404)
})

describe('a client that is refused and does not stop', () => {
  const endless = { length: 1024 * megabyte }

  test('is cut off when it has sent twice the limit', async (t) => {
    const { port } = await openPort(t)
    const socket = await open(port)
    await assert.rejects(withTimeout('the connection is cut', pipeline(piecesOf(endless), socket)), {
      code: /^(EPIPE|ECONNRESET)$/,
    })
    assert.ok(socket.bytesWritten > 16 * megabyte && socket.bytesWritten < 200 * megabyte)
  })

  test('is cut off when it sends nothing more but stays connected', async (t) => {
    const { port, connections } = await openPort(t)
    const begun = [headOf(endless), headOf({ length: 100, headers: [json] }), 'x\r\n\r\n']
    const sockets = await Promise.all(
      begun.map(async (sent) => {
        const socket = await open(port)
        socket.write(sent)
        await withTimeout('the end of the answer', once(socket.resume(), 'end'))
        return socket
      }),
    )
    // The clients never close their side.
    await until('the connections are gone', async () => (await connections()) === 0)
    for (const socket of sockets) socket.destroy()
  })
})
