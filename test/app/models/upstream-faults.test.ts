import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
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
