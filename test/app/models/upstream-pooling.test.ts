import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keys, openApp } from '../../support/app.ts'
import {
  modelsOfUpstream,
  startFakeUpstream,
  streamWords,
  type UpstreamHandler,
  type UpstreamRequest,
} from '../../support/fake-upstream.ts'
import { until } from '../../support/wait.ts'

interface Ending {
  after(end: () => Promise<void> | void): void
}

async function behind(t: Ending, answer: UpstreamHandler, owned_by = 'vllm', parallel = 16) {
  const models = [{ id: 'far', object: 'model', owned_by, max_model_len: 512 }]
  const upstream = await startFakeUpstream(t, answer, { models })
  const app = await openApp(t, { models: await modelsOfUpstream([upstream.url], { parallel }) })
  return { upstream, ...app }
}

const saying =
  (value: unknown, status = 200): UpstreamHandler =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof value === 'string' ? value : JSON.stringify(value))
  }

const base64 = (...numbers: number[]) => Buffer.from(Float32Array.from(numbers).buffer).toString('base64')

const usage = { prompt_tokens: 7, total_tokens: 7 }

test('vectors are returned in the order of the inputs, whatever their order and encoding upstream', async (t) => {
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

test('scores are passed on, and sorted here', async (t) => {
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

test('fields that the kind of upstream does not support are refused and named', async (t) => {
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
  ['is not JSON', 'oops', 502, 'upstream_failed'],
  ['is not an object', 'null', 502, 'upstream_failed'],
  ['has no vectors', {}, 502, 'upstream_failed'],
  ['lacks a vector', { data: [{ index: 0, embedding: [1] }] }, 502, 'upstream_failed'],
  [
    'has a vector twice',
    { data: [0, 0].map((index) => ({ index, embedding: [1] })) },
    502,
    'upstream_failed',
  ],
  [
    'has texts in a vector',
    { data: [0, 1].map((index) => ({ index, embedding: ['1'] })) },
    502,
    'upstream_failed',
  ],
  ['has empty vectors', { data: [0, 1].map((index) => ({ index, embedding: [] })) }, 502, 'upstream_failed'],
  [
    'has a vector that is cut off',
    { data: [0, 1].map((index) => ({ index, embedding: 'AAAA' })) },
    502,
    'upstream_failed',
  ],
  [
    'has vectors of different lengths',
    { data: [0, 1].map((index) => ({ index, embedding: index === 0 ? [1] : [1, 2] })) },
    502,
    'upstream_failed',
  ],
] as const) {
  test(`an answer that ${what} is refused, and not recorded`, async (t) => {
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
  test(`an upstream that answers ${told} is ${code}`, async (t) => {
    const { post } = await behind(t, saying({ error: { message: 'no embeddings here' } }, told))
    const { status: given, json } = await post('/v1/embeddings', { input: 'a' })
    assert.deepEqual([given, json.error.code], [status, code])
  })
}

const texts = Array.from({ length: 2_048 }, (_, index) => `text ${index}`)

/** The vector of each text is its number, and it counts as one token. */
const numbered = ({ body }: UpstreamRequest) => ({
  data: body.input.map((text: string, index: number) => ({
    index,
    embedding: base64(Number(text.slice('text '.length))),
  })),
  usage: { prompt_tokens: body.input.length, total_tokens: body.input.length },
})

test('many inputs are sent in batches, few at once, and the vectors keep their order', async (t) => {
  let underWay = 0
  let most = 0
  const { upstream, post } = await behind(t, async (response, asked) => {
    underWay++
    most = Math.max(most, underWay)
    await new Promise((resolve) => setImmediate(resolve))
    underWay--
    await saying(numbered(asked))(response, asked)
  })
  const { status, json } = await post('/v1/embeddings', { input: texts })
  assert.equal(status, 200)
  assert.deepEqual(
    json.data.map(({ embedding }: { embedding: number[] }) => embedding),
    texts.map((_, index) => [index]),
  )
  assert.deepEqual(json.usage, { prompt_tokens: 2_048, total_tokens: 2_048 })
  assert.ok(upstream.asked.every(({ body }) => body.input.length <= 128))
  assert.deepEqual(upstream.asked.flatMap(({ body }) => body.input).toSorted(), texts.toSorted())
  assert.ok(most <= 4, `${most} at once`)
})

test('a refused input is named by its index in the whole list, and the other batches are abandoned', async (t) => {
  const { upstream, post } = await behind(
    t,
    (response, asked) => {
      const at = asked.body.input.indexOf('text 300')
      // The other batches get no answer, and are abandoned.
      if (at === -1) return
      const error = {
        message: `input.${at}: 600 tokens; accepted: at most 512`,
        param: `input.${at}`,
        code: 'input_too_long',
      }
      return saying({ error }, 400)(response, asked)
    },
    'heddle',
  )
  const { status, json } = await post('/v1/embeddings', { input: texts })
  assert.deepEqual([status, json.error.code, json.error.param], [400, 'input_too_long', 'input.300'])
  assert.match(json.error.message, /^input\.300: 600 tokens/)
  assert.ok(upstream.asked.length <= 4, `${upstream.asked.length} batches`)
  await until('the other batches are abandoned', async () => upstream.left === upstream.asked.length - 1)
})

test('vectors that are too large together, or differ in length between batches, are refused', async (t) => {
  let length = 8_192
  const { post } = await behind(t, (response, { body }) => {
    const embedding = Buffer.from(new Float32Array(length).buffer).toString('base64')
    length++
    const data = body.input.map((_: string, index: number) => ({ index, embedding }))
    return saying({ data })(response, { url: '', headers: {}, body })
  })
  const tooMany = await post('/v1/embeddings', { input: texts })
  assert.deepEqual([tooMany.status, tooMany.json.error.param], [400, 'input'])
  length = 1
  const uneven = await post('/v1/embeddings', { input: texts })
  assert.deepEqual([uneven.status, uneven.json.error.code], [502, 'upstream_failed'])
})

test('2,048 inputs of one user do not delay the chat of another', async (t) => {
  const held = Promise.withResolvers<void>()
  const { upstream, post } = await behind(
    t,
    async (response, asked) => {
      if (asked.url !== '/v1/embeddings') return streamWords('yes')(response, asked)
      await held.promise
      return saying(numbered(asked))(response, asked)
    },
    'vllm',
    // Of two slots, one is kept for users who have none.
    1,
  )
  const embeddings = Array.from({ length: 3 }, () => post('/v1/embeddings', { input: texts }))
  await until('the first batch has arrived', async () => upstream.asked.length === 1)
  const question = { messages: [{ role: 'user', content: 'Hi' }] }
  for (let chat = 0; chat < 3; chat++) {
    const { status, json } = await post('/v1/chat/completions', question, keys.bob)
    assert.deepEqual([status, json.choices[0].message.content], [200, 'yes'])
  }
  // No further batch of the first user has been sent meanwhile.
  assert.equal(upstream.asked.filter(({ url }) => url === '/v1/embeddings').length, 1)
  held.resolve()
  for (const { status, json } of await Promise.all(embeddings))
    assert.deepEqual([status, json.data.length], [200, 2_048])
})

test('the tasks of a Heddle upstream come from its list, and a request without a model name goes to a suitable one', async (t) => {
  const listed = (id: string, tasks: unknown) => ({ id, owned_by: 'heddle', root: id, tasks })
  const upstream = await startFakeUpstream(
    t,
    saying({ object: 'list', data: [{ index: 0, embedding: base64(1, 0) }], usage }),
    { models: [listed('writer', ['answers']), listed('pooler', ['embeddings', 'later']), listed('any', [])] },
  )
  const { get, post } = await openApp(t, { models: await modelsOfUpstream([upstream.url]) })
  const { json } = await get('/v1/models')
  assert.deepEqual(
    json.data.map(({ id, tasks }: { id: string; tasks: string[] }) => [id, tasks.join()]),
    [
      ['writer', 'answers,decisions'],
      ['pooler', 'embeddings'],
      ['any', 'answers,embeddings,ranking,decisions'],
    ],
  )
  assert.equal((await post('/v1/embeddings', { input: 'a' })).json.model, 'pooler')
  assert.equal(upstream.asked[0]?.body.model, 'pooler')
  const { error } = (await post('/v1/embeddings', { input: 'a', model: 'writer' })).json
  assert.deepEqual([error.code, error.param], ['model_lacks', 'model'])
  assert.match(error.message, /accepted: "pooler", "any"/)
  assert.equal(upstream.asked.length, 1)
})
