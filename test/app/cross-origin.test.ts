import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { codeOf } from '../support/answers.ts'
import { basic, keys, openApp } from '../support/app.ts'
import { asking, chatUrl } from '../support/chat.ts'
import { scriptedBackend, scriptOf } from '../support/scripted-backend.ts'

const page = 'https://app.example.com'

test('an allowed origin gets a preflight answer, and can read answers and refusals', async (t) => {
  const { app } = await openApp(t, {
    backend: scriptedBackend(scriptOf('Hello')),
    settings: { HEDDLE_CORS_ORIGINS: `${page}, http://localhost:3000` },
  })
  const preflight = (origin: string, url = chatUrl) =>
    app.inject({
      method: 'OPTIONS',
      url,
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,x-stainless-os',
      },
    })
  for (const url of [chatUrl, '/calls/stream_query', '/nowhere']) {
    const { statusCode, headers } = await preflight(page, url)
    assert.equal(statusCode, 204)
    assert.equal(headers['access-control-allow-origin'], page)
    assert.match(String(headers['access-control-allow-methods']), /POST.*DELETE/)
    assert.equal(headers['access-control-allow-headers'], 'authorization,content-type,x-stainless-os')
    assert.equal(headers['access-control-allow-credentials'], undefined)
  }
  const stranger = await preflight('https://evil.example.com')
  assert.equal(stranger.headers['access-control-allow-origin'], undefined)
  assert.notEqual(stranger.statusCode, 204)
  assert.equal(stranger.headers.vary, 'Origin')

  for (const stream of [false, true]) {
    const answer = await app.inject({
      method: 'POST',
      url: chatUrl,
      headers: { origin: page, authorization: basic(keys.alice), 'content-type': 'application/json' },
      payload: JSON.stringify(asking({ stream })),
    })
    assert.equal(answer.statusCode, 200)
    assert.equal(answer.headers['access-control-allow-origin'], page)
    assert.match(String(answer.headers['access-control-expose-headers']), /x-heddle-call-id/)
  }
  const refused = await app.inject({ method: 'GET', url: '/v1/models', headers: { origin: page } })
  assert.equal(refused.statusCode, 401)
  assert.equal(refused.headers['access-control-allow-origin'], page)
})

test('without the setting no origin is allowed, and with * every origin is', async (t) => {
  const origin = { origin: page, 'access-control-request-method': 'GET' }
  const closed = await openApp(t)
  const shut = await closed.app.inject({ method: 'OPTIONS', url: '/health', headers: origin })
  assert.equal(shut.headers['access-control-allow-origin'], undefined)
  const wide = await openApp(t, { settings: { HEDDLE_CORS_ORIGINS: '*' } })
  const open = await wide.app.inject({ method: 'GET', url: '/health', headers: origin })
  assert.equal(open.headers['access-control-allow-origin'], '*')
})

test('with * a page must be named to send what a browser adds a remembered key to', async (t) => {
  const { app } = await openApp(t, { settings: { HEDDLE_CORS_ORIGINS: `*, ${page}` } })
  const cancel = async (origin: string, authorization: string, type?: string) => {
    const answer = await app.inject({
      method: 'POST',
      url: '/v1/responses/resp_0/cancel',
      headers: { origin, authorization, ...(type && { 'content-type': type }) },
      ...(type && { payload: '{}' }),
    })
    return [answer.headers['access-control-allow-origin'], codeOf({ json: answer.json() })]
  }
  const stranger = 'https://evil.example.com'
  assert.deepEqual(await cancel(stranger, basic(keys.alice)), ['*', 'origin_forbidden'])
  assert.deepEqual(await cancel(stranger, `Bearer ${keys.alice}`), ['*', 'response_not_found'])
  assert.deepEqual(await cancel(stranger, basic(keys.alice), 'application/json'), ['*', 'response_not_found'])
  assert.deepEqual(await cancel(page, basic(keys.alice)), [page, 'response_not_found'])
})

test('an origin in the setting must have the form that browsers send', () => {
  for (const given of ['app.example.com', 'https://app.example.com/', 'https://a b', 'https://x.y/path']) {
    assert.throws(() => readConfig({ HEDDLE_CORS_ORIGINS: given }), /HEDDLE_CORS_ORIGINS: expected origins/)
  }
})
