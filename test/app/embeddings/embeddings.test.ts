import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { EmbeddingAnswer } from '../../../src/operations/embeddings/contract.ts'
import { keys, openApp } from '../../support/app.ts'
import { scriptedBackend, scriptedModel } from '../../support/scripted-backend.ts'

const url = '/v1/embeddings'
const { post, get } = await openApp({ after }, { backend: scriptedBackend() })

/** The vectors of an answer, which must be a success. */
async function vectors(body: object): Promise<number[][]> {
  const { status, text, json } = await post(url, body)
  assert.equal(status, 200, text)
  const { data } = EmbeddingAnswer.parse(json)
  assert.deepEqual(
    data.map(({ index }) => index),
    data.map((_, index) => index),
  )
  return data.map(({ embedding }) => (typeof embedding === 'string' ? ofBase64(embedding) : embedding))
}

function ofBase64(text: string): number[] {
  const bytes = Buffer.from(text, 'base64')
  return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(4 * index))
}

test('a text, texts, tokens and lists of tokens have their vectors, in order', async () => {
  const codes = (text: string) => Array.from(text, (letter) => letter.codePointAt(0))
  const a = [1, 0, 0, 0]
  const b = [0, 1, 0, 0]
  assert.deepEqual(await vectors({ input: 'a' }), [a])
  assert.deepEqual(await vectors({ input: ['b', 'a', 'b'] }), [b, a, b])
  assert.deepEqual(await vectors({ input: codes('b') }), [b])
  assert.deepEqual(await vectors({ input: [codes('a'), codes('b')] }), [a, b])
})

test('base64 encodes the same numbers', async () => {
  const input = ['abc', 'abba']
  const floats = await vectors({ input, encoding_format: 'float' })
  assert.deepEqual(await vectors({ input, encoding_format: 'base64' }), floats)
  assert.ok(Math.abs(Math.hypot(...(floats[0] as number[])) - 1) < 1e-6)
})

test('usage reports the counted tokens', async () => {
  const { json } = await post(url, { input: ['abc', 'ab'], model: 'alias/of-it' })
  assert.match(json.id, /^embd-/)
  assert.deepEqual(
    [json.object, json.model, json.usage],
    ['list', 'scripted', { prompt_tokens: 5, total_tokens: 5 }],
  )
})

test('vectors can be cut to the dimensions that the model supports, and have length 1 again', async () => {
  assert.deepEqual(await vectors({ input: 'abcc', dimensions: 2 }), [
    [Math.fround(Math.SQRT1_2), Math.fround(Math.SQRT1_2)],
  ])
  assert.equal((await vectors({ input: 'abcc', dimensions: 4 }))[0]?.length, 4)
  for (const dimensions of [1, 3, 5]) {
    const { status, json } = await post(url, { input: 'a', dimensions })
    assert.deepEqual([status, json.error.param], [400, 'dimensions'])
    assert.match(json.error.message, /accepted: 2, 4\.$/)
  }
})

test('the names that the clients of Mistral and Voyage send have an effect, or are refused', async () => {
  const named = { input: ['abcc'], output_dimension: 2, output_dtype: 'float' }
  assert.equal((await vectors(named))[0]?.length, 2)
  assert.equal((await vectors({ ...named, dimensions: null }))[0]?.length, 2)
  for (const [fields, param] of [
    [{ output_dimension: 3 }, 'dimensions'],
    [{ output_dimension: 4, dimensions: 2 }, 'output_dimension'],
    [{ output_dtype: 'int8' }, 'output_dtype'],
  ] as const) {
    const { status, json } = await post(url, { ...named, ...fields })
    assert.deepEqual([status, json.error.param], [400, param])
  }
})

test('an invalid input is refused, and its path is named', async () => {
  const many = Array.from({ length: 2_049 }, () => 'a')
  for (const [input, param] of [
    [[], 'input'],
    [many, 'input'],
    [{}, 'input'],
    [null, 'input'],
    [['a', 5], 'input.1'],
    [[[1], 'a'], 'input.1'],
    [[1, 'a'], 'input.1'],
    [[[1.5]], 'input.0.0'],
  ] as const) {
    const { status, json } = await post(url, { input })
    assert.deepEqual([status, json.error.param], [400, param])
  }
})

test('more numbers than one answer may have are refused', async (t) => {
  const backend = scriptedBackend()
  backend.served = { ...scriptedModel, dimensions: 8_192 }
  const app = await openApp(t, { backend })
  const { status, json } = await app.post(url, { input: Array.from({ length: 2_048 }, () => 'a') })
  assert.deepEqual([status, json.error.param], [400, 'input'])
})

test('a model that generates text makes no vectors', async (t) => {
  const backend = scriptedBackend()
  backend.served = { ...scriptedModel, tasks: ['answers'] }
  const app = await openApp(t, { backend })
  for (const [to, body] of [
    [url, { input: 'a' }],
    ['/v1/rerank', { query: 'a', documents: ['b'] }],
  ] as const) {
    const { status, json } = await app.post(to, body)
    assert.deepEqual([status, json.error.code, json.error.param], [400, 'model_lacks', 'model'])
  }
})

test('a priority is refused unless it is switched on', async () => {
  const { status, json } = await post(url, { input: 'a', priority: 1 })
  assert.deepEqual([status, json.error.code], [400, 'priority_off'])
})

test('embeddings are recorded as a call with input and usage, without the vectors', async () => {
  const { headers, json: answer } = await post(url, { input: ['ab', 'c'], metadata: { run: '7' } })
  const id = headers['x-heddle-call-id']
  for (const name of [id, answer.id]) {
    const { status, json } = await post('/call/read', { project_id: 'acme/default', id: name })
    assert.equal(status, 200)
    const { call } = json
    assert.equal(call.op_name, 'heddle.embeddings')
    assert.deepEqual(call.inputs, { input: ['ab', 'c'], metadata: { run: '7' } })
    assert.deepEqual(call.output, {
      id: answer.id,
      object: 'list',
      model: 'scripted',
      count: 2,
      dimensions: 4,
      encoding_format: 'float',
      usage: { prompt_tokens: 3, total_tokens: 3 },
    })
    assert.equal(call.summary.usage.scripted.prompt_tokens, 3)
    assert.deepEqual(call.summary.heddle.left_out, ['data'])
    assert.deepEqual(call.attributes.heddle.metadata, { run: '7' })
  }
})

test('an answer with store false is not recorded', async () => {
  assert.equal((await post(url, { input: 'a', store: false })).headers['x-heddle-call-id'], undefined)
})

test('metrics count requests and tokens', async () => {
  const figure = async (name: string) => {
    const { text } = await get('/metrics', keys.root)
    const line = text.split('\n').find((one) => one.startsWith(`${name} `))
    return Number(line?.slice(name.length + 1) ?? 0)
  }
  const { id: model } = (await get('/v1/models')).json.data[0]
  const of = `model_name="${model}",of="embeddings"`
  const tokens = `heddle_pooling_tokens_total{${of}}`
  const requests = `heddle_pooling_requests_total{${of},outcome="answered"}`
  const before = [await figure(tokens), await figure(requests)] as const
  await post(url, { input: ['abc', 'ab'] })
  await post(url, { input: [] })
  assert.deepEqual([await figure(tokens), await figure(requests)], [before[0] + 5, before[1] + 1])
})
