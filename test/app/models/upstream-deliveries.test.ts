import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connectListedServer, createModelOfServer } from '../../../src/inference/many/listed-server.ts'
import { createModels } from '../../../src/inference/registry.ts'
import type { Load } from '../../../src/inference/upstream/deliveries.ts'
import { endpointOfUrl, openConnections } from '../../../src/inference/upstream/exchange.ts'
import { basic, keys, openApp } from '../../support/app.ts'
import { asking, chatUrl, eventsOf } from '../../support/chat.ts'
import {
  beginStream,
  delta,
  type FakeUpstream,
  loadsOf,
  modelsOfUpstream,
  startFakeUpstream,
  streamWords,
  type UpstreamHandler,
  usage,
} from '../../support/fake-upstream.ts'
import { until, withTimeout } from '../../support/wait.ts'

// How often one request reaches the servers behind a model, however they fail.

/** Long enough for a server that answers, on a busy machine, too. */
const silenceMs = 3_000

const closing: UpstreamHandler = (response) => response.destroy()
const resetting: UpstreamHandler = (response) => (response.socket as Socket).resetAndDestroy()
const silent: UpstreamHandler = () => {}
const silentAfterHead: UpstreamHandler = (response) => {
  beginStream(response)
  response.flushHeaders()
}
const saying =
  (status: number, headers: Record<string, string> = {}): UpstreamHandler =>
  (response) =>
    response.writeHead(status, headers).end('{}')

/** An app whose model is at several addresses. */
async function open(t: TestContext, answers: UpstreamHandler[], settings = {}) {
  const upstreams = await Promise.all(answers.map((answer) => startFakeUpstream(t, answer)))
  const urls = upstreams.map(({ url }) => url)
  const models = await modelsOfUpstream(urls, { parallel: 64, silenceMs: 60_000, ...settings })
  const app = await openApp(t, { models })
  /** Prompts that differ begin at different addresses. */
  const ask = (content = 'Hi', fields = {}) =>
    withTimeout('an answer', app.post(chatUrl, asking({ messages: [{ role: 'user', content }], ...fields })))
  const reachedAll = () =>
    until('every address is known to answer', async () => {
      const { text } = await app.get('/metrics', keys.root)
      return (
        text.split('\n').filter((line) => /^heddle_upstream_up\{.*\} 1$/.test(line)).length === urls.length
      )
    })
  return { ...app, upstreams, loads: loadsOf(models), ask, reachedAll }
}

const deliveries = (upstreams: readonly FakeUpstream[]) => upstreams.map(({ asked }) => asked.length)
const total = (upstreams: readonly FakeUpstream[]) => deliveries(upstreams).reduce((a, b) => a + b, 0)

/** Leaves so many idle connections to each address. */
async function warm({ upstreams, ask }: Awaited<ReturnType<typeof open>>, count: number) {
  const held: (() => void)[] = []
  const answers = upstreams.map(({ answer }) => answer)
  for (const upstream of upstreams)
    upstream.answer = (response, asked) => held.push(() => streamWords('Hi')(response, asked))
  const asked = Array.from({ length: count }, (_, index) => ask(`Warm ${index}`))
  await until('all are there', () => held.length === count)
  for (const answer of held) answer()
  for (const { status, text } of await Promise.all(asked)) assert.equal(status, 200, text)
  for (const [index, upstream] of upstreams.entries()) {
    upstream.answer = answers[index] as UpstreamHandler
    upstream.asked.length = 0
  }
}

for (const [name, answer] of Object.entries({ closes: closing, resets: resetting })) {
  for (const addresses of [1, 2]) {
    test(`a request whose server ${name} the connection is sent once; addresses: ${addresses}`, async (t) => {
      const app = await open(t, Array(addresses).fill(answer))
      await app.reachedAll()
      await warm(app, 30)
      for (const [index, stream] of [false, true].entries()) {
        const refused = await app.ask('Kill', { stream })
        assert.deepEqual([refused.status, refused.json.error.code], [503, 'upstream_unavailable'])
        assert.equal(total(app.upstreams), index + 1)
      }
      // Nobody else is refused because of that prompt.
      for (const upstream of app.upstreams) upstream.answer = streamWords('Hello')
      assert.equal((await app.ask('Another')).status, 200)
    })
  }
}

test('an answer that is cut off is not asked for again', async (t) => {
  const cut: UpstreamHandler = async (response) => {
    beginStream(response)(delta({ content: 'Half' }))
    setImmediate(() => response.destroy())
  }
  const app = await open(t, [cut, cut])
  await app.reachedAll()
  await warm(app, 8)
  const { error } = eventsOf((await app.ask('Cut', { stream: true })).text)
  assert.equal(error?.code, 'upstream_failed')
  assert.equal(total(app.upstreams), 1)
})

for (const [name, end] of Object.entries({
  closed: (socket: Socket) => socket.destroy(),
  reset: (socket: Socket) => socket.resetAndDestroy(),
})) {
  test(`a request that finds its idle connection ${name} is sent on a new one, and arrives once`, async (t) => {
    const sockets = new Set<Socket>()
    let connected = 0
    let arrived = 0
    const server = createServer((socket) => {
      connected++
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
      socket.on('data', (piece) => {
        if (!piece.includes('{}')) return
        arrived++
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const connections = openConnections()
    t.after(() => {
      connections.close()
      server.close()
      for (const socket of sockets) socket.destroy()
    })
    const { port } = server.address() as { port: number }
    const question = {
      target: endpointOfUrl(new URL(`http://127.0.0.1:${port}/v1/x`)),
      body: '{}',
      headers: {},
      silenceMs: 60_000,
    }
    let resent = 0
    const ask = async () => {
      const answer = await connections.send(question, new AbortController().signal, () => resent++)
      answer.resume()
      await once(answer, 'end')
    }
    for (let round = 1; round <= 20; round++) {
      await Promise.all(Array.from({ length: 5 }, ask))
      await until('the connections are idle', () => sockets.size > 0)
      const before = { connected, arrived, resent }
      // The other side has closed all of them, and this side has not read that yet.
      for (const socket of sockets) end(socket)
      await withTimeout('an answer', ask())
      assert.equal(arrived - before.arrived, 1)
      assert.equal(connected - before.connected, 1)
      assert.ok(resent - before.resent <= 1)
    }
    assert.ok(resent > 0)
  })
}

test('an address that says when to ask again is not asked before, while another answers', async (t) => {
  const app = await open(t, [saying(429, { 'retry-after': '3000' }), streamWords('Hello')])
  await app.reachedAll()
  for (let i = 0; i < 24; i++) assert.equal((await app.ask(`Question ${i}`)).status, 200)
  const [busy = 0, other] = deliveries(app.upstreams)
  assert.ok(busy <= 1, `it was asked ${busy} times`)
  assert.equal(other, 24)
})

test('when all addresses are busy each is asked once, and the caller is told when to ask again', async (t) => {
  const app = await open(t, Array(3).fill(saying(429, { 'retry-after': '7' })))
  await app.reachedAll()
  for (const rounds of [1, 2]) {
    const refused = await app.ask()
    assert.deepEqual([refused.status, refused.json.error.code], [429, 'upstream_busy'])
    assert.equal(refused.headers['retry-after'], '7')
    assert.deepEqual(deliveries(app.upstreams), [rounds, rounds, rounds])
  }
})

for (const status of [408, 500, 502, 503]) {
  test(`a request that was answered ${status} is sent to one other address`, async (t) => {
    const app = await open(t, Array(4).fill(saying(status)))
    await app.reachedAll()
    const refused = await app.ask()
    assert.deepEqual([refused.status, refused.json.error.code], [503, 'upstream_unavailable'])
    assert.equal(total(app.upstreams), 2)
    const other = await open(t, [saying(status), streamWords('Hello')])
    await other.reachedAll()
    for (let i = 0; i < 8; i++) assert.equal((await other.ask(`Question ${i}`)).status, 200)
  })
}

for (const [name, answer] of Object.entries({
  'before its head': silent,
  'after its head': silentAfterHead,
})) {
  test(`a server that is silent ${name} is left for another, and avoided by the next requests`, async (t) => {
    const app = await open(t, [answer, streamWords('Hello')], { silenceMs })
    await app.reachedAll()
    // So many that some go to each server, whatever their ports are.
    const asked = Array.from({ length: 16 }, (_, i) => app.ask(`Question ${i}`, { stream: i % 2 === 0 }))
    for (const { status, text } of await Promise.all(asked)) {
      assert.equal(status, 200, text)
      assert.match(text, /Hello/)
    }
    const [before = 0] = deliveries(app.upstreams)
    assert.ok(before > 0)
    for (let i = 0; i < 12; i++) assert.equal((await app.ask(`Next ${i}`)).status, 200)
    assert.equal(deliveries(app.upstreams)[0], before)
    assert.equal(app.upstreams[1]?.asked.length, 28)
  })

  test(`where all servers are silent ${name} a request is sent to two`, async (t) => {
    const app = await open(t, [answer, answer, answer], { silenceMs: 1_000 })
    await app.reachedAll()
    const refused = await app.ask()
    assert.deepEqual([refused.status, refused.json.error.code], [504, 'upstream_timeout'])
    assert.equal(total(app.upstreams), 2)
  })
}

const halfSaid: UpstreamHandler = (response) => beginStream(response)(delta({ content: 'Half' }))

for (const [name, answer, outcome, cools] of [
  [
    'is cut off before its first piece',
    (response) => {
      beginStream(response)
      response.flushHeaders()
      setImmediate(() => response.destroy())
    },
    'closed',
    true,
  ],
  [
    'is cut off later',
    (response) => {
      beginStream(response)(delta({ content: 'Half' }))
      setImmediate(() => response.destroy())
    },
    'closed',
    true,
  ],
  [
    'ends without an end',
    (response) => {
      beginStream(response)(delta({ content: 'Half' }))
      response.end()
    },
    'closed',
    true,
  ],
  ['falls silent in the middle', halfSaid, 'timeout', true],
  ['is a page', saying(200, { 'content-type': 'text/html' }), 'refused', false],
] satisfies [string, UpstreamHandler, string, boolean][]) {
  test(`an answer that ${name} counts as ${outcome}; its address cools down: ${cools}`, async (t) => {
    const app = await open(t, [answer], { silenceMs: outcome === 'timeout' ? 300 : 60_000 })
    for (const stream of [false, true]) {
      const [load] = app.loads as [Load]
      load.coolUntil = 0
      await app.ask('Hi', { stream })
      assert.deepEqual([load.running, load.waiting.size, load.coolUntil > 0], [0, 0, cools])
    }
    assert.deepEqual(app.loads[0]?.counts, { [outcome]: 2 })
  })
}

const overloaded: UpstreamHandler = (response) => {
  beginStream(response)({ error: { message: 'Too many requests', code: 503 } })
  response.end()
}
const limited: UpstreamHandler = (response) => {
  beginStream(response)({ error: { message: 'Rate limit reached', type: 'rate_limit_exceeded' } })
  response.end()
}

for (const [name, answer, outcome, code] of [
  ['an overload', overloaded, 'failed', 'upstream_unavailable'],
  ['a limit', limited, 'busy', 'upstream_busy'],
] as const) {
  test(`${name} that a stream begins with cools its address down, and another is asked`, async (t) => {
    const app = await open(t, [answer])
    for (const stream of [false, true]) {
      const [load] = app.loads as [Load]
      load.coolUntil = 0
      assert.equal((await app.ask('Hi', { stream })).json.error.code, code)
      assert.ok(load.coolUntil > 0)
    }
    assert.deepEqual(app.loads[0]?.counts, { [outcome]: 2 })
    const others = await open(t, [answer, streamWords('Hello')])
    await others.reachedAll()
    for (let i = 0; i < 8; i++) {
      const { status, text } = await others.ask(`Question ${i}`, { stream: i % 2 === 0 })
      assert.equal(status, 200)
      assert.match(text, /Hello/)
    }
  })

  test(`${name} in the middle of a stream cools its address down, and the request is not sent again`, async (t) => {
    const middle: UpstreamHandler = (response) => {
      beginStream(response)(delta({ content: 'Half' }))
      setImmediate(() => {
        response.write(
          `data: {"error":{"message":"no","code":"${code === 'upstream_busy' ? 429 : 529}"}}\n\n`,
        )
        response.end()
      })
    }
    const app = await open(t, [middle, middle])
    await app.reachedAll()
    const { chunks, error } = eventsOf((await app.ask('Hi', { stream: true })).text)
    assert.equal(error?.code, code)
    assert.equal(chunks.map(({ choices: [choice] }) => choice?.delta.content ?? '').join(''), 'Half')
    assert.equal(total(app.upstreams), 1)
    assert.equal(app.loads.filter(({ coolUntil }) => coolUntil > 0).length, 1)
  })
}

test('a server that leaves the list is closed after a request that waits to be sent again', async (t) => {
  const closed: boolean[] = []
  let isClosed = false
  let retired: Promise<void> | undefined
  const upstream = await startFakeUpstream(t, (response, asked) => {
    closed.push(isClosed)
    if (closed.length > 1) return streamWords('Hello')(response, asked)
    retired = server.retire().then(() => {
      isClosed = true
    })
    return saying(429, { 'retry-after': '1' })(response, asked)
  })
  const server = connectListedServer(
    { name: 'cluster', kind: 'openai', retries: 1, addresses: [{ url: upstream.url, weight: 1 }] },
    { queue: 16, upstream_timeout: 60_000 },
    { info() {}, warn() {} },
  )
  const model = createModelOfServer({ name: 'far', upstream: 'cluster' }, server)
  const app = await openApp(t, { models: createModels([model], () => server.server.close()) })
  await until('the server is reached', () => model.status().state === 'ready')
  assert.equal((await withTimeout('an answer', app.post(chatUrl, asking()))).status, 200)
  assert.deepEqual(closed, [false, false])
  await withTimeout('its end', retired as Promise<void>)
})

test('a server that has left the list is closed with the list, whatever runs there', async (t) => {
  const upstream = await startFakeUpstream(t, silent)
  const server = connectListedServer(
    { name: 'cluster', kind: 'openai', addresses: [{ url: upstream.url, weight: 1 }] },
    { queue: 16, upstream_timeout: 60_000 },
    { info() {}, warn() {} },
  )
  const model = createModelOfServer({ name: 'far', upstream: 'cluster' }, server)
  const app = await openApp(t, { models: createModels([model], () => server.server.close()) })
  await until('the server is reached', () => model.status().state === 'ready')
  const asked = app.post(chatUrl, asking())
  await until('it is asked', () => upstream.asked.length === 1)
  const stopping = new AbortController()
  const retired = server.retire(stopping.signal)
  stopping.abort()
  await withTimeout('its end', retired)
  assert.equal((await withTimeout('an answer', asked)).json.error.code, 'upstream_unavailable')
})

test('vectors and tokens that are cut off count as closed, and are refused', async (t) => {
  const cut: UpstreamHandler = (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
    response.write('{"tokens":', () => response.destroy())
  }
  const app = await open(t, [cut], { kind: 'vllm' })
  for (const [path, body, code] of [
    ['/v1/embeddings', { input: 'Hi' }, ({ error }: { error: { code: string } }) => error.code],
    ['/tokenize', { prompt: 'Hi' }, ({ code }: { code: string }) => code],
  ] as const) {
    const { status, json } = await app.post(path, body)
    assert.deepEqual([status, code(json)], [502, 'upstream_failed'])
  }
  assert.deepEqual(app.loads[0]?.counts, { closed: 2 })
})

test('a client that leaves during its answer is no outcome of the address', async (t) => {
  const app = await open(t, [halfSaid])
  const address = await app.app.listen({ host: '127.0.0.1', port: 0 })
  const leaving = new AbortController()
  const answer = await fetch(`${address}${chatUrl}`, {
    method: 'POST',
    headers: { authorization: basic(keys.alice), 'content-type': 'application/json' },
    body: JSON.stringify(asking({ stream: true })),
    signal: leaving.signal,
  })
  assert.equal(answer.status, 200)
  leaving.abort()
  await answer.text().catch(() => undefined)
  await until('the request is over', () => app.loads[0]?.running === 0)
  assert.deepEqual(app.loads[0]?.counts, {})
  assert.equal(app.loads[0]?.coolUntil, 0)
})

test('only answers tell how fast an address is', async (t) => {
  const app = await open(
    t,
    [
      (response, asked) => {
        if (asked.url.endsWith('/completions')) return streamWords('Hello')(response, asked)
        const vectors = [{ index: 0, embedding: [1] }]
        response.writeHead(200, { 'content-type': 'application/json' })
        return response.end(JSON.stringify({ tokens: [1], prompt: 'x', data: vectors }))
      },
    ],
    { kind: 'vllm' },
  )
  const [load] = app.loads as [Load]
  for (const [path, body] of [
    ['/tokenize', { prompt: 'Hi' }],
    ['/detokenize', { tokens: [1] }],
    ['/v1/embeddings', { input: 'Hi' }],
  ] as const) {
    const { status, text } = await app.post(path, body)
    assert.equal(status, 200, text)
  }
  assert.deepEqual([load.waits, load.lastSign], [[], 0])
  assert.deepEqual(load.counts, { answered: 3 })
  assert.equal((await app.ask()).status, 200)
  assert.equal((await app.post('/v1/completions', { prompt: 'Hi' })).status, 200)
  assert.equal(load.waits.length, 2)
  assert.ok(load.lastSign > 0)
})

test('a dead address costs nothing, and what was sent again is counted', async (t) => {
  const app = await open(t, [streamWords('Hello'), streamWords('Hello')])
  await app.reachedAll()
  await app.upstreams[0]?.end()
  for (let i = 0; i < 12; i++) assert.equal((await app.ask(`Question ${i}`)).status, 200)
  assert.equal(app.upstreams[1]?.asked.length, 12)
  const { text } = await app.get('/metrics', keys.root)
  const count = (line: RegExp) => Number(line.exec(text)?.[1])
  const url = app.upstreams[1]?.url
  assert.equal(
    count(new RegExp(`heddle_upstream_requests_total{address="${url}",outcome="answered"} (\\d+)`)),
    12,
  )
  assert.ok(count(/heddle_upstream_resent_total{reason="unreachable"} (\d+)/) >= 1)
  assert.match(text, new RegExp(`heddle_upstream_up{address="${app.upstreams[0]?.url}"} 0`))
})

test('models of one server have their own timeouts and retries', async (t) => {
  const upstream = await startFakeUpstream(t, silent)
  const server = connectListedServer(
    { name: 'cluster', kind: 'openai', addresses: [{ url: upstream.url, weight: 1 }] },
    { queue: 16, upstream_timeout: 60_000 },
    { info() {}, warn() {} },
  )
  const entries = [{ name: 'usual' }, { name: 'quick', timeout: 300 }, { name: 'patient', retries: 1 }]
  const models = createModels(
    entries.map((entry) => createModelOfServer({ ...entry, upstream: 'cluster' }, server)),
    () => server.server.close(),
  )
  const app = await openApp(t, { models })
  await until('the server is reached', () => models.all[0]?.status().state === 'ready')
  const ask = async (model: string) => {
    const { status, json } = await withTimeout('an answer', app.post(chatUrl, asking({ model })))
    return [status, json.error?.code]
  }
  assert.deepEqual(await ask('quick'), [504, 'upstream_timeout'])
  let isBusy = true
  upstream.answer = (response, asked) => {
    const answer = isBusy ? saying(429, { 'retry-after': '0' }) : streamWords('Hello')
    isBusy = !isBusy
    return answer(response, asked)
  }
  assert.deepEqual(await ask('patient'), [200, undefined])
  assert.deepEqual(await ask('usual'), [429, 'upstream_busy'])
  assert.deepEqual(
    upstream.asked.map(({ body }) => body.model),
    ['quick', 'patient', 'patient', 'usual'],
  )
})

test('what was not sent again is counted by what had become of it', async (t) => {
  const upstream = await startFakeUpstream(t, streamWords('Hello'))
  const models = await modelsOfUpstream([upstream.url])
  Object.assign(models.all[0]?.upstream?.withheld ?? {}, { busy: 3, failed: 2 })
  const app = await openApp(t, { models })
  const { text } = await app.get('/metrics', keys.root)
  assert.match(text, /^heddle_upstream_resends_withheld_total\{reason="busy"\} 3$/m)
  assert.match(text, /^heddle_upstream_resends_withheld_total\{reason="failed"\} 2$/m)
})

test('a prompt whose tokens a server reports at its beginning counts from then on, and what was cached at the end', async (t) => {
  let end = () => {}
  const app = await open(
    t,
    [
      (response) => {
        const say = beginStream(response)
        say({ ...delta({ content: 'Two' }), prompt_token_ids: [1, 2, 3, 4, 5] })
        end = () => {
          say(delta({}, 'stop'))
          say({ choices: [], usage: { ...usage(5, 1).usage, prompt_tokens_details: { cached_tokens: 3 } } })
          response.end('data: [DONE]\n\n')
        }
      },
    ],
    { kind: 'vllm' },
  )
  const asked = app.ask()
  const value = async (name: string) => {
    const { text } = await app.get('/metrics', keys.root)
    return Number(new RegExp(`^heddle_${name}\\{model_name="[^"]*"\\} (\\S+)$`, 'm').exec(text)?.[1])
  }
  await until('the prompt counts', async () => (await value('request_prompt_tokens_count')) === 1)
  end()
  assert.equal((await asked).status, 200)
  for (const [name, expected] of [
    ['request_prompt_tokens_sum', 5],
    ['prompt_tokens_total', 5],
    ['prefix_cache_hits_total', 3],
  ] as const)
    assert.equal(await value(name), expected, name)
})

test('the tokens of prompts that a server reports at the end count in every metric of prompts', async (t) => {
  const app = await open(t, [streamWords('Two', ' words')])
  for (const stream of [false, true, false]) assert.equal((await app.ask('Hi', { stream })).status, 200)
  await app.post('/v1/completions', { prompt: ['One', 'two'] })
  const { text } = await app.get('/metrics', keys.root)
  const value = (name: string) =>
    Number(new RegExp(`^heddle_${name}\\{model_name="[^"]*"\\} (\\S+)$`, 'm').exec(text)?.[1])
  assert.equal(value('prompt_tokens_total'), 28)
  assert.equal(value('request_prompt_tokens_sum'), 28)
  assert.equal(value('prefix_cache_queries_total'), 28)
  assert.equal(value('request_prompt_tokens_count'), value('request_generation_tokens_count'))
  assert.equal(value('generation_tokens_total'), value('request_generation_tokens_sum'))
})
