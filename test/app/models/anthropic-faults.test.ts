import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { basic, keys, openApp } from '../../support/app.ts'
import { asking, chatUrl, eventsOf } from '../../support/chat.ts'
import {
  answerJson,
  blockOf,
  endOf,
  errorBody,
  listedModel,
  openBeforeAnthropic,
  spoken,
  startOf,
  streaming,
  textBlock,
} from '../../support/fake-anthropic.ts'
import { modelsOfUpstream, startFakeUpstream, type UpstreamHandler } from '../../support/fake-upstream.ts'
import { askingMessage, messageStreamOf, messagesUrl } from '../../support/messages.ts'
import { until, withTimeout } from '../../support/wait.ts'

// Each way in which a server with Anthropic's API can fail has a defined answer.

const replying =
  (status: number, type: string, message: string, headers = {}): UpstreamHandler =>
  (response) =>
    answerJson(response, errorBody(type, message), status, headers)

const refused: Record<string, [answer: UpstreamHandler, status: number, code: string, message: RegExp]> = {
  'a wrong request': [
    replying(400, 'invalid_request_error', 'max_tokens: 9 > 8.'),
    400,
    'upstream_refused',
    /max_tokens: 9 > 8/,
  ],
  'an unknown model': [replying(404, 'not_found_error', 'model: far'), 400, 'upstream_refused', /model: far/],
  'a wrong key': [
    replying(401, 'authentication_error', 'invalid x-api-key'),
    502,
    'upstream_failed',
    /key of this server/,
  ],
  'a key without the right': [
    replying(403, 'permission_error', 'no'),
    502,
    'upstream_failed',
    /key of this server/,
  ],
  'too many requests': [
    replying(429, 'rate_limit_error', 'slow', { 'retry-after': '7' }),
    429,
    'upstream_busy',
    /./,
  ],
  'an overloaded server': [
    replying(529, 'overloaded_error', 'Overloaded', { 'retry-after': '7' }),
    503,
    'upstream_unavailable',
    /529/,
  ],
  'a failing server': [replying(500, 'api_error', 'Oops'), 503, 'upstream_unavailable', /500/],
  'a redirection': [
    (response) => response.writeHead(307, { location: 'http://127.0.0.1:9/v1/messages' }).end(),
    502,
    'upstream_failed',
    /307, a redirection/,
  ],
  'a page': [
    (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    502,
    'upstream_failed',
    /text\/html/,
  ],
  'an error as the first event': [streaming(errorBody('api_error', 'Oops')), 502, 'upstream_failed', /Oops/],
  'an overload as the first event': [
    streaming(errorBody('overloaded_error', 'Overloaded')),
    503,
    'upstream_unavailable',
    /Overloaded/,
  ],
  'a limit as the first event': [
    streaming(errorBody('rate_limit_error', 'slow')),
    429,
    'upstream_busy',
    /busy/,
  ],
  'a block of a server tool': [
    streaming(startOf(), ...blockOf(0, { type: 'server_tool_use', id: 'x', name: 'web_search' })),
    502,
    'upstream_failed',
    /server_tool_use/,
  ],
  'a delta of an unknown type': [
    streaming(startOf(), ...blockOf(0, { type: 'text', text: '' }, { type: 'delta_of_tomorrow' })),
    502,
    'upstream_failed',
    /delta_of_tomorrow/,
  ],
  'chunks of another API': [streaming({ choices: [] }), 502, 'upstream_failed', /without a type/],
  'an answer without an end': [
    streaming(startOf(), ...textBlock(0, 'Hi')),
    502,
    'upstream_failed',
    /broke off/,
  ],
}

for (const [what, [answer, status, code, message]] of Object.entries(refused)) {
  test(`${what} is answered by its code`, async (t) => {
    const { post } = await openBeforeAnthropic(t, answer)
    const { json, status: got, headers } = await post(chatUrl, asking())
    assert.deepEqual([got, json.error.code], [status, code], json.error.message)
    assert.match(json.error.message, message)
    if (what === 'too many requests' || what === 'an overloaded server')
      assert.equal(headers['retry-after'], '7')
  })
}

test('an error in the middle of a stream ends it with an error event', async (t) => {
  const middle = [
    startOf(),
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Half' } },
  ]
  const { post } = await openBeforeAnthropic(
    t,
    streaming(...middle, errorBody('overloaded_error', 'Overloaded')),
  )
  const chat = await post(chatUrl, asking({ stream: true }))
  const { error } = eventsOf(chat.text)
  assert.equal(error?.code, 'upstream_unavailable')
  assert.match(error?.message ?? '', /Overloaded/)
  const message = messageStreamOf((await post(messagesUrl, askingMessage({ stream: true }))).text)
  assert.equal(message.error?.error.details.error_code, 'upstream_unavailable')
  assert.equal(message.error?.error.type, 'overloaded_error')
})

test('another address is asked after a 429 or a 529', async (t) => {
  for (const status of [429, 529]) {
    const busy = await startFakeUpstream(t, replying(status, 'overloaded_error', 'x'), {
      models: [listedModel()],
    })
    const well = await startFakeUpstream(t, streaming(...spoken), { models: [listedModel()] })
    const { post } = await openApp(t, { models: await modelsOfUpstream([busy.url, well.url]) })
    // The beginning of the prompt decides which address is asked first.
    for (let turn = 0; busy.asked.length === 0; turn++) {
      const { json } = await post(chatUrl, asking({ messages: [{ role: 'user', content: `Turn ${turn}` }] }))
      assert.equal(json.choices?.[0].message.content, 'Hello', JSON.stringify(json))
    }
    assert.ok(well.asked.length > 0)
  }
})

test('another address is asked after an overload before the first piece of an answer', async (t) => {
  const overload = errorBody('overloaded_error', 'Overloaded')
  const opened = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
  for (const stream of [false, true]) {
    // An address that was busy is left alone for a while, so each has its own.
    const busy = await startFakeUpstream(t, streaming(startOf(), opened, overload), {
      models: [listedModel()],
    })
    const well = await startFakeUpstream(t, streaming(...spoken), { models: [listedModel()] })
    const { post } = await openApp(t, { models: await modelsOfUpstream([busy.url, well.url]) })
    // The beginning of the prompt decides which address is asked first.
    for (let turn = 0; busy.asked.length === 0; turn++) {
      assert.ok(turn < 60, 'the busy address is never asked')
      const messages = [{ role: 'user', content: `Turn ${turn}` }]
      const { json, text } = await post(messagesUrl, askingMessage({ stream, messages }))
      if (!stream) assert.equal(json.content?.[0].text, 'Hello', text)
      else {
        const words = [...text.matchAll(/"text_delta","text":"(\w+)"/g)].map(([, word]) => word)
        assert.equal(words.join(''), 'Hello', text)
      }
      assert.equal(text.split('event: message_start').length, stream ? 2 : 1)
    }
  }
})

test('silence is a timeout', async (t) => {
  const { post } = await openBeforeAnthropic(t, () => {}, { silenceMs: 200 })
  const { status, json } = await post(chatUrl, asking())
  assert.deepEqual([status, json.error.code], [504, 'upstream_timeout'])
})

test('a stream that stays open after its end is over', async (t) => {
  const { post } = await openBeforeAnthropic(t, (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of [startOf(), ...textBlock(0, 'Hi'), ...endOf('end_turn')])
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  })
  const { json } = await withTimeout('the answer ends', post(chatUrl, asking()))
  assert.equal(json.choices[0].message.content, 'Hi')
})

test('a client that leaves in the middle of a stream ends the request there', async (t: TestContext) => {
  const { app, upstream } = await openBeforeAnthropic(t, (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of [
      startOf(),
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hi' } },
    ])
      response.write(`data: ${JSON.stringify(event)}\n\n`)
  })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const leaving = new AbortController()
  const answer = await fetch(`${address}${chatUrl}`, {
    method: 'POST',
    headers: { authorization: basic(keys.alice), 'content-type': 'application/json' },
    body: JSON.stringify(asking({ stream: true })),
    signal: leaving.signal,
  })
  const reader = answer.body?.getReader()
  await reader?.read()
  leaving.abort()
  await until('the request there has ended', async () => upstream.left === 1)
})
