import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { type AnswerOfUpstream, modelsOfUpstream, startFakeUpstream } from '../../support/fake-upstream.ts'

interface Ending {
  after(end: () => Promise<void> | void): void
}

async function behind(t: Ending, answer: AnswerOfUpstream, owned_by = 'vllm') {
  const models = [{ id: 'far', object: 'model', owned_by, max_model_len: 512 }]
  const upstream = await startFakeUpstream(t, answer, { models })
  const app = await openApp(t, { models: await modelsOfUpstream([upstream.url]) })
  return { upstream, ...app }
}

const saying =
  (value: unknown, status = 200): AnswerOfUpstream =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof value === 'string' ? value : JSON.stringify(value))
  }

const base64 = (...numbers: number[]) => Buffer.from(Float32Array.from(numbers).buffer).toString('base64')

const usage = { prompt_tokens: 7, total_tokens: 7 }

test('vectors come through, whatever their order and form there', async (t) => {
  const data = [
    { index: 1, embedding: [0.5, 0.25] },
    { index: 0, embedding: base64(1, 0) },
  ]
  const { upstream, post } = await behind(t, saying({ object: 'list', data, usage }))
  const { status, json } = await post('/v1/embeddings', {
    input: ['a', 'b'],
    model: 'far',
    dimensions: 2,
    truncate_prompt_tokens: -1,
    metadata: { run: '7' },
  })
  assert.equal(status, 200)
  assert.deepEqual(
    json.data.map(({ embedding }: { embedding: number[] }) => embedding),
    [
      [1, 0],
      [0.5, 0.25],
    ],
  )
  assert.deepEqual([json.model, json.usage], ['far', usage])
  const [asked] = upstream.asked
  assert.equal(asked?.url, '/v1/embeddings')
  assert.deepEqual(asked?.body, {
    model: 'far',
    input: ['a', 'b'],
    encoding_format: 'base64',
    dimensions: 2,
    truncate_prompt_tokens: -1,
  })
  assert.equal(asked?.headers.authorization, 'Bearer the-key-that-goes-upstream')
})

test('scores come through, and are sorted here', async (t) => {
  const results = [
    { index: 0, relevance_score: 0.25 },
    { index: 1, relevance_score: 0.75 },
  ]
  const { upstream, post } = await behind(t, saying({ results, usage }))
  const { status, json } = await post('/rerank', { query: 'a', documents: ['b', { text: 'c' }], top_n: 1 })
  assert.equal(status, 200)
  assert.deepEqual(json.results, [{ index: 1, relevance_score: 0.75, document: { text: 'c' } }])
  assert.deepEqual(upstream.asked[0]?.body, {
    model: 'far',
    query: 'a',
    documents: ['b', 'c'],
    top_n: 2,
    return_documents: false,
  })
  assert.equal(upstream.asked[0]?.url, '/v1/rerank')
})

test('what a kind of server does not take is refused by its name', async (t) => {
  const { upstream, post } = await behind(t, saying({}), 'somebody')
  for (const fields of [
    { truncate_prompt_tokens: 5 },
    { add_special_tokens: false },
    { truncate_prompt_tokens: 5, truncation_side: 'left' },
  ]) {
    const { status, json } = await post('/v1/embeddings', { input: 'a', ...fields })
    assert.deepEqual([status, json.error.code], [400, 'upstream_lacks'])
  }
  assert.equal(upstream.asked.length, 0)
})

for (const [what, value, status, code] of [
  ['is no JSON', 'oops', 502, 'upstream_failed'],
  ['is no object', 'null', 502, 'upstream_failed'],
  ['has no vectors', {}, 502, 'upstream_failed'],
  ['lacks one', { data: [{ index: 0, embedding: [1] }] }, 502, 'upstream_failed'],
  ['has one twice', { data: [0, 0].map((index) => ({ index, embedding: [1] })) }, 502, 'upstream_failed'],
  [
    'has texts in a vector',
    { data: [0, 1].map((index) => ({ index, embedding: ['1'] })) },
    502,
    'upstream_failed',
  ],
  ['has empty vectors', { data: [0, 1].map((index) => ({ index, embedding: [] })) }, 502, 'upstream_failed'],
  ['is cut off', { data: [0, 1].map((index) => ({ index, embedding: 'AAAA' })) }, 502, 'upstream_failed'],
  [
    'differs in length',
    { data: [0, 1].map((index) => ({ index, embedding: index === 0 ? [1] : [1, 2] })) },
    502,
    'upstream_failed',
  ],
] as const) {
  test(`an answer that ${what} is none, and no call`, async (t) => {
    const { post } = await behind(t, saying(value))
    const { status: given, json, headers } = await post('/v1/embeddings', { input: ['a', 'b'] })
    assert.deepEqual([given, json.error.code], [status, code])
    assert.equal(headers['x-heddle-call-id'], undefined)
  })
}

for (const [told, status, code] of [
  [400, 400, 'upstream_refused'],
  [404, 400, 'upstream_refused'],
  [401, 502, 'upstream_failed'],
  [429, 429, 'upstream_busy'],
  [500, 503, 'upstream_unavailable'],
] as const) {
  test(`a server that answers ${told} is ${code}`, async (t) => {
    const { post } = await behind(t, saying({ error: { message: 'no embeddings here' } }, told))
    const { status: given, json } = await post('/v1/embeddings', { input: 'a' })
    assert.deepEqual([given, json.error.code], [status, code])
  })
}
