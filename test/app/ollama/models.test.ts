import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { scriptedBackend, scriptedModel } from '../../support/scripted-backend.ts'
import { simulatedBackend } from '../../support/simulated-backend.ts'

const backend = scriptedBackend()
backend.served = {
  ...scriptedModel,
  architecture: 'qwen3',
  quantization: 'Q4_K_M',
  parameters: 7_620_000_000,
}
const { get, post, send } = await openApp({ after }, { backend })

const details = {
  ...{ parent_model: '', format: 'gguf', family: 'qwen3', families: ['qwen3'] },
  ...{ parameter_size: '7.6B', quantization_level: 'Q4_K_M' },
}

test('models are listed under each of their names, served and loaded', async () => {
  const { json } = await get('/api/tags')
  assert.deepEqual(
    json.models.map(({ name }: { name: string }) => name),
    ['scripted', 'alias/of-it'],
  )
  const [{ digest, ...card }] = json.models
  assert.match(digest, /^[\da-f]{64}$/)
  assert.deepEqual(card, {
    ...{ name: 'scripted', model: 'scripted', size: 2_000, details },
    modified_at: '2025-12-29T09:20:00.000Z',
  })
  const [{ expires_at, size_vram, context_length }] = (await get('/api/ps')).json.models
  assert.ok(Date.parse(expires_at) > Date.parse('2100-01-01'))
  assert.deepEqual([size_vram, context_length], [0, 1_000_000])
})

test('the version has numbers only, as clients compare them', async () => {
  assert.match((await get('/api/version')).json.version, /^\d+\.\d+\.\d+$/)
})

test('a model is shown with what clients look for', async () => {
  for (const body of [{ model: 'scripted' }, { name: 'scripted:latest' }, { model: 'alias/of-it' }]) {
    const { json } = await post('/api/show', body)
    const name = body.model ?? body.name
    assert.deepEqual(json.details, details)
    assert.deepEqual(json.capabilities, ['completion', 'tools', 'embedding'])
    assert.equal(json.model_info['general.basename'], name)
    assert.equal(json.model_info['qwen3.context_length'], 1_000_000)
    assert.match(json.parameters, /^(\S+)\s+("[\s\S]*"|\S+)$/)
  }
  assert.equal((await post('/api/show', { model: 'nope' })).status, 404)
})

test('a model with thoughts says so, and whether it thinks unless told otherwise', async (t) => {
  const { post: ask } = await openApp(t, { backend: simulatedBackend(t, '') })
  const { json } = await ask('/api/show', { model: 'played' })
  assert.deepEqual(json.capabilities, ['completion', 'tools', 'thinking'])
  assert.deepEqual(json.thinking, { values: [false, true], default: true })
})

test('models are changed by the operator only; one that is served need not be pulled', async () => {
  assert.equal((await post('/api/pull', { model: 'scripted' })).text, '{"status":"success"}\n')
  for (const [method, url] of [
    ['POST', '/api/pull'],
    ['POST', '/api/create'],
    ['POST', '/api/copy'],
    ['POST', '/api/push'],
    ['POST', `/api/blobs/sha256:${'0'.repeat(64)}`],
    ['DELETE', '/api/delete'],
  ] as const) {
    const { status, json } = await send(method, url, { model: 'other' })
    assert.deepEqual([status, json.code], [403, 'models_chosen'], url)
    assert.match(json.error, /HEDDLE_MODEL/)
  }
})

test('whoever shows or pulls a model names it', async () => {
  for (const url of ['/api/show', '/api/pull']) {
    for (const body of [{}, { model: '' }, { model: null, name: '' }]) {
      const { status, json } = await post(url, body)
      assert.deepEqual([status, json.code], [400, 'invalid_value'], url)
      assert.equal(json.error, 'model: nothing; accepted: the name of a model.')
    }
  }
})

test('programs pull before they ask: it succeeds for each name that a request may have', async () => {
  for (const model of ['scripted', 'scripted:latest', 'alias/of-it']) {
    for (const body of [{ model }, { name: model }]) {
      const { json } = await post('/api/pull', { ...body, stream: false })
      assert.deepEqual(json, { status: 'success' }, model)
    }
    const messages = [{ role: 'user', content: 'Hi' }]
    assert.equal((await post('/api/chat', { model, messages, stream: false })).status, 200, model)
  }
})

test('embeddings: of a text, of texts, in the older form, cut, and too long', async () => {
  const ask = (body: object) => post('/api/embed', { model: 'scripted', ...body })
  const { json, headers } = await ask({ input: ['aab', 'b'] })
  assert.deepEqual(json.embeddings[1], [0, 1, 0, 0])
  assert.equal(json.embeddings.length, 2)
  assert.deepEqual([json.model, json.prompt_eval_count], ['scripted', 4])
  assert.ok(headers['x-heddle-call-id'])
  assert.deepEqual((await ask({ input: 'b' })).json.embeddings, [[0, 1, 0, 0]])
  assert.deepEqual((await ask({ input: 'b', dimensions: 2 })).json.embeddings, [[0, 1]])
  assert.deepEqual((await ask({})).json.embeddings, [])
  assert.deepEqual((await post('/api/embeddings', { prompt: 'b' })).json, { embedding: [0, 1, 0, 0] })
  assert.deepEqual((await post('/api/embeddings', {})).json, { embedding: [] })
  assert.equal((await ask({ input: 'b', dimensions: 3 })).status, 400)
  const call = await post('/call/read', { project_id: 'acme/default', id: headers['x-heddle-call-id'] })
  assert.equal(call.json.call.attributes.heddle.wire, 'ollama')
  assert.deepEqual(call.json.call.inputs, { model: 'scripted', input: ['aab', 'b'] })
})
