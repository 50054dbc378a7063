import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { basic, keys, openApp } from '../../support/app.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'

const card = (id: string) => ({
  id,
  object: 'model',
  type: 'model',
  display_name: id,
  created: 1_767_000_000,
  created_at: '2025-12-29T09:20:00.000Z',
  owned_by: 'heddle',
  root: 'scripted',
  parent: null,
  max_model_len: 1_000_000,
  max_input_tokens: 1_000_000,
  max_tokens: 1_000_000,
  lifecycle: 'active',
  capabilities: null,
  deprecated_at: null,
  retires_at: null,
  line: null,
  tools: 'generic',
  reasoning: false,
  device: 'cpu',
  state: 'ready',
  tasks: ['answers', 'embeddings', 'ranking', 'decisions'],
  dimensions: 4,
})

const notFound = (name: string, accepted: string) => ({
  status: 404,
  body: {
    error: {
      message: `model: the model "${name}" does not exist; accepted: ${accepted}.`,
      type: 'not_found_error',
      param: 'model',
      code: 'model_not_found',
    },
  },
})

test('GET /v1/models lists the model under each of its names', async (t) => {
  const { get } = await openApp(t, { backend: scriptedBackend() })
  assert.deepEqual(whole(await get('/v1/models')), {
    status: 200,
    body: {
      object: 'list',
      data: [card('scripted'), card('alias/of-it')],
      has_more: false,
      first_id: 'scripted',
      last_id: 'alias/of-it',
    },
  })
})

test('GET /v1/models has the pages that Anthropic’s clients ask for', async (t) => {
  const { get } = await openApp(t, { backend: scriptedBackend() })
  for (const [query, ids, has_more] of [
    ['limit=1', ['scripted'], true],
    ['limit=1&after_id=scripted', ['alias/of-it'], false],
    ['limit=1&before_id=alias/of-it', ['scripted'], false],
    ['after_id=alias/of-it', [], false],
    ['limit=1000&api-version=1', ['scripted', 'alias/of-it'], false],
  ] as const) {
    const { json } = await get(`/v1/models?${query}`)
    assert.deepEqual([json.data.map(({ id }: { id: string }) => id), json.has_more], [ids, has_more], query)
    assert.deepEqual([json.first_id, json.last_id], [ids.at(0) ?? null, ids.at(-1) ?? null])
  }
  for (const [query, param] of [
    ['limit=ten', 'query.limit'],
    ['limit=0', 'query.limit'],
    ['after_id=x', 'after_id'],
    ['before_id=x', 'before_id'],
  ] as const) {
    const { status, json } = await get(`/v1/models?${query}`)
    assert.deepEqual([status, json.error.param], [400, param], query)
  }
})

test('GET /v1/models has the list that clients of TypeSafe read, for them alone', async (t) => {
  const { app, get } = await openApp(t, { backend: scriptedBackend() })
  const headers = { authorization: basic(keys.alice), 'x-typesafe-sdk': 'typesafe-sdk/0.6.0' }
  const { models, data } = (await app.inject({ url: '/v1/models', headers })).json()
  assert.deepEqual(
    models,
    data.map(({ id, created_at }: { id: string; created_at: string }) => ({
      ...{ name: id, description: '', release_date: created_at.slice(0, 10) },
    })),
  )
  assert.equal('models' in (await get('/v1/models')).json, false)
})

test('GET /v1/models/{id} finds names with and without slashes, and no others', async (t) => {
  const { get } = await openApp(t, { backend: scriptedBackend() })
  assert.deepEqual(whole(await get('/v1/models/scripted')), { status: 200, body: card('scripted') })
  for (const url of ['/v1/models/alias/of-it', '/v1/models/alias%2Fof-it']) {
    assert.deepEqual(whole(await get(url)), { status: 200, body: card('alias/of-it') }, url)
  }
  const accepted = '"scripted", "alias/of-it"'
  for (const name of ['other', 'alias', 'alias/of-it/more', 'Scripted']) {
    assert.deepEqual(whole(await get(`/v1/models/${name}`)), notFound(name, accepted))
  }
  const empty = await get('/v1/models/')
  assert.deepEqual([empty.status, empty.json.error.code], [404, 'route_not_found'])
})

test('a server without a model has an empty list', async (t) => {
  const { get } = await openApp(t)
  assert.deepEqual(whole(await get('/v1/models')), {
    status: 200,
    body: { object: 'list', data: [], has_more: false, first_id: null, last_id: null },
  })
  assert.deepEqual(
    whole(await get('/v1/models/x')),
    notFound('x', 'nothing: this server has no model (HEDDLE_MODEL=none)'),
  )
})

test('a model that is being loaded is a 503, and not an empty list', async (t) => {
  const backend = scriptedBackend()
  backend.served = undefined
  backend.state = { state: 'starting', doing: 'downloading acme/tiny, 5 % of 1 GiB' }
  const { get } = await openApp(t, { backend })
  for (const url of ['/v1/models', '/v1/models/scripted']) {
    const { status, headers, json } = await get(url)
    assert.deepEqual([status, headers['retry-after']], [503, '1'])
    assert.deepEqual(json.error, {
      message: 'The model is not ready: downloading acme/tiny, 5 % of 1 GiB.',
      type: 'overloaded_error',
      param: null,
      code: 'model_not_ready',
    })
  }
})
