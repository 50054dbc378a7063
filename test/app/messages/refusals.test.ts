import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { refuse } from '../../../src/domain/refusals.ts'
import { basic, keys, openApp } from '../../support/app.ts'
import { askingMessage, assertMessageRefused, messageStreamOf, messagesUrl } from '../../support/messages.ts'
import { prefilled, scriptedBackend, tokens } from '../../support/scripted-backend.ts'

const countUrl = `${messagesUrl}/count_tokens`
const backend = scriptedBackend()
const { app, post, get } = await openApp({ after }, { backend })

const invalid = { status: 400, type: 'invalid_request_error' }

test('credentials are checked first, and x-api-key is accepted', async () => {
  const ask = async (headers: Record<string, string>, payload = JSON.stringify(askingMessage())) => {
    const answer = await app.inject({
      method: 'POST',
      url: `${messagesUrl}?beta=true`,
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...headers },
      payload,
    })
    return { status: answer.statusCode, json: answer.json(), headers: answer.headers }
  }
  const type = 'authentication_error'
  assertMessageRefused(await ask({}, 'no JSON'), { status: 401, type, code: 'not_authenticated' })
  assertMessageRefused(await ask({ 'x-api-key': 'wrong-secret-key' }), {
    status: 401,
    type,
    code: 'wrong_credentials',
  })
  for (const headers of [
    { 'x-api-key': keys.alice },
    { authorization: `Bearer ${keys.alice}` },
    { authorization: basic(keys.alice), 'anthropic-beta': 'interleaved-thinking-2025-05-14' },
  ]) {
    const { status, json } = await ask(headers)
    assert.deepEqual([status, json.content[0].text], [200, 'Hello'])
  }
})

test('every refusal has the envelope and the type of Anthropic', async () => {
  for (const url of [messagesUrl, countUrl]) {
    assertMessageRefused(await post(url, '{'), { ...invalid, code: 'malformed_json' })
    assertMessageRefused(await post(url, askingMessage({ model: 'claude-sonnet-4-5' })), {
      status: 404,
      type: 'not_found_error',
      code: 'model_not_found',
      message: /"scripted", "alias\/of-it"/,
    })
  }
  assertMessageRefused(await get(`${messagesUrl}/others`), {
    status: 404,
    type: 'not_found_error',
    code: 'route_not_found',
  })
  assertMessageRefused(await get(messagesUrl), { ...invalid, status: 405, code: 'method_not_allowed' })
})

test('a body that is too large is refused', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend(), settings: { HEDDLE_BODY_LIMIT: '2048' } })
  assertMessageRefused(await post(messagesUrl, askingMessage({ system: 'x'.repeat(3000) })), {
    status: 413,
    type: 'request_too_large',
    code: 'body_too_large',
  })
})

test('a busy or unready model has its own error type, and the request may be retried', async (t) => {
  const busy = scriptedBackend()
  const { post } = await openApp(t, { backend: busy })
  busy.generate = async () => {
    throw refuse('engine_queue_full', { limit: 1 })
  }
  const full = await post(messagesUrl, askingMessage({ stream: true }))
  assertMessageRefused(full, { status: 429, type: 'rate_limit_error', code: 'engine_queue_full' })
  assert.equal(full.headers['retry-after'], '1')
  busy.served = undefined
  busy.state = { state: 'starting', doing: 'loading' }
  const starting = await post(messagesUrl, askingMessage())
  assertMessageRefused(starting, { status: 503, type: 'overloaded_error', code: 'model_not_ready' })
  assert.equal(starting.headers['retry-after'], '1')
})

test('a prompt that is too long names messages, and no max_tokens is too large', async (t) => {
  const long = scriptedBackend()
  const { post } = await openApp(t, { backend: long })
  long.generate = async ({ ending }) => {
    assert.deepEqual([ending.maxTokens, ending.isClipped], [1_000_000, true])
    throw refuse('context_length_exceeded', { limit: 10, prompt: 12, answer: 'at least 1' })
  }
  assertMessageRefused(await post(messagesUrl, askingMessage({ max_tokens: 1_000_000 })), {
    ...invalid,
    code: 'context_length_exceeded',
    message: /maximum context length is 10 tokens/,
  })
})

const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })
const assistant = (...content: unknown[]) => ({
  messages: [
    { role: 'assistant', content },
    { role: 'user', content: 'Hi' },
  ],
})
const tool = { name: 'look', input_schema: { type: 'object' } }

/** Counting tokens refuses invalid conversations, too. */
const wrongConversations: [fields: Record<string, unknown>, message: RegExp][] = [
  [{ messages: undefined }, /messages: /],
  [{ messages: null }, /messages: /],
  [{ messages: 'Hi' }, /messages: /],
  [{ messages: [] }, /^messages: an empty list; accepted: at least one message/],
  [{ messages: ['Hi'] }, /messages\.0: /],
  [{ messages: [{ role: 'tool', content: 'Hi' }] }, /messages\.0\.role: .*"user"\|"assistant"\|"system"/],
  [{ messages: [{ role: 'user' }] }, /messages\.0\.content: expected a string or a list/],
  [user(5), /messages\.0\.content: /],
  [user([{ text: 'Hi' }]), /messages\.0\.content/],
  [user([{ type: 'text' }]), /^messages\.0\.content\.0\.text: nothing; accepted: a string/],
  [
    user([
      { type: 'text', text: 'See' },
      { type: 'image', source: { type: 'base64', data: 'AAAA' } },
    ]),
    /^messages\.0\.content\.1\.type: a block of type "image".*accepted: text, tool_result\./,
  ],
  [user([{ type: 'document', source: {} }]), /a block of type "document"/],
  [user([{ type: 'tool_use', id: 'a', name: 'look', input: {} }]), /a block of type "tool_use"/],
  [user([{ type: 'tool_result' }]), /^messages\.0\.content\.0\.tool_use_id: nothing/],
  [
    user([{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'image', source: {} }] }]),
    /^messages\.0\.content\.0\.content\.0\.type: a block of type "image"/,
  ],
  [assistant({ type: 'tool_result', tool_use_id: 'a' }), /a block of type "tool_result"/],
  [assistant({ type: 'server_tool_use', id: 'a', name: 'web_search', input: {} }), /"server_tool_use"/],
  [assistant({ type: 'tool_use', name: 'look', input: {} }), /^messages\.0\.content\.0\.id: nothing/],
  [assistant({ type: 'tool_use', id: 'a', input: {} }), /^messages\.0\.content\.0\.name: nothing/],
  [assistant({ type: 'tool_use', id: 'a', name: 'look' }), /^messages\.0\.content\.0\.input: nothing/],
  [
    assistant({ type: 'tool_use', id: 'a', name: 'look', input: [] }),
    /messages\.0\.content.*input: expected an object/,
  ],
  [assistant({ type: 'thinking', signature: 'x' }), /^messages\.0\.content\.0\.thinking: nothing/],
  [
    assistant({ type: 'thinking', thinking: 'x', signature: 'heddle-thought-x' }),
    /^messages\.0\.content\.0\.signature: the signature of another thought/,
  ],
  [
    {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
      ],
    },
    /^messages: a last message with a block of type "tool_use"/,
  ],
  [{ system: 5 }, /system: /],
  [{ system: [{ type: 'image', source: {} }] }, /^system\.0\.type: a block of type "image"/],
  [{ tools: {} }, /tools: /],
  [{ tools: [{ input_schema: {} }] }, /^tools\.0\.name: nothing/],
  [{ tools: [{ name: 'look' }] }, /^tools\.0\.input_schema: nothing; accepted: a JSON Schema/],
  [{ tools: [{ name: 'look', input_schema: 'x' }] }, /tools\.0\.input_schema: expected an object/],
  [{ tool_choice: 'auto' }, /tool_choice: /],
  [{ tool_choice: { type: 'all' } }, /tool_choice\.type: /],
  [{ thinking: { type: 'deep' } }, /thinking\.type: /],
  [{ thinking: { type: 'enabled', budget_tokens: 0 } }, /thinking\.budget_tokens: /],
  [{ output_config: { effort: 'huge' } }, /output_config\.effort: /],
  [{ output_config: { format: { type: 'json_schema' } } }, /output_config\.format\.schema: /],
]

const wrongRequests: [fields: Record<string, unknown>, message: RegExp][] = [
  [{ max_tokens: undefined }, /max_tokens: expected number, received nothing/],
  [{ max_tokens: 0 }, /max_tokens: /],
  [{ stop_sequences: 'x' }, /stop_sequences: /],
  [{ stop_sequences: [''] }, /stop_sequences\.0: /],
  [{ temperature: -1 }, /temperature: /],
  [{ top_p: 2 }, /top_p: /],
  [{ top_k: 1.5 }, /top_k: /],
  [{ metadata: 'x' }, /metadata: /],
  [{ stream: 'x' }, /stream: /],
  [{ container: 'container_1' }, /^container: /],
  [{ mcp_servers: [{ type: 'url', url: 'http://x' }] }, /^mcp_servers: /],
  [{ compaction: { type: 'summarize' } }, /compaction: is not supported here/],
  [{ thread: { type: 'create' } }, /^thread: a thread is not available/],
  [{ tool_choice: { type: 'any' } }, /^tool_choice\.type: "any" without a tool/],
  [
    { tools: [{ type: 'bash_20250124', name: 'bash' }], tool_choice: { type: 'any' } },
    /^tool_choice\.type: "any" without a tool/,
  ],
  [{ tools: [tool], tool_choice: { type: 'tool' } }, /^tool_choice\.name: nothing/],
  [{ tools: [tool], tool_choice: { type: 'tool', name: 'other' } }, /^tool_choice: the tool "other"/],
  [{ tools: [tool, tool] }, /^tools\.1\.name: "look" a second time/],
  [{ tools: [{ ...tool, name: 'a b' }] }, /^tools\.0\.name: "a b"/],
  [{ thinking: { type: 'enabled' } }, /^thinking\.budget_tokens: nothing/],
  [{ output_format: { type: 'json_schema', schema: { type: 'rope' } } }, /^output_format\.schema: /],
  [
    { output_config: { format: { type: 'json_schema', schema: { type: 'rope' } } } },
    /^output_config\.format\.schema: /,
  ],
]

for (const [fields, message] of [...wrongConversations, ...wrongRequests]) {
  test(`${JSON.stringify(fields).slice(0, 120)} is refused and named`, async () => {
    const counts = wrongConversations.some(([one]) => one === fields)
    for (const url of counts ? [messagesUrl, countUrl] : [messagesUrl]) {
      for (const stream of [false, true]) {
        const answer = await post(url, askingMessage({ stream, ...fields }))
        assert.deepEqual(
          [answer.status, answer.json?.error.type],
          [400, 'invalid_request_error'],
          answer.text,
        )
        const said = answer.json.error.message.replace('The body does not fit the schema: ', '')
        assert.match(said, message)
      }
    }
  })
}

test('continuing a thread is refused with the code that makes the SDK send the whole conversation', async () => {
  const thread = { type: 'continue', previous_message_id: 'msg_1' }
  const refused = await post(messagesUrl, askingMessage({ thread }))
  assertMessageRefused(refused, { ...invalid, code: 'thread_unsupported_request' })
  assert.equal((await post(messagesUrl, askingMessage({ thread: null }))).status, 200)
})

test('HEDDLE_TOOL_CHOICE=none keeps models from calling tools', async (t) => {
  const backend = scriptedBackend()
  const { post } = await openApp(t, { backend, settings: { HEDDLE_TOOL_CHOICE: 'none' } })
  for (const tool_choice of [undefined, { type: 'none' }]) {
    assert.equal((await post(messagesUrl, askingMessage({ tools: [tool], tool_choice }))).status, 200)
  }
  const refused = await post(messagesUrl, askingMessage({ tools: [tool], tool_choice: { type: 'any' } }))
  assertMessageRefused(refused, { ...invalid, code: 'tool_choice_off' })
})

test('a failure in the middle is an event that ends the stream', async (t) => {
  const broken = scriptedBackend(function* (request) {
    yield prefilled(request)
    yield tokens('Hel', request)
    yield refuse('engine_failed', { why: 'it ended' })
  })
  const { post } = await openApp(t, { backend: broken })
  const { status, text, headers } = await post(messagesUrl, askingMessage({ stream: true }))
  assert.equal(status, 200)
  const { error, message, events } = messageStreamOf(text)
  assert.equal(message, undefined)
  assert.equal(events[0]?.type, 'message_start')
  assert.deepEqual(
    [error?.error.type, error?.error.details.error_code, error?.request_id],
    ['overloaded_error', 'engine_failed', headers['request-id']],
  )
  assertMessageRefused(await post(messagesUrl, askingMessage()), {
    status: 503,
    type: 'overloaded_error',
    code: 'engine_failed',
  })
})

test('a silent stream has pings', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const slow = scriptedBackend(async function* (request) {
    await promise
    yield prefilled(request)
    yield tokens('Hello', request)
    yield { kind: 'finished', choice: 0, reason: 'stop', stop: null }
  })
  const { app } = await openApp(t, { backend: slow, streams: { keepAliveMs: 5 } })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const answer = await fetch(`${address}${messagesUrl}`, {
    method: 'POST',
    headers: { 'x-api-key': keys.alice, 'content-type': 'application/json' },
    body: JSON.stringify(askingMessage({ stream: true })),
  })
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of answer.body as ReadableStream<Uint8Array>) {
    text += decoder.decode(bytes, { stream: true })
    // The start arrives at once, and pings follow while the prompt is computed.
    if (text.includes('event: ping')) resolve()
  }
  const { pings, message, events } = messageStreamOf(text)
  assert.ok(pings >= 1)
  assert.equal(events[0]?.type, 'message_start')
  assert.equal(message?.content[0]?.type, 'text')
})

test('a client that disconnects ends the generation', async (t) => {
  const endless = scriptedBackend(async function* (request) {
    yield prefilled(request)
    yield tokens('Hello', request)
    await new Promise<never>(() => undefined)
  })
  const { app } = await openApp(t, { backend: endless })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const leaving = new AbortController()
  const answer = await fetch(`${address}${messagesUrl}`, {
    method: 'POST',
    headers: { 'x-api-key': keys.alice, 'content-type': 'application/json' },
    body: JSON.stringify(askingMessage({ stream: true })),
    signal: leaving.signal,
  })
  await answer.body?.getReader().read()
  leaving.abort()
  await endless.abortedAtLeast(1)
  await endless.idle()
})

test('the tenant of a generation is the caller', async () => {
  await post(messagesUrl, askingMessage(), keys.bob)
  assert.equal(backend.asked.at(-1)?.tenant, 'bob')
  await post(messagesUrl, askingMessage())
  assert.equal(backend.asked.at(-1)?.tenant, 'alice')
})

test('a token count with MCP servers is refused, because their tools cannot be counted', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend() })
  const body = { messages: [{ role: 'user', content: 'Hi' }] }
  const refused = await post(countUrl, { ...body, mcp_servers: [{ type: 'url', url: 'http://x' }] })
  assert.deepEqual([refused.status, refused.json.error.details.error_code], [400, 'invalid_value'])
  assert.match(refused.json.error.message, /^mcp_servers: /)
  assert.equal((await post(countUrl, { ...body, mcp_servers: [], speed: 'fast' })).status, 200)
})
