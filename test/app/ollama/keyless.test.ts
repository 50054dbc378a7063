import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'

type Context = Parameters<typeof openApp>[0]

async function asking(t: Context, settings: Record<string, string>) {
  const { app, database } = await openApp(t, { backend: scriptedBackend(), settings })
  const ask = async (headers: Record<string, string> = {}, remoteAddress = '127.0.0.1', url = '/api/tags') =>
    (await app.inject({ url, headers, remoteAddress })).statusCode
  return { app, database, ask }
}

test('without the setting every route needs a key', async (t) => {
  const { ask } = await asking(t, {})
  assert.equal(await ask(), 401)
})

test('with it, requests of this machine have the rights of that user', async (t) => {
  const { app, ask } = await asking(t, { HEDDLE_OLLAMA_USER: 'alice' })
  assert.equal(await ask(), 200)
  assert.equal(await ask({ host: '[::1]:8080' }, '::1'), 200)
  assert.equal(await ask({ host: '127.0.0.1:8080' }), 200)
  for (const url of ['/v1/models', '/metrics', '/views/engine', '/api/nothing']) {
    assert.equal(await ask({}, '127.0.0.1', url), 401, url)
  }
  const chat = { method: 'POST', payload: { messages: [{ role: 'user', content: 'Hi' }] } } as const
  for (const url of ['/api/chat', '/v1/chat/completions']) {
    const answer = await app.inject({ ...chat, url })
    assert.equal(answer.statusCode, 200, url)
    assert.ok(answer.headers['x-heddle-call-id'])
    const other = await app.inject({ ...chat, url, headers: { 'x-heddle-project': 'globex/x' } })
    assert.equal(other.statusCode, 403, url)
  }
})

test('a wrong key, a page, a proxy, another name and another machine stay outside', async (t) => {
  const { ask } = await asking(t, { HEDDLE_OLLAMA_USER: 'alice' })
  for (const headers of [
    { authorization: 'Bearer ollama' },
    { authorization: 'Digest x' },
    { 'x-api-key': 'ollama' },
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'same-origin' },
    { referer: 'http://localhost/' },
    { 'x-forwarded-for': '127.0.0.1' },
    { forwarded: 'for=127.0.0.1' },
    { host: 'evil.example' },
    { host: 'localhost.evil.example' },
    { 'cf-connecting-ip': '127.0.0.1' },
  ]) {
    assert.equal(await ask(headers as Record<string, string>), 401, JSON.stringify(headers))
  }
  assert.equal(await ask({}, '10.0.0.7'), 401)
  assert.equal(await ask({}, '::ffff:10.0.0.7'), 401)
})

test('behind a trusted proxy nobody names the machine for another', async (t) => {
  const { ask } = await asking(t, { HEDDLE_OLLAMA_USER: 'alice', HEDDLE_TRUST_PROXY: 'loopback' })
  assert.equal(await ask({ host: 'evil.example', 'x-forwarded-host': 'localhost' }), 401)
  assert.equal(await ask({ host: 'localhost' }), 200)
})

test('anywhere is anywhere, but no page', async (t) => {
  const settings = { HEDDLE_OLLAMA_USER: 'alice', HEDDLE_OLLAMA_FROM: 'anywhere' }
  const { ask } = await asking(t, settings)
  assert.equal(await ask({ host: 'ollama:11434' }, '10.0.0.7'), 200)
  assert.equal(await ask({ origin: 'http://ollama:11434' }, '10.0.0.7'), 401)
})

test('a user of the record will do, until it is removed; an unknown one opens nothing', async (t) => {
  const { ask, database } = await asking(t, { HEDDLE_OLLAMA_USER: 'dora' })
  assert.equal(await ask(), 401)
  const user = { name: 'dora', role: 'member' as const, entities: ['acme'], created_at: 1 }
  await database.write('addUser', { user, key: { id: 'dora-1', hash: 'x' } })
  assert.equal(await ask(), 200)
  await database.write('removeUser', { name: 'dora', now: 2, isConfigured: false })
  assert.equal(await ask(), 401)
})
