import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import type { Parts } from '../../src/app.ts'
import { basic, keys, openApp } from '../support/app.ts'
import { asking, chatUrl, choiceOf, eventsOf } from '../support/chat.ts'
import { rawPost } from '../support/raw-client.ts'
import { prefilled, type Script, scriptedBackend, scriptOf, tokens } from '../support/scripted-backend.ts'
import { until, withTimeout } from '../support/wait.ts'

/** A server on a separate port whose model follows a script. */
async function open(t: TestContext, script: Script, parts: Partial<Parts> = {}) {
  const backend = scriptedBackend(script)
  const { app } = await openApp(t, { backend, ...parts })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const ask = (fields: Record<string, unknown>, signal: AbortSignal | null = null) =>
    fetch(`${address}${chatUrl}`, {
      method: 'POST',
      headers: { authorization: basic(keys.alice), 'content-type': 'application/json' },
      body: JSON.stringify(asking(fields)),
      signal,
    })
  const isServed = async () => assert.equal((await fetch(`${address}/health`)).status, 200)
  return { backend, address, ask, isServed }
}

const never = new Promise<never>(() => undefined)

/** Writes one word and then nothing more. */
const stopping: Script = async function* (request) {
  yield prefilled(request)
  yield tokens('Hello', request)
  await never
}

test('the headers of a stream are sent before its first event', async (t) => {
  let begin: (value?: unknown) => void = () => undefined
  const begun = new Promise((resolve) => {
    begin = resolve
  })
  const { ask } = await open(t, async function* (request, signal) {
    await begun
    yield* scriptOf('Hello')(request, signal) as Iterable<ReturnType<typeof tokens>>
  })
  const answer = await withTimeout('the head arrives', ask({ stream: true }))
  assert.equal(answer.status, 200)
  begin()
  assert.equal(choiceOf(eventsOf(await answer.text()).chunks, 0).content, 'Hello')
})

test('events arrive one by one as they are produced', async (t) => {
  let next: (value?: unknown) => void = () => undefined
  const { ask } = await open(t, async function* (request) {
    yield prefilled(request)
    for (const word of ['a', 'b', 'c']) {
      yield tokens(word, request)
      await new Promise((resolve) => {
        next = resolve
      })
    }
    yield { kind: 'finished', choice: 0, reason: 'stop', stop: null }
  })
  const answer = await ask({ stream: true })
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (const word of ['a', 'b', 'c']) {
    while (!text.includes(`"content":"${word}"`)) {
      text += (await withTimeout(`${word} arrives`, reader?.read() ?? never)).value ?? ''
    }
    next()
  }
  while (!text.endsWith('[DONE]\n\n')) text += (await reader?.read())?.value ?? ''
})

for (const stream of [true, false]) {
  test(`a disconnected client ends its generation: stream ${stream}`, async (t) => {
    const { backend, ask, isServed } = await open(t, stopping)
    const leaving = new AbortController()
    const answer = ask({ stream, n: 2 }, leaving.signal)
    if (stream) {
      const { body } = await answer
      await body?.getReader().read()
    } else {
      answer.catch(() => undefined)
      while (backend.taken < 2) await isServed()
    }
    assert.equal(backend.running, 1)
    leaving.abort()
    await withTimeout('the generation is aborted', backend.abortedAtLeast(1))
    await withTimeout('nothing runs', backend.idle())
    await isServed()
  })

  test(`many disconnected clients leave nothing behind: stream ${stream}`, async (t) => {
    const { backend, ask } = await open(t, stopping)
    const leaving = new AbortController()
    const answers = Array.from({ length: 100 }, () =>
      ask({ stream }, leaving.signal).then(
        (answer) => answer.text().catch(() => 'left'),
        () => 'left',
      ),
    )
    while (backend.asked.length < 100) await new Promise((resolve) => setImmediate(resolve))
    leaving.abort()
    assert.deepEqual(new Set(await Promise.all(answers)), new Set(['left']))
    await withTimeout('nothing runs', backend.idle())
    backend.script = scriptOf('Hello')
    assert.equal((await ask({ stream })).status, 200)
  })
}

test('no answer is generated for a client that disconnects while its template is rendered', async (t) => {
  const { backend, address, isServed } = await open(t, stopping)
  const chat_template =
    '{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}'
  const reader = await rawPost(address, chatUrl, asking({ chat_template }))
  await isServed()
  reader.socket.destroy()
  await once(reader.socket, 'close')
  backend.script = scriptOf('Hello')
  const other = await fetch(`${address}${chatUrl}`, {
    method: 'POST',
    headers: { authorization: basic(keys.alice), 'content-type': 'application/json' },
    body: JSON.stringify(asking()),
  })
  assert.equal(other.status, 200)
  assert.equal(backend.asked.length, 1)
})

const word = 'x'.repeat(10_000)
const words = 10_000

const endless: Script = function* (request) {
  yield prefilled(request)
  const said = { ...tokens('x', request), text: word }
  for (let i = 0; i < words; i++) yield said as ReturnType<typeof tokens>
  yield { kind: 'finished', choice: 0, reason: 'length', stop: null }
}

test('a slow reader delays no other client, and the server does not buffer its answer', async (t) => {
  const { backend, address, isServed } = await open(t, endless)
  const reader = await rawPost(address, chatUrl, asking({ stream: true }), { keep: false })
  await reader.begun()
  await until('no more is made', async () => {
    const before = backend.taken
    for (let i = 0; i < 20; i++) await isServed()
    return backend.taken === before
  })
  // The buffers of both sockets, and what was on its way to them.
  assert.ok(backend.taken < words / 2, `${backend.taken} of ${words} events were consumed`)
  let bytes = 0
  for await (const piece of reader.socket as AsyncIterable<Buffer>) bytes += piece.length
  assert.ok(bytes > words * word.length, `everything arrived: ${bytes}`)
  assert.equal(backend.running, 0)
})

test('a stalled client is cut off, and its generation ends', async (t) => {
  const { backend, address, isServed } = await open(
    t,
    async function* (request, signal) {
      yield* endless(request, signal) as Iterable<ReturnType<typeof tokens>>
      await never
    },
    { streams: { stallTimeoutMs: 200 } },
  )
  const reader = await rawPost(address, chatUrl, asking({ stream: true }))
  t.after(() => reader.socket.destroy())
  await reader.begun()
  await withTimeout('the generation is aborted', backend.abortedAtLeast(1))
  await withTimeout('nothing runs', backend.idle())
  await isServed()
})

test('comments keep an idle stream open', async (t) => {
  let go: (value?: unknown) => void = () => undefined
  const gone = new Promise((resolve) => {
    go = resolve
  })
  const { ask } = await open(
    t,
    async function* (request, signal) {
      await gone
      yield* scriptOf('Hello')(request, signal) as Iterable<ReturnType<typeof tokens>>
    },
    { streams: { keepAliveMs: 10 } },
  )
  const answer = await ask({ stream: true })
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (text.split(': keep-alive\n\n').length < 4) {
    text += (await withTimeout('a comment arrives', reader?.read() ?? never)).value ?? ''
  }
  go()
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read())
    text += piece.value
  const { chunks, comments } = eventsOf(text)
  assert.ok(comments >= 3)
  assert.equal(choiceOf(chunks, 0).content, 'Hello')
})
