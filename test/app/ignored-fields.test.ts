import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openApp } from '../support/app.ts'
import { project } from '../support/calls.ts'
import { asking, chatUrl } from '../support/chat.ts'
import { scriptedBackend } from '../support/scripted-backend.ts'

const header = 'x-heddle-ignored-fields'
const { post, get } = await openApp({ after }, { backend: scriptedBackend() })
const strict = await openApp(
  { after },
  { backend: scriptedBackend(), settings: { HEDDLE_UNKNOWN_FIELDS: 'refuse' } },
)

const start = { project_id: project, op_name: 'x', started_at: '2026-01-01T00:00:00Z', attributes: {} }
const long = 'x'.repeat(100_000)

for (const [what, url, body, named] of [
  ['a known field', chatUrl, asking({ temperature: 1 }), undefined],
  ['a typing error', chatUrl, asking({ temprature: 1 }), 'temprature'],
  ['a stream', chatUrl, asking({ temprature: 1, stream: true }), 'temprature'],
  ['several', chatUrl, asking({ mirostat: {}, temperature: 1, best: null }), 'mirostat, best'],
  [
    'inner fields',
    chatUrl,
    asking({
      messages: [{ role: 'user', content: 'Hi', nmae: 'x' }],
      stream_options: { usage: 1 },
      stream: true,
    }),
    'messages.0.nmae, stream_options.usage',
  ],
  [
    'members of a part',
    chatUrl,
    asking({
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', cache: { a: 1 } }], nmae: 'x' }],
    }),
    'messages.0.nmae, messages.0.content.0.cache',
  ],
  ['odd characters', chatUrl, asking({ 'a b,\r\n\0é\ud800': 1 }), 'a%20b%2C%0D%0A%00%C3%A9%EF%BF%BD'],
  ['a special name', chatUrl, asking(JSON.parse('{"__proto__": 1}')), '__proto__'],
  ['a refused request', chatUrl, { mesages: [] }, 'mesages'],
  [
    'a body that a thread reads',
    chatUrl,
    asking({ temprature: 1, user: 'me', promt: long }),
    'temprature, promt',
  ],
  ['a large body that is refused', chatUrl, { mesages: [long] }, 'mesages'],
  ['a message of Anthropic', '/v1/messages', { messages: [], max_token: 1 }, 'max_token'],
  ['a query', `/call/start?project=x`, { start: { ...start, inputs: { any: 1 } } }, 'project'],
  ['a call', '/call/start', { start: { ...start, inputs: { any: 1 }, ended: 1 } }, 'start.ended'],
] as const) {
  test(`${what}: fields that the operation does not have are named in a header`, async () => {
    const { headers } = await post(url, body)
    assert.equal(headers[header], named)
  })
}

test('a parameter of a query that the operation does not have is named', async () => {
  const { headers } = await get('/v1/responses/resp_x?starting_after=1&straem=true')
  assert.equal(headers[header], 'straem')
})

test('so is one of an operation without any, but not what the clients of Anthropic add to each', async () => {
  for (const url of ['/api/tags', '/version', '/me']) {
    assert.equal((await get(`${url}?zip=1`)).headers[header], 'zip', url)
    const refused = await strict.get(`${url}?zip=1`)
    assert.deepEqual(
      [refused.status, /query\.zip: unknown field/.test(refused.text)],
      [url === '/api/tags' ? 400 : 422, true],
    )
  }
  const body = { model: 'scripted', max_tokens: 1, messages: [{ role: 'user', content: 'Hi' }] }
  for (const { post: ask } of [{ post }, strict]) {
    const { status, headers } = await ask('/v1/messages?beta=true', body)
    assert.deepEqual([status, headers[header]], [200, undefined])
  }
  assert.equal((await post('/v1/messages?beta=true&zap=1', body)).headers[header], 'zap')
})

test('the version that clients of Azure add to each query is accepted where models are asked', async () => {
  for (const [url, body] of [
    [chatUrl, asking()],
    ['/v1/messages', { max_tokens: 1, messages: [{ role: 'user', content: 'Hi' }] }],
    ['/v1/responses', { input: 'Hi' }],
    ['/openai/deployments/scripted/chat/completions', asking()],
  ] as const) {
    const { status, headers } = await strict.post(`${url}?api-version=2026-01-01`, body)
    assert.deepEqual([status, headers[header]], [200, undefined], url)
  }
  assert.equal((await strict.get('/v1/models?api-version=2026-01-01')).status, 200)
  assert.equal((await strict.get('/me?api-version=2026-01-01')).status, 422)
})

test('the header is bounded, however many fields there are and however long their names', async () => {
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`field${index}`, 1]))
  const { headers } = await post(chatUrl, asking(many))
  const names = Array.from({ length: 20 }, (_, index) => `field${index}`)
  assert.equal(headers[header], [...names, 'and more'].join(', '))
  const answer = await post(chatUrl, asking({ [`${long}`]: 1, ['é'.repeat(5_000)]: 1 }))
  assert.equal(answer.status, 200)
  assert.ok((answer.headers[header] as string).length <= 2_048)
})

test('an answer that is sent back as it came has no unknown fields', async () => {
  const user = { role: 'user', content: 'Hi' }
  for (const { post: ask } of [{ post }, strict]) {
    const included = { include: ['message.output_text.logprobs'], top_logprobs: 1 }
    const { json } = await ask('/v1/responses', { input: [user], ...included })
    const [{ content }] = json.output
    assert.deepEqual(Object.keys(content[0]), ['type', 'text', 'annotations', 'logprobs'])
    const again = await ask('/v1/responses', { input: [user, ...json.output, user] })
    assert.deepEqual([again.status, again.headers[header]], [200, undefined])
    const call = { type: 'tool_use', id: 'a', name: 'find', input: {}, caller: { type: 'direct' } }
    const messages = [
      user,
      { role: 'assistant', content: [call] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] },
    ]
    const message = await ask('/v1/messages', { max_tokens: 9, messages })
    assert.deepEqual([message.status, message.headers[header]], [200, undefined])
  }
})

test('what clients of OpenAI, LangChain and Mistral add to an answer and send back is known', async () => {
  const user = { role: 'user', content: 'Hi' }
  const called = { name: 'find', arguments: '{}', parsed_arguments: {} }
  const call = { id: 'a', index: 0, type: 'function', function: called }
  const answer = { role: 'assistant', content: '', tool_calls: [call], parsed: { a: [] }, annotations: [] }
  const messages = [user, { ...answer, prefix: false }, { role: 'tool', tool_call_id: 'a', content: 'x' }]
  for (const { post: ask } of [{ post }, strict]) {
    const { status, headers } = await ask(chatUrl, asking({ messages }))
    assert.deepEqual([status, headers[header]], [200, undefined])
    const part = { type: 'output_text', text: 'So', annotations: [], parsed: { a: 1 } }
    const input = [
      user,
      { role: 'assistant', content: [part] },
      { type: 'function_call', call_id: 'a', ...called },
      { type: 'function_call_output', call_id: 'a', output: 'x' },
    ]
    const response = await ask('/v1/responses', { input })
    assert.deepEqual([response.status, response.headers[header]], [200, undefined])
    const prefix = await ask(chatUrl, asking({ messages: [user, { ...user, prefix: true }] }))
    assert.deepEqual([prefix.status, prefix.json.error.param], [400, 'messages.1.prefix'])
    assert.match(prefix.json.error.message, /continue_final_message/)
  }
})

test('with HEDDLE_UNKNOWN_FIELDS=refuse they are refused by name, with the name that was probably meant', async () => {
  const error = async (url: string, body: unknown) => (await strict.post(url, body)).json.error
  assert.partialDeepStrictEqual(await error(chatUrl, asking({ temprature: 1 })), {
    message: 'The body does not fit the schema: temprature: unknown field, perhaps temperature.',
    param: 'temprature',
    code: 'invalid_request',
  })
  const inner = asking({ messages: [{ role: 'user', content: 'Hi', nmae: 'x' }], stream: true })
  assert.equal((await error(chatUrl, inner)).param, 'messages.0.nmae')
  assert.equal((await error(chatUrl, asking({ prompt: long }))).param, 'prompt')
  const query = await strict.get('/v1/responses/resp_x?straem=true')
  assert.deepEqual([query.status, query.json.error.param], [400, 'query.straem'])
  const call = await strict.post('/call/start', { start: { ...start, inputs: {}, ended: 1 } })
  assert.deepEqual([call.status, call.json.detail[0].loc], [422, ['body', 'start', 'ended']])
  for (const [url, body] of [
    [chatUrl, asking({ temperature: 1 })],
    ['/call/start', { start: { ...start, inputs: { any: 1 } } }],
    ['/otel/v1/traces', { resourceSpans: [], later: 1 }],
  ] as const) {
    assert.equal((await strict.post(url, body)).status, 200, url)
  }
})
