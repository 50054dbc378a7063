import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asking, chatUrl } from '../support/chat.ts'
import { startChatServer } from '../support/chat-server.ts'
import { startServer } from '../support/server.ts'
import { until, withTimeout } from '../support/wait.ts'

const context = 65_536
const endless = { max_tokens: 60_000, ignore_eos: true }
const message = 'The server is stopping.'

/** Messages have no `ignore_eos`: there a call whose text must be long does not end by itself. */
const endlessMessage = {
  ...asking({ max_tokens: 60_000 }),
  tools: [
    {
      name: 'write',
      input_schema: {
        type: 'object',
        properties: { text: { type: 'string', minLength: 50_000 } },
        required: ['text'],
        additionalProperties: false,
      },
    },
  ],
  tool_choice: { type: 'any' },
}

interface StreamCase {
  url: string
  body: object
  /** How the stream has to end. */
  end: RegExp
}

/** One for each API that streams answers, with the form in which its clients read an error. */
const streams: StreamCase[] = [
  {
    url: chatUrl,
    body: asking({ ...endless, stream: true }),
    end: /data: {"error":{"message":"The server is stopping\.","type":"overloaded_error","param":null,"code":"stopping"}}\n\ndata: \[DONE]\n\n$/,
  },
  {
    url: '/v1/completions',
    body: { prompt: 'Hi', ...endless, stream: true },
    end: /data: {"error":{"message":"The server is stopping\.",[^\n]*"code":"stopping"}}\n\ndata: \[DONE]\n\n$/,
  },
  {
    url: '/v1/responses',
    body: { input: 'Hi', max_output_tokens: 60_000, ignore_eos: true, stream: true },
    end: /event: response\.failed\ndata: (?=[^\n]*"status":"failed")[^\n]*"message":"The server is stopping\."[^\n]*\n\ndata: \[DONE]\n\n$/,
  },
  {
    url: '/v1/messages',
    body: { ...endlessMessage, stream: true },
    end: /event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"The server is stopping\.","details":{"error_code":"stopping"}},[^\n]*}\n\n$/,
  },
]

/** Reads a stream, and resolves `begun` at its first bytes. */
function reading(answer: Promise<Response>) {
  const begun = Promise.withResolvers<void>()
  const whole = (async () => {
    const { body, ok } = await answer
    if (!ok) assert.fail(await (await answer).text())
    let text = ''
    for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece
      begun.resolve()
    }
    return text
  })()
  void whole.catch(begun.reject)
  return { begun: begun.promise, whole }
}

test('answers that a stop cuts off end with the reason, in the form of their API, and are recorded', async (t) => {
  const server = await startChatServer(t, {
    model: { context },
    settings: { HEDDLE_GRACE: '500', HEDDLE_PARALLEL: '6', HEDDLE_CONTEXT: String(context) },
  })
  const running = streams.map(({ url, body }) => reading(server.post(url, body)))
  const whole = server.post(chatUrl, asking(endless))
  const pooled = server.post('/v1/messages', endlessMessage)
  await Promise.all(running.map(({ begun }) => withTimeout('the stream begins', begun)))
  await until('all answers run', async () => (await server.figure('heddle_num_requests_running')) === 6)
  const ended = server.end('SIGTERM')
  for (const [index, { url, end }] of streams.entries()) {
    assert.match((await running[index]?.whole)?.slice(-10_000) ?? '', end, url)
  }
  for (const answer of [await whole, await pooled]) {
    const text = await answer.text()
    assert.equal(answer.status, 503, text.slice(0, 300) + text.slice(-800))
    assert.match(text, /"message":"The server is stopping\."/)
  }
  assert.equal(await withTimeout('the server ends', ended), 0)
  const lines = server.log.map((line) => JSON.parse(line) as { msg: string; requests?: number })
  const waiting = lines.find(({ requests }) => requests !== undefined)
  assert.equal(
    waiting?.msg,
    'waiting up to 0.5 s for 6 requests to finish; a second signal stops the server at once',
  )

  const again = await startServer(t, { HEDDLE_DATA: server.folder })
  const found = await again.post('/calls/stream_query', { project_id: 'acme/default' })
  const calls = (await found.text()).trim().split('\n')
  assert.deepEqual(
    calls.map((call) => (JSON.parse(call) as { exception: string }).exception),
    Array.from({ length: 6 }, () => message),
  )
  assert.equal(await again.end('SIGTERM'), 0)
})

test('a stop with nothing to wait for does not tell of waiting', async (t) => {
  const server = await startChatServer(t, { model: {} })
  assert.equal((await server.post(chatUrl, asking({ max_tokens: 1 }))).status, 200)
  assert.equal(await withTimeout('the server ends', server.end('SIGTERM')), 0)
  assert.ok(!server.log.some((line) => line.includes('waiting up to')))
})
