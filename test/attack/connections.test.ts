import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { after, before, describe, type TestContext, test } from 'node:test'
import { basic, keys, openApp } from '../support/app.ts'
import { endOf, project, startOf } from '../support/calls.ts'
import { allDrivers } from '../support/drivers.ts'
import { withTimeout } from '../support/wait.ts'
import { hostileQueries } from './hostile-queries.ts'
import { aQuarterFrom, placesTakeTexts, textsAreBounded, textsAreTexts } from './hostile-requests.ts'

const postgres = allDrivers().find(({ name }) => name === 'PostgreSQL')
if (postgres === undefined) throw new Error('there is no PostgreSQL')

describe('on PostgreSQL', () => {
  before(postgres.start)
  after(postgres.stop)
  placesTakeTexts(postgres.open, aQuarterFrom(2))
  textsAreTexts(postgres.open)
  textsAreBounded(postgres.open)
  hostileQueries(postgres.open)
})

const asAlice = `Authorization: ${basic(keys.alice)}`
const asBob = `Authorization: ${basic(keys.bob)}`
const megabyte = 1024 * 1024

interface Port {
  /** Opens a connection and sends the text. */
  open(text: string | Buffer): Promise<Socket>
  /** The answer until the server closes the connection, which these requests ask for or cause. */
  exchange(text: string | Buffer): Promise<string>
  /** Checks that another client is served. */
  assertServes(): Promise<void>
  port: number
}

async function openPort(t: TestContext, settings: Record<string, string> = {}): Promise<Port> {
  const { app } = await openApp(t, { settings: { HEDDLE_DOCS: 'on', ...settings } })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const port = Number(new URL(address).port)
  async function open(text: string | Buffer): Promise<Socket> {
    const socket = connect(port, '127.0.0.1')
    t.after(() => socket.destroy())
    // A client that is refused while it sends may be cut off; the tests check what has arrived.
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    socket.write(text)
    return socket
  }
  return {
    port,
    open,
    exchange: async (text) => withTimeout('an answer', answerOf(await open(text))),
    async assertServes() {
      const answer = await fetch(`${address}/health`)
      assert.deepEqual([answer.status, await answer.json()], [200, { status: 'ok' }])
    },
  }
}

async function answerOf(socket: Socket): Promise<string> {
  let answer = ''
  socket.setEncoding('latin1').on('data', (data) => {
    answer += data
  })
  // Not with `once`: a socket that is cut off emits an error first.
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
  return answer
}

function statusesOf(answer: string): number[] {
  return [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
}

/** A request written by hand; its connection closes after the answer. */
function requestOf(line: string, headers: readonly string[], body = ''): string {
  return [line, 'Host: heddle', 'Connection: close', ...headers, '', body].join('\r\n')
}

function countOf(project_id: string, ...headers: string[]): string {
  const body = JSON.stringify({ project_id })
  const all = ['Content-Type: application/json', `Content-Length: ${body.length}`, ...headers]
  return requestOf('POST /calls/query_stats HTTP/1.1', all, body)
}

describe('headers', () => {
  const body = JSON.stringify({ project_id: project })
  const count = (headers: readonly string[], sent = body) =>
    requestOf(
      'POST /calls/query_stats HTTP/1.1',
      ['Content-Type: application/json', asAlice, ...headers],
      sent,
    )
  const length = `Content-Length: ${body.length}`
  const chunked = 'Transfer-Encoding: chunked'
  const chunkedBody = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  const many = (count: number) => Array.from({ length: count }, (_, n) => `X-${n}: y`)

  const refused: Record<string, [status: number, text: string]> = {
    'a credential of 100 kB': [
      431,
      requestOf('GET /metrics HTTP/1.1', [`Authorization: Basic ${'a'.repeat(100_000)}`]),
    ],
    'a name of 100 kB': [431, requestOf('GET /metrics HTTP/1.1', [`${'a'.repeat(100_000)}: b`])],
    'an address of 100 kB': [431, requestOf(`GET /${'a'.repeat(100_000)} HTTP/1.1`, [asAlice])],
    '10,000 of them': [431, requestOf('GET /metrics HTTP/1.1', many(10_000))],
    'a line feed alone': [400, requestOf('GET /metrics HTTP/1.1', [`X-Request-Id: a\n${asAlice}`])],
    'a carriage return alone': [400, requestOf('GET /metrics HTTP/1.1', [`X-Request-Id: a\r${asAlice}`])],
    'U+0000': [400, requestOf('GET /metrics HTTP/1.1', [asAlice, 'X-Request-Id: a\0b'])],
    'a space before the colon': [400, requestOf('GET /metrics HTTP/1.1', [asAlice.replace(':', ' :')])],
    'no host': [400, `GET /metrics HTTP/1.1\r\n${asAlice}\r\n\r\n`],
    'two lengths': [400, count([length, 'Content-Length: 0'])],
    'a length and chunks': [400, count([length, 'Transfer-Encoding: chunked'], `0\r\n\r\n${body}`)],
    'chunks that are not the last coding': [400, count(['Transfer-Encoding: chunked, identity'])],
    'a length below zero': [400, count(['Content-Length: -1'])],
    'a length with a sign': [400, count([`Content-Length: +${body.length}`])],
    'a length beyond 64 bits': [400, count([`Content-Length: ${'9'.repeat(30)}`])],
    'a length of a gibibyte': [413, count([`Content-Length: ${1024 * megabyte}`])],
    'a chunk beyond 64 bits': [400, count(['Transfer-Encoding: chunked'], `${'F'.repeat(17)}\r\n`)],
    'a chunk without a length': [400, count(['Transfer-Encoding: chunked'], `x\r\n${body}\r\n0\r\n\r\n`)],
    // What a proxy in front may read in another way (https://www.rfc-editor.org/rfc/rfc9112#section-11.2).
    'the same length twice': [400, count([length, length])],
    'a list of lengths': [400, count([`${length}, ${body.length}`])],
    'a length in hexadecimal digits': [400, count([`Content-Length: 0x${body.length.toString(16)}`])],
    'a length and chunks behind a tab': [400, count([length, 'Transfer-Encoding:\tchunked'])],
    'chunks behind U+000B': [400, count(['Transfer-Encoding: \x0bchunked'], chunkedBody)],
    'chunks twice': [400, count(['Transfer-Encoding: chunked, chunked'], chunkedBody)],
    'chunks, and on another line not': [
      400,
      count(['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], chunkedBody),
    ],
    'chunks of HTTP/1.0': [
      400,
      count([length, 'Transfer-Encoding: chunked'], chunkedBody).replace('HTTP/1.1', 'HTTP/1.0'),
    ],
    'a folded header': [400, count(['X-A: b\r\n c: d', length])],
    'a folded coding': [400, count([length, 'Transfer-Encoding:\r\n chunked'])],
    'line feeds alone everywhere': [400, count([length]).replaceAll('\r\n', '\n')],
    'a chunk whose extension ends with a line feed': [
      400,
      count([chunked], chunkedBody.replace('\r\n', ';a\n')),
    ],
    'a chunk that ends with a line feed': [400, count([chunked], chunkedBody.replace('}\r\n', '}\n'))],
    'a chunk of 0x': [400, count([chunked], `0x${chunkedBody}`)],
    'a chunk below zero': [400, count([chunked], '-1\r\n\r\n')],
    'a key behind the chunks': [
      401,
      count([chunked, 'Trailer: Authorization'], chunkedBody.replace(/\r\n$/, `${asAlice}\r\n\r\n`)).replace(
        `${asAlice}\r\n`,
        '',
      ),
    ],
    'an expectation that nobody knows': [417, count([length, 'Expect: miracles'])],
    'the preface of HTTP/2': [400, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    TLS: [400, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
    'nothing that is HTTP': [400, `${'x'.repeat(1_000)}\r\n\r\n`],
  }

  test('invalid requests are refused, and others are served', async (t) => {
    const { exchange, assertServes } = await openPort(t)
    for (const [what, [status, sent]] of Object.entries(refused)) {
      const answer = await exchange(Buffer.from(sent, 'latin1'))
      assert.deepEqual(statusesOf(answer), [status], `${what}: ${answer.slice(0, 300)}`)
      await assertServes()
    }
  })

  test('the first of two credentials counts, wherever they are among the headers', async (t) => {
    const { exchange } = await openPort(t)
    for (const [headers, status] of [
      [[asAlice, asBob], 200],
      [[asBob, asAlice], 403],
      [[...many(500), asAlice, asBob], 200],
      [['Authorization: ', asAlice], 401],
      [['Authorization: Basic x', asAlice], 401],
      [[asAlice.toLowerCase().replace('authorization', 'AUTHORIZATION')], 401],
      [[`Proxy-${asAlice}`], 401],
      [[`X-Original-${asAlice}`, 'X-Original-URL: /health', 'X-HTTP-Method-Override: GET'], 401],
      [[`wandb-api-key: ${keys.alice}`], 401],
    ] as const) {
      const answer = await exchange(countOf(project, ...headers))
      assert.deepEqual(statusesOf(answer), [status], headers.slice(-2).join())
    }
  })

  test('what follows a request is a separate request', async (t) => {
    const { exchange } = await openPort(t)
    const hidden = requestOf('GET /metrics HTTP/1.1', [])
    const outer = (headers: readonly string[], sent: string) =>
      [
        'POST /calls/query_stats HTTP/1.1',
        'Host: heddle',
        'Content-Type: application/json',
        asAlice,
        ...headers,
        '',
        sent,
      ].join('\r\n')
    const behind = await exchange(outer([length], `${body}${hidden}`))
    assert.deepEqual(statusesOf(behind), [200, 401], 'credentials do not carry over to the next request')
    const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    const afterChunks = await exchange(outer(['Transfer-Encoding: chunked'], `${chunked}${hidden}`))
    assert.deepEqual(statusesOf(afterChunks), [200, 401])
    const inside = await exchange(
      count([`Content-Length: ${body.length + hidden.length}`], `${body}${hidden}`),
    )
    assert.deepEqual(statusesOf(inside), [400], 'the second request is part of the body')
  })

  test('a header of a request cannot inject a line into the answer', async (t) => {
    const { exchange } = await openPort(t)
    const odd = ['%0d%0aSet-Cookie: a=b', 'a\tb', '\x7f', '\xe9', '<script>alert(1)</script>']
    for (const id of odd) {
      const answer = await exchange(
        Buffer.from(
          requestOf(`GET /${encodeURIComponent(id)} HTTP/1.1`, [asAlice, `X-Request-Id: ${id}`]),
          'latin1',
        ),
      )
      assert.doesNotMatch(answer.split('\r\n\r\n', 1)[0] as string, /cookie|script|\x7f|\xe9/i)
    }
  })

  test('paths out of the folder or to another server are refused', async (t) => {
    const { exchange, assertServes } = await openPort(t)
    for (const line of [
      'GET /docs/static/../../package.json HTTP/1.1',
      'GET /docs/static/../../../../../../etc/passwd HTTP/1.1',
      'GET /docs/../call/start HTTP/1.1',
      'GET /docs/static/%2e%2e/%2e%2e/metrics HTTP/1.1',
      'GET /../../etc/passwd HTTP/1.1',
      'GET //etc/passwd HTTP/1.1',
      'GET \\..\\..\\package.json HTTP/1.1',
      'GET /health/../metrics HTTP/1.1',
      'GET /health/..;/metrics HTTP/1.1',
      'GET http://127.0.0.1:1/metrics HTTP/1.1',
      'GET http://heddle/health/../metrics HTTP/1.1',
      'GET file:///etc/passwd HTTP/1.1',
      'OPTIONS * HTTP/1.1',
      'TRACE / HTTP/1.1',
      'PROPFIND / HTTP/1.1',
      'MADE-UP /call/start HTTP/1.1',
    ]) {
      for (const headers of [[], [asAlice]]) {
        const answer = await exchange(requestOf(line, headers))
        const [status = 0] = statusesOf(answer)
        assert.ok(status >= 400 && status < 500, `${line}: ${answer.slice(0, 300)}`)
        assert.doesNotMatch(answer, /root:|"version"|heddle_http/)
      }
    }
    assert.deepEqual(statusesOf(await exchange(requestOf('CONNECT example.com:80 HTTP/1.1', []))), [])
    await assertServes()
  })
})

describe('bodies without a length', () => {
  /** Sent in pieces of a megabyte; answers the status. */
  async function sendChunked(port: number, path: string, pieces: Iterable<string>): Promise<number> {
    const headers = { authorization: basic(keys.alice), 'content-type': 'application/json' }
    const sending = request({ port, path, method: 'POST', headers })
    const answered = once(sending, 'response')
    // Once the answer has arrived, the rest need not be sent.
    const sent = pipeline(pieces, sending).catch(() => undefined)
    const [response] = await withTimeout('an answer', answered)
    await Promise.all([sent, text(response)])
    return response.statusCode
  }

  function* padded(begin: string, length: number): Generator<string> {
    yield begin
    for (let left = length - begin.length; left > 0; left -= megabyte)
      yield ' '.repeat(Math.min(left, megabyte))
  }

  test('32 MiB are accepted, one byte more and many more are refused', async (t) => {
    const { port, assertServes } = await openPort(t)
    const body = JSON.stringify({ end: endOf(startOf().id) })
    const limit = 32 * megabyte
    assert.equal(await sendChunked(port, '/call/end', padded(body, limit)), 200)
    assert.equal(await sendChunked(port, '/call/end', padded(body, limit + 1)), 413)
    assert.equal(await sendChunked(port, '/call/end', padded(body, 2 * limit)), 413)
    await assertServes()
  })

  test('many small chunks form one body', async (t) => {
    const { exchange } = await openPort(t)
    const body = JSON.stringify({ end: endOf(startOf().id), unknown: 'x'.repeat(20_000) })
    const chunks = [...body].map((letter) => `1\r\n${letter}\r\n`).join('')
    const headers = [asAlice, 'Content-Type: application/json', 'Transfer-Encoding: chunked']
    const answer = await exchange(requestOf('POST /call/end HTTP/1.1', headers, `${chunks}0\r\n\r\n`))
    assert.deepEqual(statusesOf(answer), [200])
  })
})

describe('clients that send slowly', () => {
  test('or send nothing lose their connection, and others are served meanwhile', async (t) => {
    const { open, assertServes } = await openPort(t, { HEDDLE_HEADERS_TIMEOUT: '1000' })
    const begun = 'POST /call/start HTTP/1.1\r\nHost: heddle\r\nX-A: '
    const sockets = await Promise.all(Array.from({ length: 100 }, (_, n) => open(begun.slice(0, n))))
    const dripping = setInterval(() => {
      for (const socket of sockets) if (socket.writable) socket.write('a')
    }, 100)
    t.after(() => clearInterval(dripping))
    const answers = Promise.all(sockets.map(answerOf))
    await assertServes()
    for (const answer of await withTimeout('the end of all', answers)) {
      assert.ok([408, 400, undefined].includes(statusesOf(answer)[0]), answer)
    }
    await assertServes()
  })

  test('a body that does not end is refused', async (t) => {
    const { open, assertServes } = await openPort(t, {
      HEDDLE_HEADERS_TIMEOUT: '1000',
      HEDDLE_REQUEST_TIMEOUT: '1000',
    })
    const head = ['POST /call/start HTTP/1.1', 'Host: heddle', asAlice, 'Content-Type: application/json']
    const sockets = await Promise.all(
      ['Content-Length: 100000', 'Transfer-Encoding: chunked'].map((length) =>
        open([...head, length, '', ''].join('\r\n')),
      ),
    )
    const dripping = setInterval(() => {
      if (sockets[0]?.writable) sockets[0].write(' ')
      if (sockets[1]?.writable) sockets[1].write('1\r\n \r\n')
    }, 100)
    t.after(() => clearInterval(dripping))
    const answers = Promise.all(sockets.map(answerOf))
    await assertServes()
    for (const answer of await withTimeout('the end of both', answers))
      assert.deepEqual(statusesOf(answer), [408])
    await assertServes()
  })

  test('many pipelined requests on one connection are all answered', async (t) => {
    const { exchange } = await openPort(t)
    const one = 'GET /health HTTP/1.1\r\nHost: heddle\r\n\r\n'
    const answer = await exchange(`${one.repeat(999)}${requestOf('GET /health HTTP/1.1', [])}`)
    assert.deepEqual(statusesOf(answer), Array(1_000).fill(200))
  })
})
