import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { withoutKey } from '../../../src/inference/upstream/failures.ts'
import { basic, keys, openApp } from '../../support/app.ts'
import { asking, chatUrl, choiceOf, eventsOf } from '../../support/chat.ts'
import {
  delta,
  modelsOfUpstream,
  startFakeUpstream,
  type UpstreamHandler,
  usage,
} from '../../support/fake-upstream.ts'
import { until, withTimeout } from '../../support/wait.ts'
import { chunked, event, startRawUpstream, streamHead } from './raw-upstream.ts'

// Each way in which an upstream can fail has a defined answer, whole and as a stream.

/** The timeout for cases that are silent, and for those that are not. */
const silenceMs = 300
const longMs = 60_000

async function open(t: TestContext, answer: (socket: Socket) => unknown, settings = {}) {
  const upstream = await startRawUpstream(t, answer)
  const app = await openApp(t, {
    models: await modelsOfUpstream([upstream.url], { silenceMs: longMs, ...settings }),
  })
  return { ...app, upstream, ask: (fields: object = {}) => app.post(chatUrl, asking({ ...fields })) }
}

const said = event(delta({ content: 'Half' }))
const whole = `${said}${event(delta({}, 'stop'))}${event(usage(3, 1))}data: [DONE]\n\n`
const json = (text: string, more = '') =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${more}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`

/** Writes the pieces and closes the connection. */
const writing =
  (...pieces: string[]) =>
  (socket: Socket) => {
    for (const piece of pieces) socket.write(piece, 'latin1')
    socket.end()
  }
const failing: Record<string, [answer: (socket: Socket) => unknown, status: number, code: string]> = {
  'it accepts the request and closes the connection': [(socket) => socket.end(), 503, 'upstream_unavailable'],
  'it resets the connection': [(socket) => socket.resetAndDestroy(), 503, 'upstream_unavailable'],
  'it speaks another protocol': [writing('SSH-2.0-OpenSSH_9.6\r\n'), 503, 'upstream_unavailable'],
  'its head ends in the middle': [writing('HTTP/1.1 200 OK\r\ncontent-ty'), 503, 'upstream_unavailable'],
  'its head has no end': [
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      for (let i = 0; i < 2_000; i++) socket.write(`x-header-${i}: ${'x'.repeat(100)}\r\n`)
    },
    503,
    'upstream_unavailable',
  ],
  'its head arrives byte by byte': [
    async (socket) => {
      for (const letter of streamHead().repeat(100)) {
        if (socket.destroyed) return
        socket.write(letter)
        await sleep(20)
      }
    },
    504,
    'upstream_timeout',
  ],
  'an error arrives byte by byte': [
    async (socket) => {
      socket.write('HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: 10000\r\n\r\n')
      while (!socket.destroyed) {
        socket.write('x')
        await sleep(20)
      }
    },
    504,
    'upstream_timeout',
  ],
  'an event arrives byte by byte': [
    async (socket) => {
      socket.write(`${streamHead()}data: {"choices":[`)
      while (!socket.destroyed) {
        socket.write(' ')
        await sleep(20)
      }
    },
    504,
    'upstream_timeout',
  ],
  'a whole answer arrives byte by byte': [
    async (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 10000\r\n\r\n{')
      while (!socket.destroyed) {
        socket.write(' ')
        await sleep(20)
      }
    },
    504,
    'upstream_timeout',
  ],
  'it begins a stream and hangs': [(socket) => socket.write(streamHead()), 504, 'upstream_timeout'],
  'chunks without their lengths': [writing(streamHead(true), 'nonsense\r\n'), 502, 'upstream_failed'],
  'its JSON is shorter than it says': [
    writing('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"choices":'),
    502,
    'upstream_failed',
  ],
  'its JSON is compressed without being asked for': [
    writing(json('\x1f\x8b\x08\x00\x00', 'content-encoding: gzip\r\n')),
    502,
    'upstream_failed',
  ],
  'its error is compressed': [
    writing(
      'HTTP/1.1 503 Busy\r\ncontent-type: text/html\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n\x1f\x8b',
    ),
    503,
    'upstream_unavailable',
  ],
  'an error instead of an answer': [
    writing(json('{"error":{"message":"out of memory"}}')),
    502,
    'upstream_failed',
  ],
  'an answer without an end': [
    writing(json('{"choices":[{"index":0,"message":{"content":"a"}}]}')),
    502,
    'upstream_failed',
  ],
  'it changes the protocol': [
    writing('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n'),
    502,
    'upstream_failed',
  ],
  'it has nothing to say': [
    writing('HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n'),
    502,
    'upstream_failed',
  ],
  'its account has no credit': [
    writing(json('{"error":{"message":"no credit"}}').replace('200 OK', '402 Payment Required')),
    502,
    'upstream_failed',
  ],
  'the answer is an error of its own': [
    writing(json('{"object":"error","message":"out of memory","code":500}')),
    502,
    'upstream_failed',
  ],
  'it ends a choice with an error': [
    writing(streamHead(), event(delta({}, 'error'))),
    502,
    'upstream_failed',
  ],
  'its content is a number': [
    writing(json('{"choices":[{"index":0,"message":{"content":5},"finish_reason":"stop"}]}')),
    502,
    'upstream_failed',
  ],
  'incomplete UTF-8': [writing(streamHead(), 'data: {"a":"\xff\xfe\n\n'), 502, 'upstream_failed'],
}

for (const [name, [answer, status, code]] of Object.entries(failing)) {
  test(`${name}: ${status} ${code}`, async (t) => {
    const { ask, upstream } = await open(t, answer, { silenceMs: status === 504 ? silenceMs : longMs })
    for (const stream of [false, true]) {
      const refused = await withTimeout('the request is refused', ask({ stream }))
      assert.deepEqual(
        [refused.status, refused.json?.error?.code],
        [status, code],
        refused.text.slice(0, 300),
      )
      await until('the connection is closed', () => upstream.closed > 0)
      upstream.closed = 0
      upstream.answer = (socket) => socket.end(streamHead() + whole)
      await until('the upstream is asked again', async () => (await ask({ stream })).status === 200)
      upstream.answer = answer
    }
  })
}

for (const [name, answer] of Object.entries({
  'is cut off': writing(streamHead(true), chunked(said), '20\r\ndata: {"cho'),
  'becomes invalid': writing(streamHead(true), chunked(said), 'nonsense\r\n'),
  'ends without a finish reason': writing(streamHead(), said),
  'is reset': async (socket: Socket) => {
    socket.write(streamHead() + said)
    await sleep(50)
    socket.resetAndDestroy()
  },
})) {
  test(`a stream that ${name} is reported as failed, and its text so far is kept`, async (t) => {
    const app = await open(t, answer)
    const refused = await app.ask()
    assert.deepEqual([refused.status, refused.json.error.code], [502, 'upstream_failed'])
    const { chunks, error } = eventsOf((await app.ask({ stream: true })).text)
    assert.equal(error?.code, 'upstream_failed')
    assert.deepEqual(chunks.map(({ choices: [choice] }) => choice?.delta.content).filter(Boolean), ['Half'])
  })
}

test('a silent stream is ended after the timeout', async (t) => {
  const { ask } = await open(t, (socket) => socket.write(streamHead() + said), { silenceMs })
  const refused = await withTimeout('the request is refused', ask())
  assert.deepEqual([refused.status, refused.json.error.code], [504, 'upstream_timeout'])
  const { error } = eventsOf((await withTimeout('the stream ends', ask({ stream: true }))).text)
  assert.equal(error?.code, 'upstream_timeout')
})

for (const [name, text] of Object.entries({
  'after [DONE]': whole,
  'after the end of the answer': `${said}${event(delta({}, 'stop'))}`,
})) {
  test(`a connection that stays open ${name} delays nothing`, async (t) => {
    const { ask } = await open(t, (socket) => socket.write(streamHead() + text), { silenceMs: 600_000 })
    const answer = await withTimeout('the answer arrives', ask())
    assert.equal(answer.json.choices[0].message.content, 'Half')
    const { chunks } = eventsOf((await withTimeout('the stream ends', ask({ stream: true }))).text)
    assert.equal(choiceOf(chunks, 0).content, 'Half')
  })
}

test('an upstream that sends comments is waited for as long as the client waits', async (t) => {
  const upstream = await startRawUpstream(t, async (socket) => {
    socket.write(streamHead())
    while (!socket.destroyed) {
      socket.write(': working on it\n\n')
      await sleep(30)
    }
  })
  const { app } = await openApp(t, { models: await modelsOfUpstream([upstream.url], { silenceMs }) })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const leaving = new AbortController()
  const asked = fetch(`${address}${chatUrl}`, {
    method: 'POST',
    headers: { authorization: basic(keys.alice), 'content-type': 'application/json' },
    body: JSON.stringify(asking({ stream: true })),
    signal: leaving.signal,
  })
  const answer = await asked
  assert.equal(answer.status, 200)
  await sleep(3 * silenceMs)
  assert.equal(upstream.closed, 0)
  leaving.abort()
  await answer.text().catch(() => undefined)
  await until('the request to the upstream is closed', () => upstream.closed === 1)
})

test('a Heddle behind this one says when it may be asked again', async (t) => {
  const code = 'rate_limit_exceeded'
  const refusing: UpstreamHandler = (response) =>
    response.writeHead(429, { 'retry-after': '7' }).end(JSON.stringify({ error: { code, message: 'Slow.' } }))
  const listed = { id: 'far', owned_by: 'heddle', root: 'far' }
  const upstream = await startFakeUpstream(t, refusing, { models: [listed] })
  const { post } = await openApp(t, { models: await modelsOfUpstream([upstream.url]) })
  const { status, json, headers } = await post(chatUrl, asking())
  assert.deepEqual([status, json.error.code, json.error.message], [429, code, 'Slow.'])
  assert.equal(headers['retry-after'], '7')
})

test('an address that refuses connections has no model until it answers', async (t) => {
  const upstream = await startRawUpstream(t, (socket) => socket.end(streamHead() + whole))
  const { post, get } = await openApp(t, {
    models: await modelsOfUpstream([upstream.url], {
      silenceMs: longMs,
      times: { wellMs: 60_000, minMs: 10, maxMs: 50 },
    }),
  })
  assert.equal((await post(chatUrl, asking())).status, 200)
  await upstream.end()
  const first = await post(chatUrl, asking())
  assert.deepEqual([first.status, first.json.error.code], [503, 'upstream_unavailable'])
  const next = await post(chatUrl, asking())
  assert.deepEqual([next.status, next.json.error.code], [503, 'model_not_ready'])
  assert.equal((await get('/ready')).status, 503)
})

test('an error of any length is named by its status, with the beginning of its text', async (t) => {
  const head = (status: string) =>
    `HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\nconnection: close\r\nretry-after: 7\r\n\r\n`
  const long = `no room ${'x'.repeat(17 * 1024 * 1024)}`
  const app = await open(t, writing(head('429 Too Many Requests'), long))
  const busy = await app.ask()
  assert.deepEqual([busy.status, busy.json.error.code], [429, 'upstream_busy'])
  assert.equal(busy.headers['retry-after'], '7')
  app.upstream.answer = writing(head('400 Bad Request'), long)
  const refused = await app.ask()
  assert.deepEqual([refused.status, refused.json.error.code], [400, 'upstream_refused'])
  assert.match(refused.json.error.message, /no room x/)
  assert.ok(refused.text.length < 5_000)
})

const key = 'the-key-that-goes-upstream'

for (const [name, answer, status] of [
  [
    'a refusal',
    json(`{"error":{"message":"no: Bearer ${key}","param":"${key}"}}`).replace('200 OK', '400 Bad Request'),
    400,
  ],
  ['an answer', json(`{"error":{"message":"no: Bearer ${key}"}}`), 502],
  ['a stream', streamHead() + event({ error: { message: `no: Bearer ${key}` } }), 502],
  ['a type', `HTTP/1.1 200 OK\r\ncontent-type: text/${key}\r\nconnection: close\r\n\r\n`, 502],
] as const) {
  test(`a key that ${name} of the upstream repeats reaches no client`, async (t) => {
    const app = await open(t, writing(answer))
    for (const stream of [false, true]) {
      const refused = await app.ask({ stream })
      assert.equal(refused.status, status)
      assert.match(refused.json.error.message, /…/)
      assert.ok(!refused.text.includes(key), refused.text)
    }
  })
}

test('a key is found in whatever way an upstream escapes it', () => {
  const own = 'sk-a/b+c%d"e.f'
  const json = JSON.stringify(own).slice(1, -1)
  const spellings = [
    own,
    json,
    json.replaceAll('/', '\\/'),
    JSON.stringify(json.replaceAll('/', '\\/')).slice(1, -1),
    encodeURIComponent(own),
    encodeURIComponent(own).toLowerCase(),
    encodeURIComponent(encodeURIComponent(own)),
    own.replace('/', '\\u002f').replace('+', '\\u002B'),
  ]
  for (const spelling of spellings) assert.equal(withoutKey(`no: ${spelling}!`, own), 'no: …!', spelling)
  assert.equal(withoutKey('sk-a/b+c%d"exf', own), 'sk-a/b+c%d"exf')
  const long = 'ab/'.repeat(3_000)
  assert.equal(withoutKey(`"${long.replaceAll('/', '\\/')}" ${long}!`, long), '"…" …!')
})

test('a key with a slash that an upstream escapes reaches no client', async (t) => {
  const slashed = 'sk-far/away/key'
  for (const told of ['sk-far\\/away\\/key', 'sk-far%2Faway%2fkey']) {
    const answer = json(`{"error":{"message":"no: ${told}"}}`).replace('200 OK', '400 Bad Request')
    const upstream = await startRawUpstream(t, writing(answer))
    const addresses = [{ url: upstream.url, weight: 1, key: slashed }]
    const app = await openApp(t, { models: await modelsOfUpstream([upstream.url], { addresses }) })
    const refused = await app.post(chatUrl, asking())
    assert.match(refused.json.error.message, /no: …/)
  }
})

test('a key that an upstream repeats in the middle of a stream reaches no client and no record', async (t) => {
  const app = await open(t, writing(streamHead() + said + event({ error: { message: `no: ${key}` } })))
  const { text } = await app.ask({ stream: true })
  assert.match(text, /no: …/)
  assert.ok(!text.includes(key))
  const calls = await app.post('/calls/stream_query', { project_id: 'acme/default' })
  assert.match(calls.text, /no: …/)
  assert.ok(!calls.text.includes(key))
})

for (const [name, answer] of Object.entries({
  'with a byte order mark': `${streamHead()}\xef\xbb\xbf${whole}`,
  'with a type in capitals': streamHead().replace('text/event-stream', 'Text/Event-Stream') + whole,
  'with events without data': `${streamHead()}data:\n\n${whole}`,
  'whose end has spaces': streamHead() + whole.replace('data: [DONE]', 'data:  [DONE] '),
  'with an empty finish reason in each chunk':
    streamHead() + event(delta({ content: '' }, '')) + event(delta({ content: '' }, '')) + whole,
  'in JSON with a byte order mark': `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n\xef\xbb\xbf{"choices":[{"index":0,"message":{"content":"Half"},"finish_reason":"stop"}]}`,
  'with its content in parts':
    streamHead() +
    event(
      delta({
        content: [
          { type: 'text', text: 'Ha' },
          { type: 'text', text: 'lf' },
        ],
      }),
    ) +
    event(delta({}, 'stop')),
})) {
  test(`an answer ${name} is read whole`, async (t) => {
    const { ask } = await open(t, writing(answer))
    const { status, json: answered, text } = await ask()
    assert.equal(status, 200, text)
    assert.equal(answered.choices[0].message.content, 'Half')
  })
}

test('a page is named by its status, and its markup stays away', async (t) => {
  const page = json('<html><body>nothing here</body></html>').replace('200 OK', '404 Not Found')
  const { ask } = await open(t, writing(page))
  assert.match((await ask()).json.error.message, /it answered 404\.$/)
})
