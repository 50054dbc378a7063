import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, afterEach, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { basic, keys } from '../support/app.ts'
import { type ChatServer, startChatServer } from '../support/chat-server.ts'
import { until } from '../support/wait.ts'

/** So slow that a long prompt or a long answer takes longer than any test. */
const slow = { layers: 6, hidden: 576, heads: 9, kvHeads: 3, ffn: 1536, vocabulary: 400, context: 8192 }
const parallel = 4

const long = { messages: [{ role: 'user', content: 'x'.repeat(7_500) }], max_tokens: 100 }
const endless = { max_tokens: 8_000, ignore_eos: true }

describe('P3: a client that disconnects frees its place', () => {
  const cleaning: (() => unknown)[] = []
  let server: ChatServer
  /** The number of short answers that were completed. */
  let small = 0

  before(async () => {
    server = await startChatServer(
      { after: (clean: () => unknown) => void cleaning.push(clean) },
      { model: slow, settings: { HEDDLE_PARALLEL: String(parallel), HEDDLE_CONTEXT: '8192' } },
    )
  })
  after(async () => {
    assert.equal(await server.end('SIGTERM'), 0)
    for (const clean of cleaning.reverse()) await clean()
  })

  const running = () => server.figure('heddle_num_requests_running')
  const waiting = () => server.figure('heddle_num_requests_waiting')
  const read = () => server.figure('heddle_request_prompt_tokens_count')

  /** A client that may disconnect; returns how far it got. */
  async function visit(fields: Record<string, unknown>, signal: AbortSignal): Promise<'left' | 'answered'> {
    try {
      const { status } = await server.ask(fields, { signal })
      assert.equal(status, 200)
      return 'answered'
    } catch (error) {
      if (!signal.aborted) throw error
      return 'left'
    }
  }

  function visitors(count: number, fields: (i: number) => Record<string, unknown>) {
    const leaving = new AbortController()
    const visits = Array.from({ length: count }, (_, i) =>
      visit({ cache_salt: `${i}`, stream: i % 2 === 0, ...fields(i) }, leaving.signal),
    )
    return {
      async leave() {
        leaving.abort()
        assert.deepEqual(new Set(await Promise.all(visits)), new Set(['left']))
      },
    }
  }

  /** The next client is served, with nothing else running: the disconnected clients left nothing behind. */
  afterEach(async () => {
    await until('nothing runs and nothing waits', async () => (await running()) + (await waiting()) === 0)
    const { status, json } = await server.ask({ max_tokens: 3, ignore_eos: true })
    assert.deepEqual([status, json.usage.completion_tokens], [200, 3])
    assert.equal(await server.figure('heddle_completions_total{outcome="answered"}'), ++small)
  })

  test('while its large body is still being received', async () => {
    const pad = 'x'.repeat(100_000)
    const messages = [{ role: 'user', content: 'x' }]
    const body = JSON.stringify({ messages, ...endless, pad })
    const { hostname, port } = new URL(server.address)
    const socket = connect(Number(port), hostname)
    const head = ['POST /v1/chat/completions HTTP/1.1', 'Host: heddle', `Authorization: ${basic(keys.alice)}`]
    const type = ['Content-Type: application/json', `Content-Length: ${body.length}`]
    await new Promise((sent) =>
      socket.write([...head, ...type, '', body].join('\r\n'), () => sent(undefined)),
    )
    socket.destroy()
    // Read after it, as both belong to one user.
    assert.equal(await visit({ messages, max_tokens: 1, pad }, new AbortController().signal), 'answered')
    small++
    assert.deepEqual([await running(), await waiting()], [0, 0])
  })

  test('during the prefill of its prompt', async () => {
    const before = await read()
    const guests = visitors(parallel, () => long)
    await until('all are being read', async () => (await running()) === parallel)
    await guests.leave()
    await until('nothing runs', async () => (await running()) === 0)
    assert.equal(await read(), before, 'no prefill was completed')
  })

  test('while its answer is written', async () => {
    const before = await read()
    const guests = visitors(parallel, () => endless)
    await until('all prompts are read', async () => (await read()) === before + parallel)
    await guests.leave()
    await until('nothing runs', async () => (await running()) === 0)
    assert.ok((await server.figure('heddle_generation_tokens_total')) < parallel * endless.max_tokens)
  })

  test('while it waits, and running answers continue', async () => {
    const writing = visitors(parallel, () => endless)
    await until('all places are taken', async () => (await running()) === parallel)
    const guests = visitors(40, (i) => (i % 3 === 0 ? long : endless))
    await until('they wait', async () => (await waiting()) === 40)
    await guests.leave()
    await until('nobody waits', async () => (await waiting()) === 0)
    assert.equal(await running(), parallel)
    await writing.leave()
  })

  test('200 of them, each half a second after it connected, in any state', async () => {
    const visits = Array.from({ length: 200 }, async (_, i) => {
      await sleep(i * 5)
      const fields = i % 3 === 0 ? long : endless
      return visit(
        { ...fields, cache_salt: `${i % 5}`, stream: i % 2 === 0, n: 1 + (i % 2) },
        AbortSignal.timeout(500),
      )
    })
    assert.deepEqual(new Set(await Promise.all(visits)), new Set(['left']))
  })

  test('200 of them at once, with all slots in use and a full queue', async () => {
    const guests = visitors(200, (i) => ({ ...(i % 3 === 0 ? long : endless), n: 1 + (i % 2) }))
    await until('all are there', async () => (await running()) + (await waiting()) === 200)
    await sleep(500)
    await guests.leave()
  })
})
