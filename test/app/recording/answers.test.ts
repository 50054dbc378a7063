import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refuse } from '../../../src/domain/refusals.ts'
import { openApp, type TestApp } from '../../support/app.ts'
import { asking, chatUrl, eventsOf } from '../../support/chat.ts'
import { prefilled, scriptedBackend, tokens } from '../../support/scripted-backend.ts'

const project_id = 'acme/default'

async function callOf(
  { post }: Pick<TestApp, 'post'>,
  headers: Record<string, unknown>,
  project = project_id,
) {
  const { status, json, text } = await post('/call/read', {
    project_id: project,
    id: headers['x-heddle-call-id'],
  })
  assert.equal(status, 200, text)
  return { ...json.call, text }
}

test('P12: an answer is recorded as a call with the request as sent, the answer and its usage', async (t) => {
  const app = await openApp(t, { backend: scriptedBackend() })
  const { status, text, json, headers } = await app.post(chatUrl, asking({ temperature: 0.5 }))
  assert.equal(status, 200)
  const call = await callOf(app, headers)
  assert.equal(call.id, headers['x-heddle-call-id'])
  assert.equal(call.op_name, 'heddle.chat.completions')
  assert.deepEqual(call.inputs, asking({ temperature: 0.5 }))
  assert.deepEqual(call.output, JSON.parse(text))
  assert.deepEqual(call.attributes, {
    heddle: { completion: json.id, wire: 'openai', stream: false },
  })
  const { prompt_tokens, completion_tokens, total_tokens } = json.usage
  assert.deepEqual(call.summary.usage, {
    scripted: { requests: 1, prompt_tokens, completion_tokens, total_tokens },
  })
  assert.deepEqual(call.summary.heddle.finish_reasons, ['stop'])
  assert.equal(call.summary.heddle.cached_tokens, 3)
  assert.ok(call.summary.heddle.first_token_ms <= call.summary.heddle.total_ms)
  assert.equal(call.summary.weave.status, 'success')
  assert.equal(call.svc_user_id, 'alice')
  assert.equal(call.exception, null)
})

test('P12: the cost of a call follows from the price of its model', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend() })
  const costs = { scripted: { prompt_token_cost: 2, completion_token_cost: 3 } }
  assert.equal((await post('/cost/create', { project_id, costs })).status, 200)
  const { headers, json } = await post(chatUrl, asking())
  const id = headers['x-heddle-call-id']
  const read = await post('/call/read', { project_id, id, include_costs: true })
  const { prompt_tokens, completion_tokens } = json.usage
  const { scripted } = read.json.call.summary.weave.costs
  assert.equal(scripted.prompt_tokens_total_cost, 2 * prompt_tokens)
  assert.equal(scripted.completion_tokens_total_cost, 3 * completion_tokens)
})

for (const [url, body] of [
  [chatUrl, asking({ n: 2, logprobs: true, top_logprobs: 1, return_token_ids: true, temperature: 1 })],
  ['/v1/completions', { prompt: ['a', 'b'], n: 2, temperature: 1, echo: true, logprobs: 1 }],
  ['/v1/completions', { prompt: 'a', return_token_ids: true }],
] as const) {
  test(`P12: a stream of ${url} is recorded like the whole answer: ${JSON.stringify(body).slice(0, 60)}`, async (t) => {
    const app = await openApp(t, { backend: scriptedBackend() })
    const whole = await app.post(url, body)
    assert.equal(whole.status, 200, whole.text)
    const streamed = await app.post(url, { ...body, stream: true })
    const { chunks } = eventsOf(streamed.text)
    const call = await callOf(app, streamed.headers)
    assert.equal(call.output.id, chunks[0]?.id)
    assert.equal(call.attributes.heddle.stream, true)
    assert.deepEqual(call.output.choices, whole.json.choices)
    assert.deepEqual(call.output.usage, whole.json.usage)
    assert.deepEqual((await callOf(app, whole.headers)).output, whole.json)
  })
}

test('P12: the request is kept as its client wrote it, except for white space and cache_salt', async (t) => {
  const app = await openApp(t, { backend: scriptedBackend() })
  const messages = '"messages":[{"role":"user","content":"\\u00e9\\ud800 "}]'
  const rest = '"seed":7,"temperature":1.0,"unknown":{"n":12345678901234567890}'
  const kept = `{${messages},${rest}}`
  for (const body of [
    kept,
    ` { ${messages} ,\n${rest} } `,
    `{${messages},"cache_salt":"a secret",${rest}}`,
    `{"cache_\\u0073alt":"a secret",${messages},${rest},"cache_salt":null}`,
  ]) {
    const { status, headers, text } = await app.post(chatUrl, body)
    assert.equal(status, 200, text)
    const call = await callOf(app, headers)
    assert.ok(call.text.includes(`"inputs":${kept}`), call.text)
    assert.ok(!call.text.includes('a secret'))
  }
})

test('P12: a body that is too large to be read on the main thread is kept in the same way', async (t) => {
  const app = await openApp(t, { backend: scriptedBackend() })
  const content = 'é'.repeat(100_000)
  const body = ` {"messages": [{"role": "user", "content": "${content}"}], "temperature": 1.0, "cache_salt": "a secret"}`
  const { status, headers } = await app.post(chatUrl, body)
  assert.equal(status, 200)
  const call = await callOf(app, headers)
  const kept = `"inputs":{"messages":[{"role":"user","content":"${content}"}],"temperature":1.0}`
  assert.ok(call.text.includes(kept))
})

test('P12: templates, tools and constraints are kept', async (t) => {
  const app = await openApp(t, { backend: scriptedBackend() })
  const body = asking({
    chat_template: '{{ messages[0].content }}',
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
    tool_choice: 'none',
    regex: '[a-z]+',
  })
  const { status, headers, text } = await app.post(chatUrl, body)
  assert.equal(status, 200, text)
  assert.deepEqual((await callOf(app, headers)).inputs, body)
})

test('P12: metadata is kept with the call', async (t) => {
  const app = await openApp(t, { backend: scriptedBackend() })
  const { headers } = await app.post(chatUrl, asking({ metadata: { run: '7' } }))
  assert.deepEqual((await callOf(app, headers)).attributes.heddle.metadata, { run: '7' })
  const refused = await app.post(chatUrl, asking({ metadata: { run: { deep: 1 } } }))
  assert.deepEqual([refused.status, refused.json.error.param], [400, 'metadata.run'])
})

test('P12: an answer that fails in the middle is a call with its partial text and the reason', async (t) => {
  const backend = scriptedBackend(function* (request) {
    yield prefilled(request)
    yield tokens('Hel', request)
    yield refuse('engine_failed', { why: 'it was tired' })
  })
  const app = await openApp(t, { backend })
  const whole = await app.post(chatUrl, asking())
  assert.equal(whole.status, 503)
  const streamed = await app.post(chatUrl, asking({ stream: true }))
  for (const { headers } of [whole, streamed]) {
    const call = await callOf(app, headers)
    assert.equal(call.exception, whole.json.error.message)
    assert.equal(call.output.choices[0].message.content, 'Hel')
    assert.equal(call.output.choices[0].finish_reason, null)
    assert.equal(call.summary.usage.scripted.completion_tokens, 3)
    assert.equal(call.summary.weave.status, 'error')
  }
})

test('a request that is refused before there is an answer is not recorded', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend() })
  for (const body of [asking({ temperature: 'hot' }), asking({ model: 'none' }), { messages: [] }]) {
    const { status, headers } = await post(chatUrl, body)
    assert.ok(status >= 400 && status < 500)
    assert.equal(headers['x-heddle-call-id'], undefined)
  }
  for (const url of ['/tokenize', '/detokenize']) {
    const { headers } = await post(url, url === '/tokenize' ? { prompt: 'a' } : { tokens: [97] })
    assert.equal(headers['x-heddle-call-id'], undefined)
  }
  const { json } = await post('/calls/query_stats', { project_id })
  assert.equal(json.count, 0)
})

test('log-probabilities of a stream that are too many are left out of its call, which says so', async (t) => {
  const backend = scriptedBackend(function* (request) {
    yield prefilled(request)
    for (let i = 0; i < 60; i++) yield tokens('x'.repeat(100), request)
    yield { kind: 'finished', choice: 0, reason: 'stop', stop: null }
  })
  const app = await openApp(t, { backend })
  const { headers } = await app.post(chatUrl, asking({ logprobs: true, top_logprobs: 20, stream: true }))
  const call = await callOf(app, headers)
  assert.equal(call.output.choices[0].logprobs, null)
  assert.equal(call.output.choices[0].message.content.length, 6_000)
  assert.deepEqual(call.summary.heddle.left_out, ['logprobs'])
})
