import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import Fastify from 'fastify'
import { hashKey } from '../../src/domain/keys.ts'
import { limitUsers } from '../../src/http/limits.ts'
import type { SettingsChange } from '../../src/storage/users/settings.ts'
import { keys, openApp } from '../support/app.ts'
import { asking, chatUrl } from '../support/chat.ts'
import { prefilled, scriptedBackend, tokens } from '../support/scripted-backend.ts'
import { until } from '../support/wait.ts'

const key = 'the-key-of-dave-with-limits'

/** An app with the stored user dave, and a clock that only moves when told to. */
async function openLimited(t: TestContext, change: SettingsChange = {}) {
  let clock = 1_000
  t.mock.method(performance, 'now', () => clock)
  const backend = scriptedBackend()
  const opened = await openApp(t, { backend })
  const user = { name: 'dave', role: 'member' as const, entities: ['acme'], created_at: 1 }
  await opened.database.write('addUser', { user, key: { id: 'k1', hash: hashKey(key) } })
  const set = (given: SettingsChange, name = 'dave', isConfigured = false) =>
    opened.database.write('changeUserSettings', { name, change: given, isConfigured, now: 1 })
  await set(change)
  const ask = async (as = key) => {
    const { status, headers, json } = await opened.get('/server_info', as)
    return { status, headers, json }
  }
  const statuses = async (count: number, as = key) => {
    const found: number[] = []
    for (let i = 0; i < count; i++) found.push((await ask(as)).status)
    return found
  }
  return {
    ...opened,
    backend,
    set,
    ask,
    statuses,
    pass: (ms: number) => {
      clock += ms
    },
  }
}

function ratesOf(headers: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-ratelimit')))
}

test('requests per minute: headers show what is left, and beyond the limit is a 429 that names it', async (t) => {
  const { ask, get, statuses, pass } = await openLimited(t, { requests_per_minute: 3 })
  const first = await ask()
  assert.equal(first.status, 200)
  assert.deepEqual(ratesOf(first.headers), {
    'x-ratelimit-limit-requests': '3',
    'x-ratelimit-remaining-requests': '2',
    'x-ratelimit-reset-requests': '20s',
  })
  assert.deepEqual(await statuses(2), [200, 200])
  const refused = await ask()
  assert.equal(refused.status, 429)
  assert.deepEqual(refused.json, {
    reason: 'The user dave is limited to 3 requests per minute. Try again in 20 s.',
    code: 'rate_limit_exceeded',
  })
  assert.equal(refused.headers['retry-after'], '20')
  assert.deepEqual(ratesOf(refused.headers), {
    'x-ratelimit-limit-requests': '3',
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': '1m0s',
  })
  const underV1 = await get('/v1/models', key)
  assert.deepEqual(
    [underV1.status, underV1.json.error],
    [
      429,
      {
        message: 'The user dave is limited to 3 requests per minute. Try again in 20 s.',
        type: 'rate_limit_error',
        param: null,
        code: 'rate_limit_exceeded',
      },
    ],
  )
  pass(20_000)
  assert.deepEqual(
    await statuses(2),
    [200, 429],
    'refused requests use up nothing, and one request is available again',
  )
})

test('the requests of one user do not count for another, and a user without a limit sees no headers', async (t) => {
  const { ask, statuses } = await openLimited(t, { requests_per_minute: 1 })
  assert.deepEqual(await statuses(2), [200, 429])
  const { status, headers } = await ask(keys.alice)
  assert.equal(status, 200)
  assert.deepEqual(ratesOf(headers), {})
})

test('all keys of a user count together', async (t) => {
  const { statuses, database } = await openLimited(t, { requests_per_minute: 2 })
  const second = 'another-key-of-dave-with-limits'
  await database.write('addKey', { id: 'k2', hash: hashKey(second), user: 'dave', now: 1 })
  assert.deepEqual(await statuses(1), [200])
  assert.deepEqual(await statuses(2, second), [200, 429])
})

test('a limit applies at once when it is set, changed or removed', async (t) => {
  const { set, statuses } = await openLimited(t)
  assert.deepEqual(await statuses(3), [200, 200, 200])
  await set({ requests_per_minute: 1 })
  assert.deepEqual(await statuses(2), [200, 429])
  await set({ requests_per_minute: 3 })
  assert.deepEqual(await statuses(3), [200, 200, 429])
  await set({ requests_per_minute: null })
  assert.deepEqual(await statuses(3), [200, 200, 200])
})

test('a user of HEDDLE_USERS is limited, too, within a second', async (t) => {
  const { set, statuses, pass } = await openLimited(t)
  assert.deepEqual(await statuses(1, keys.alice), [200])
  assert.deepEqual(await set({ requests_per_minute: 1 }, 'alice', true), { requests_per_minute: 1 })
  pass(1_000)
  assert.deepEqual(await statuses(2, keys.alice), [200, 429])
  await set({ requests_per_minute: null }, 'alice', true)
  pass(1_000)
  assert.deepEqual(await statuses(2, keys.alice), [200, 200])
})

test('tokens per minute: prompt and answer count, and beyond the limit requests are refused', async (t) => {
  const { post, get, backend, pass } = await openLimited(t, { tokens_per_minute: 60 })
  const chat = () => post(chatUrl, asking(), key)
  const first = await chat()
  assert.equal(first.status, 200)
  const { total_tokens } = first.json.usage
  assert.ok(total_tokens > 30 && total_tokens < 60, String(total_tokens))
  assert.deepEqual(ratesOf(first.headers), {
    'x-ratelimit-limit-tokens': '60',
    'x-ratelimit-remaining-tokens': '60',
    'x-ratelimit-reset-tokens': '0ms',
  })
  const second = await chat()
  assert.equal(second.status, 200)
  assert.equal(second.headers['x-ratelimit-remaining-tokens'], String(60 - total_tokens))
  const asked = backend.asked.length
  for (const url of [chatUrl, '/v1/completions']) {
    const { status, headers, json } = await post(url, { ...asking(), prompt: 'Hi' }, key)
    const seconds = 2 * total_tokens - 59
    assert.equal(status, 429)
    assert.equal(headers['retry-after'], String(seconds))
    assert.equal(headers['x-ratelimit-remaining-tokens'], '0')
    assert.equal(json.error.code, 'rate_limit_exceeded')
    assert.equal(
      json.error.message,
      `The user dave is limited to 60 tokens per minute. Try again in ${seconds} s.`,
    )
  }
  assert.equal(backend.asked.length, asked, 'no request reached the model')
  const judge = {
    prompt: 'Rate {output}',
    schema: { type: 'object', properties: { score: { type: 'number' } } },
  }
  const tried = await post('/v2/acme/qa/scorers/try', { judge, call_ids: ['a'] }, key)
  assert.deepEqual([tried.status, tried.json.code], [429, 'rate_limit_exceeded'])
  assert.equal((await get('/v1/models', key)).status, 200, 'requests without tokens are served')
  pass((2 * total_tokens - 59) * 1000)
  assert.equal((await chat()).status, 200)
})

test('the tokens of a stream count while it runs', async (t) => {
  const { post, ask, backend } = await openLimited(t, { tokens_per_minute: 30 })
  const told = Promise.withResolvers<void>()
  t.after(() => told.resolve())
  backend.script = async function* (request) {
    yield prefilled(request)
    for (let i = 0; i < 40; i++) yield tokens('a', request, 0)
    await told.promise
    yield { kind: 'finished', choice: 0, reason: 'stop', stop: null }
  }
  const stream = post(chatUrl, asking({ stream: true }), key)
  await until(
    'the tokens are counted',
    async () => (await ask()).headers['x-ratelimit-remaining-tokens'] === '0',
  )
  assert.equal((await post(chatUrl, asking(), key)).status, 429)
  told.resolve()
  assert.equal((await stream).status, 200)
})

test('requests at once: beyond the limit they are refused until one has ended', async (t) => {
  const { post, ask, backend } = await openLimited(t, { requests_at_once: 2 })
  const told = Promise.withResolvers<void>()
  t.after(() => told.resolve())
  backend.script = async function* (request) {
    yield prefilled(request)
    await told.promise
    yield { kind: 'finished', choice: 0, reason: 'stop', stop: null }
  }
  const running = [post(chatUrl, asking(), key), post(chatUrl, asking({ stream: true }), key)]
  await until('both run', () => backend.running === 2)
  const refused = await ask()
  assert.equal(refused.status, 429)
  assert.equal(refused.headers['retry-after'], '1')
  assert.equal(refused.json.reason, 'The user dave is limited to 2 requests at once. Try again in 1 s.')
  told.resolve()
  for (const answer of await Promise.all(running)) assert.equal(answer.status, 200)
  for (let i = 0; i < 5; i++) assert.equal((await ask()).status, 200)
})

test('the settings of a user are removed with the user', async (t) => {
  const { database, set, statuses } = await openLimited(t, { requests_per_minute: 1 })
  await database.write('removeUser', { name: 'dave', isConfigured: false, now: 0 })
  assert.equal(await set({ requests_per_minute: 1 }), undefined, 'no user is left to be limited')
  const user = { name: 'dave', role: 'member' as const, entities: ['acme'], created_at: 1 }
  await database.write('addUser', { user, key: { id: 'k1', hash: hashKey(key) } })
  assert.deepEqual(await statuses(3), [200, 200, 200])
})

test('a client that disconnects before it was counted does not use up the requests at once', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  app.decorateRequest('caller')
  const left = Promise.withResolvers<void>()
  app.addHook('onRequest', async (request, reply) => {
    request.caller = { name: 'dave', role: 'member', entities: new Set(), settings: { requests_at_once: 1 } }
    if (request.url === '/leave') await once(reply.raw, 'close').then(() => left.resolve())
  })
  limitUsers(app, () => undefined)
  app.setErrorHandler((error: { status?: number }, _request, reply) =>
    reply.code(error.status ?? 500).send('x'),
  )
  app.get('/leave', () => 'too late')
  app.get('/', () => 'here')
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const socket = connect(Number(new URL(address).port), '127.0.0.1')
  socket.write('GET /leave HTTP/1.1\r\nHost: heddle\r\n\r\n')
  await once(socket, 'ready')
  await until('the request is sent', async () => socket.bytesWritten > 0)
  await new Promise((resolve) => setImmediate(resolve))
  socket.end()
  socket.destroy()
  await left.promise
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal((await fetch(address)).status, 200)
})
