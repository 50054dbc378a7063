import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import type { Generation } from '../../../packages/engine/index.ts'
import { refuse } from '../../../src/domain/refusals.ts'
import { basic, keys, openApp } from '../../support/app.ts'
import { asking, assertRefused, chatUrl } from '../../support/chat.ts'
import {
  candidate,
  logprobOf,
  prefilled,
  scriptedBackend,
  scriptOf,
  tokens,
  tokensOf,
} from '../../support/scripted-backend.ts'

const promptLength = '<s><|user|>Hi<|end|><|assistant|>'.length

test('an answer has exactly these members', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend() })
  for (const url of [chatUrl, `${chatUrl}/`]) {
    const { status, headers, json } = await post(url, asking())
    assert.equal(status, 200)
    assert.equal(headers['content-type'], 'application/json; charset=utf-8')
    const { id, created, system_fingerprint, ...rest } = json
    assert.match(id, /^chatcmpl-[0-9a-f]{32}$/)
    assert.ok(Number.isInteger(created) && Math.abs(created - Date.now() / 1000) < 600)
    assert.match(system_fingerprint, /^heddle-\d+\.\d+\.\d+-[0-9a-f]{8}$/)
    assert.deepEqual(rest, {
      object: 'chat.completion',
      model: 'scripted',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
          stop_reason: null,
        },
      ],
      usage: {
        prompt_tokens: promptLength,
        completion_tokens: 5,
        total_tokens: promptLength + 5,
        prompt_tokens_details: { cached_tokens: 3 },
      },
    })
  }
})

test('the id is that of the request, and the header of a proxy does not hide it', async (t) => {
  const { app, post } = await openApp(t, { backend: scriptedBackend() })
  assert.equal((await post(chatUrl, asking({ request_id: 'mine' }))).json.id, 'chatcmpl-mine')
  const embedding = { input: 'x' }
  const ranking = { query: 'x', documents: ['y'] }
  for (const [url, prefix, body] of [
    [chatUrl, 'chatcmpl-', asking()],
    [`${chatUrl}/`, 'chatcmpl-', asking()],
    ['/v1/completions', 'cmpl-', { prompt: 'x' }],
    ['/v1/embeddings', 'embd-', embedding],
    ['/v1/rerank', 'rerank-', ranking],
    ['/v1/responses', 'resp_', { input: 'x' }],
  ] as const) {
    for (const [request_id, id] of [
      ['mine', 'mine'],
      [undefined, url === '/v1/responses' ? undefined : 'of-proxy'],
    ]) {
      const answer = await app.inject({
        method: 'POST',
        url,
        headers: { authorization: basic(keys.alice), 'x-request-id': 'of-proxy' },
        payload: { ...body, request_id },
      })
      if (id !== undefined) assert.equal(answer.json().id, prefix + id, url)
      assert.equal(answer.headers['x-request-id'], 'of-proxy')
    }
  }
  const direct = await post(chatUrl, asking({ request_id: 'yours' }))
  assert.equal(direct.json.id, 'chatcmpl-yours')
  assert.notEqual(direct.headers['x-request-id'], 'yours', 'it is that of the exchange')
})

test('each choice has its finish reason, and choices are in order', async (t) => {
  const backend = scriptedBackend(function* (request) {
    yield prefilled(request, 0)
    yield tokens('abc', request, 2)
    yield { kind: 'finished', choice: 2, reason: 'repetition', stop: 'repetition_detected' }
    yield tokens('a', request, 0)
    yield { kind: 'finished', choice: 3, reason: 'stop', stop: 7 }
    yield { kind: 'finished', choice: 0, reason: 'stop', stop: 'END' }
    yield tokens('ab', request, 1)
    yield { kind: 'finished', choice: 1, reason: 'length', stop: null }
  })
  const { post } = await openApp(t, { backend })
  const { json } = await post(chatUrl, asking({ n: 4, return_token_ids: true }))
  assert.deepEqual(
    json.choices.map(({ index, message, finish_reason, stop_reason, token_ids }: Record<string, unknown>) => [
      index,
      (message as { content: string }).content,
      finish_reason,
      stop_reason,
      token_ids,
    ]),
    [
      [0, 'a', 'stop', 'END', tokensOf('a')],
      [1, 'ab', 'length', null, tokensOf('ab')],
      [2, 'abc', 'repetition', 'repetition_detected', tokensOf('abc')],
      [3, '', 'stop', 7, []],
    ],
  )
  assert.deepEqual(json.usage, {
    prompt_tokens: promptLength,
    completion_tokens: 6,
    total_tokens: promptLength + 6,
    prompt_tokens_details: { cached_tokens: 0 },
  })
  assert.deepEqual(json.prompt_token_ids, tokensOf('<s><|user|>Hi<|end|><|assistant|>'))
})

test('log-probabilities have the exact bytes, and no partial character as text', async (t) => {
  const halves = [0xf0, 0x9f, 0x99, 0x82].map((byte, index) => ({
    token: 1_000 + index,
    bytes: Uint8Array.of(byte),
    logprob: -1 - index,
    top: [],
  }))
  const backend = scriptedBackend(function* (request) {
    yield prefilled(request)
    yield { kind: 'tokens', choice: 0, text: '', tokens: [1_000, 1_001, 1_002], logprobs: halves.slice(0, 3) }
    yield {
      kind: 'tokens',
      choice: 0,
      text: '🙂é',
      tokens: [1_003, 233],
      logprobs: [...halves.slice(3), logprobOf('é', 2)],
    }
    yield {
      kind: 'tokens',
      choice: 0,
      text: '',
      tokens: [5],
      logprobs: [{ ...candidate('\ufffd', -9999), top: [] }],
    }
    yield { kind: 'finished', choice: 0, reason: 'stop', stop: null }
  })
  const { post } = await openApp(t, { backend })
  const ask = async (fields: object) =>
    (await post(chatUrl, asking({ logprobs: true, top_logprobs: 2, ...fields }))).json.choices[0].logprobs
  assert.deepEqual(await ask({}), {
    content: [
      ...[0xf0, 0x9f, 0x99, 0x82].map((byte, index) => ({
        token: '',
        bytes: [byte],
        logprob: -1 - index,
        top_logprobs: [],
      })),
      {
        token: 'é',
        bytes: [0xc3, 0xa9],
        logprob: -0.25,
        top_logprobs: [
          { token: 'é', bytes: [0xc3, 0xa9], logprob: -0.25 },
          { token: 'è', bytes: [0xc3, 0xa8], logprob: -1.25 },
        ],
      },
      { token: '\ufffd', bytes: [0xef, 0xbf, 0xbd], logprob: -9999, top_logprobs: [] },
    ],
  })
  const { content } = await ask({ return_tokens_as_token_ids: true })
  assert.deepEqual(
    content.map(({ token }: { token: string }) => token),
    ['token_id:1000', 'token_id:1001', 'token_id:1002', 'token_id:1003', 'token_id:233', 'token_id:65533'],
  )
  assert.deepEqual(content[4].top_logprobs[1], { token: 'token_id:232', bytes: [0xc3, 0xa8], logprob: -1.25 })
})

test('log-probabilities of the prompt are keyed by token', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend() })
  const body = asking({ chat_template: 'ab', prompt_logprobs: 1 })
  assert.deepEqual((await post(chatUrl, body)).json.prompt_logprobs, [
    null,
    {
      '98': { logprob: -1.5, rank: 2, decoded_token: 'b' },
      '33': { logprob: -0.5, rank: 1, decoded_token: '!' },
    },
  ])
  const asIds = await post(chatUrl, { ...body, prompt_logprobs: 0, return_tokens_as_token_ids: true })
  assert.deepEqual(asIds.json.prompt_logprobs, [
    null,
    { '98': { logprob: -1.5, rank: 2, decoded_token: 'token_id:98' } },
  ])
  assert.equal('prompt_logprobs' in (await post(chatUrl, asking())).json, false)
})

test('the fingerprint is that of the model', async (t) => {
  const backend = scriptedBackend()
  const { post } = await openApp(t, { backend })
  const fingerprint = async () => (await post(chatUrl, asking())).json.system_fingerprint
  const first = await fingerprint()
  assert.equal(await fingerprint(), first)
  const { served } = backend
  assert.ok(served)
  backend.served = { ...served, source: 'hf:other/model' }
  assert.notEqual(await fingerprint(), first)
  backend.served = { ...served, digest: 'a' }
  const ofWeights = await fingerprint()
  backend.served = { ...served, digest: 'a', source: '/elsewhere/model.gguf' }
  assert.equal(await fingerprint(), ofWeights)
  backend.served = { ...served, digest: 'b' }
  assert.notEqual(await fingerprint(), ofWeights)
  backend.served = { ...served, digest: 'a', template: 'another' }
  assert.notEqual(await fingerprint(), ofWeights)
  const adapted = { ...served, digest: 'a', adapters: ['poet', 'clerk'], adapterDigests: ['c', 'd'] }
  backend.served = adapted
  const of = async (model: string) => (await post(chatUrl, asking({ model }))).json.system_fingerprint
  const [poet, clerk] = [await of('poet'), await of('clerk')]
  assert.equal(new Set([poet, clerk, ofWeights]).size, 3)
  backend.served = { ...adapted, adapterDigests: ['e', 'd'] }
  assert.notEqual(await of('poet'), poet)
  assert.equal(await of('clerk'), clerk)
})

test('an engine that fails in the middle is a 503', async (t) => {
  const backend = scriptedBackend(function* (request: Generation) {
    yield prefilled(request)
    yield tokens('Hel', request)
    yield refuse('engine_failed', { why: 'it was killed' })
  })
  const { post } = await openApp(t, { backend })
  assertRefused(await post(chatUrl, asking()), {
    status: 503,
    code: 'engine_failed',
    param: null,
    message: /it was killed/,
  })
  backend.script = function* () {
    yield new Error('a fault of ours')
  }
  const answer = await post(chatUrl, asking())
  assertRefused(answer, { status: 500, code: 'internal_error', param: null })
  assert.ok(!answer.text.includes('a fault of ours'))
})

test('the log has the cost of a completion, and none of its text', async (t) => {
  const lines: Record<string, unknown>[] = []
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const backend = scriptedBackend(scriptOf('se', 'cret'))
  const { post } = await openApp(t, { backend, logger })
  await post(chatUrl, asking({ n: 2, request_id: 'mine', messages: [{ role: 'user', content: 'private' }] }))
  await post(chatUrl, asking({ stream: true, request_id: 'streamed' }))
  const records = lines.filter(({ msg }) => msg === 'completion')
  assert.equal(records.length, 2)
  const { total_ms, first_token_ms, prefilled_ms, ...rest } = records[0] as Record<string, number>
  for (const time of [total_ms, first_token_ms, prefilled_ms]) assert.ok(Number(time) >= 0)
  for (const name of ['level', 'time', 'pid', 'hostname', 'reqId', 'msg']) delete rest[name]
  assert.deepEqual(rest, {
    user: 'alice',
    completion: 'mine',
    model: 'scripted',
    outcome: 'answered',
    prompt_tokens: '<s><|user|>private<|end|><|assistant|>'.length,
    cached_tokens: 3,
    completion_tokens: 12,
    finish_reasons: ['stop', 'stop'],
  })
  assert.equal(records[1]?.completion, 'streamed')
  assert.ok(!/private|secret/.test(JSON.stringify(lines)))
})
