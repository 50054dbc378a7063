import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { keys, openApp } from '../support/app.ts'
import { scriptedBackend } from '../support/scripted-backend.ts'

const { app } = await openApp({ after }, { backend: scriptedBackend() })
const headers = { 'api-key': keys.alice }
const messages = [{ role: 'user', content: 'Hi' }]

async function ask(url: string, payload?: object, more: Record<string, string> = {}) {
  const answer = await app.inject({
    method: payload ? 'POST' : 'GET',
    url,
    headers: { ...headers, ...more },
    ...(payload && { payload }),
  })
  return { status: answer.statusCode, headers: answer.headers, json: answer.json() }
}

test('the addresses of Azure are those of OpenAI, with the model in the path or the body', async () => {
  const version = 'api-version=2026-01-01'
  for (const [url, body] of [
    [`/openai/deployments/scripted/chat/completions?${version}`, { messages }],
    [`/openai/deployments/alias%2Fof-it/chat/completions?${version}`, { messages, model: 'other' }],
    [`/openai/v1/chat/completions?${version}`, { messages, model: 'scripted' }],
    ['/openai/v1/chat/completions', { messages, model: 'scripted' }],
    [`/openai/deployments/scripted/embeddings?${version}`, { input: 'a' }],
  ] as const) {
    const { status, json, headers: told } = await ask(url, body)
    assert.deepEqual([status, json.model], [200, 'scripted'], url)
    assert.equal(told['x-heddle-ignored-fields'], undefined)
  }
  for (const url of [`/openai/v1/models?${version}`, `/openai/models?${version}`]) {
    assert.equal((await ask(url)).json.data[0].id, 'scripted', url)
  }
})

test('a deployment that does not exist, another address, and no key are refused as ever', async () => {
  const missing = await ask('/openai/deployments/nope/chat/completions', { messages })
  assert.deepEqual([missing.status, missing.json.error.code], [404, 'model_not_found'])
  assert.equal((await ask('/openai/deployments/%ff/chat/completions', { messages })).status, 404)
  assert.equal((await ask('/openai/assistants')).status, 404)
  const anonymous = await app.inject({ url: '/openai/v1/models' })
  assert.equal(anonymous.statusCode, 401)
})

test('clients of Anthropic read refusals of their form wherever they ask', async () => {
  for (const url of ['/v1/files', '/v1/skills', '/v1/models/nope']) {
    const { status, json, headers: told } = await ask(url, undefined, { 'anthropic-version': '2023-06-01' })
    assert.deepEqual([status, json.type, json.error.type], [404, 'error', 'not_found_error'], url)
    assert.equal(told['request-id'], json.request_id)
    if (url !== '/v1/files') assert.equal(typeof (await ask(url)).json.error.code, 'string')
  }
})

test('the version and scores are where clients of vLLM ask for them', async () => {
  assert.deepEqual((await ask('/load')).json, { server_load: 0 })
  assert.deepEqual((await ask('/classify', { input: 'a' })).json.error.param, 'model')
  assert.match((await ask('/version')).json.version, /^\d+\.\d+/)
  const scores = async (body: object) => {
    const { status, json } = await ask('/score', body)
    return status === 200 ? json.data.map(({ score }: { score: number }) => score) : json.error.param
  }
  assert.deepEqual(await scores({ queries: 'ab', documents: 'ax' }), [0.5])
  assert.deepEqual(await scores({ text_1: 'ab', text_2: ['a', 'x'] }), [1, 0])
  assert.deepEqual(await scores({ queries: ['a', 'b'], documents: ['a', 'a'] }), [1, 0])
  assert.equal(await scores({ queries: ['a', 'b'], documents: ['a'] }), 'documents')
  assert.equal(await scores({ documents: ['a'] }), 'queries')
})

test('a model that only gives embeddings scores by their cosine', async (t) => {
  const backend = scriptedBackend()
  if (backend.served) backend.served = { ...backend.served, tasks: ['embeddings'] }
  const { post } = await openApp(t, { backend })
  const { json } = await post('/v1/score', { model: 'scripted', queries: 'ab', documents: ['ab', 'a', 'c'] })
  const rounded = json.data.map(({ score }: { score: number }) => Math.round(score * 100) / 100)
  assert.deepEqual(rounded, [1, 0.71, 0])
})
