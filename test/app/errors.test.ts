import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Database } from '../../src/storage/database.ts'
import { whole } from '../support/answers.ts'
import { basic, keys, type Method, openApp } from '../support/app.ts'
import { endOf, project, startOf } from '../support/calls.ts'
import { openMemoryRecord } from '../support/memory-record.ts'
import { openAppWithRoutes } from '../support/routes.ts'

/** Shared by all tests; each uses data of its own. */
const { app, post } = await openApp({ after })

const authorization = basic(keys.alice)
const json = { authorization, 'content-type': 'application/json' }

const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`

for (const [name, headers, payload, status, reason, code] of [
  ['cut off', json, '{"start":', 400, /^The body is not JSON: /, 'malformed_json'],
  ['two values', json, '{} {}', 400, /^The body is not JSON: /, 'malformed_json'],
  ['a trailing comma', json, '{"start":{},}', 400, /^The body is not JSON: /, 'malformed_json'],
  ['NaN', json, '{"start":NaN}', 400, /^The body is not JSON: /, 'malformed_json'],
  [
    'a byte order mark',
    json,
    '\ufeff{}',
    400,
    /^The body is not JSON: it begins with a byte order mark \(U\+FEFF\), which JSON does not have\.$/,
    'malformed_json',
  ],
  ['only space', json, ' \n ', 400, /^The body is not JSON: /, 'malformed_json'],
  ['nothing', json, '', 400, /^The body is not JSON: it is empty\.$/, 'malformed_json'],
  [
    'Latin 1',
    json,
    Buffer.from('{"start":"\xe9"}', 'latin1'),
    400,
    /^The body is not JSON: it is not UTF-8\.$/,
    'malformed_json',
  ],
  [
    'a length that is not the Content-Length',
    { ...json, 'content-length': '3' },
    '{"start":1}',
    400,
    /^The body is not JSON: its length differs from the Content-Length\.$/,
    'malformed_json',
  ],
  [
    'another content type',
    { authorization, 'content-type': 'text/plain' },
    '{}',
    415,
    /^Content-Type "text\/plain" is not accepted here; accepted: application\/json\.$/,
    'unsupported_media_type',
  ],
  [
    'a multipart form',
    { authorization, 'content-type': 'multipart/form-data; boundary=x' },
    '--x--',
    415,
    /^Content-Type "multipart\/form-data; boundary=x" is not accepted here; accepted: application\/json\.$/,
    'unsupported_media_type',
  ],
  [
    'an invalid content type',
    { authorization, 'content-type': ';;' },
    '{}',
    415,
    /^Content-Type ";;" is not accepted here; accepted: application\/json\.$/,
    'unsupported_media_type',
  ],
  [
    'too many levels',
    json,
    `{"start":${deep(200)}}`,
    413,
    /^The body is nested deeper than 200 levels\.$/,
    'body_too_deep',
  ],
  [
    'far too many levels',
    json,
    deep(100_000),
    413,
    /^The body is nested deeper than 200 levels\.$/,
    'body_too_deep',
  ],
  [
    'not an object',
    json,
    '5',
    422,
    /^The body does not fit the schema: the body: expected object, received number\.$/,
    'invalid_request',
  ],
] as const) {
  test(`a body is refused as ${code}: ${name}`, async () => {
    const answer = await app.inject({ method: 'POST', url: '/call/start', headers, payload })
    assert.equal(answer.statusCode, status, answer.body)
    assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
    assert.equal(answer.json().code, code)
    assert.match(answer.json().reason, reason)
  })
}

test('accepted content types and values of a body', async () => {
  const inputs = { a: JSON.parse(deep(197)) }
  for (const contentType of [
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/json;charset=UTF-8',
  ]) {
    const { statusCode, body } = await app.inject({
      method: 'POST',
      url: '/call/start',
      headers: { authorization, 'content-type': contentType },
      payload: JSON.stringify({ start: startOf({ inputs }) }),
    })
    assert.equal(statusCode, 200, body)
  }
})

test('a body of exactly the limit is accepted, and one byte more is refused', async (t) => {
  const { post } = await openApp(t, { settings: { HEDDLE_BODY_LIMIT: '1024' } })
  const text = JSON.stringify({ end: endOf(startOf().id) })
  assert.deepEqual(whole(await post('/call/end', text.padEnd(1024))), { status: 200, body: {} })
  assert.deepEqual(whole(await post('/call/end', text.padEnd(1025))), {
    status: 413,
    body: {
      reason: 'The body is larger than 1024 bytes; send less at once.',
      code: 'body_too_large',
    },
  })
})

test('a path that leaves out the name at its end, or one in its middle, is not taken for a name', async (t) => {
  const { app, routes } = await openAppWithRoutes(t, { settings: { HEDDLE_DOCS: 'off' } })
  const paths = new Set(routes.map(({ url }) => url))
  const declared = new Set(routes.map(({ method, url }) => `${method} ${url}`))
  const authorization = basic(keys.root)
  const cases = routes.flatMap(({ method, url, staysOpen }) => {
    const names = staysOpen ? [] : (url.match(/:\w+/g) ?? [])
    return names.map((name) => ({ method, url: url.replace(name, '') }))
  })
  assert.ok(cases.length >= 40)
  for (const { method, url } of cases) {
    const address = url.replaceAll(/:\w+/g, 'x')
    if (declared.has(`${method} ${address}`)) continue
    const answer = await app.inject({ method: method as Method, url: address, headers: { authorization } })
    const expected = paths.has(address) ? 405 : 404
    assert.equal(answer.statusCode, expected, `${method} ${address}`)
    if (expected === 405) assert.match(String(answer.headers.allow), /^[A-Z, ]+$/)
    else if (method !== 'HEAD') assert.match(answer.body, /"(?:error_)?code":"route_not_found"/)
  }
  for (const method of ['GET', 'PUT', 'DELETE'] as const) {
    const answer = await app.inject({ method, url: '/v1/chat/completions/', headers: { authorization } })
    assert.deepEqual([answer.statusCode, answer.headers.allow], [405, 'POST'], method)
  }
})

test('unknown paths are a 404, and unsupported methods a 405 with the accepted ones', async () => {
  for (const [method, url, status, body, allow] of [
    ['GET', '/nothing', 404, { path: '/nothing' }, undefined],
    ['POST', '/call/start/', 404, { path: '/call/start/' }, undefined],
    ['OPTIONS', '/nothing', 404, { path: '/nothing' }, undefined],
    ['OPTIONS', '/call/start', 405, { path: '/call/start', allow: 'POST' }, 'POST'],
    ['GET', `/${'x'.repeat(300)}?q=1`, 404, { path: `/${'x'.repeat(199)}` }, undefined],
    ['GET', '/call/start?x=1', 405, { path: '/call/start', allow: 'POST' }, 'POST'],
    ['DELETE', '/v2/a/b/calls/complete', 405, { path: '/v2/a/b/calls/complete', allow: 'POST' }, 'POST'],
    ['POST', '/health', 405, { path: '/health', allow: 'GET, HEAD' }, 'GET, HEAD'],
  ] as const) {
    const answer = await app.inject({ method, url, headers: { authorization } })
    assert.equal(answer.statusCode, status)
    assert.equal(answer.headers.allow, allow)
    assert.deepEqual(
      answer.json(),
      status === 404
        ? {
            reason: `There is no route ${method} ${body.path}. GET /openapi.json lists them.`,
            code: 'route_not_found',
          }
        : {
            reason: `${method} is not offered at ${body.path}; accepted: ${allow}.`,
            code: 'method_not_allowed',
          },
    )
  }
})

test('a route of others that is missing here names what there is, in the form of its clients', async () => {
  for (const [url, instead] of [
    ['/v1/complete', 'POST /v1/messages'],
    ['/completion', 'POST /v1/completions'],
    ['/openai/deployments', 'GET /openapi.json'],
  ] as const) {
    const answer = await app.inject({ method: 'POST', url, payload: {}, headers: { authorization } })
    const { error } = answer.json()
    assert.deepEqual([answer.statusCode, error.type], [404, 'not_found_error'], url)
    assert.ok(error.message.includes(instead), error.message)
  }
})

test('a path that cannot be decoded is an unknown route', async () => {
  for (const url of ['/%zz', '/v2/%ff/x/calls/complete', `/v2/${'x'.repeat(600)}/x/calls/complete`]) {
    const answer = await app.inject({ method: 'POST', url, headers: { authorization } })
    assert.deepEqual([answer.statusCode, answer.json().code], [404, 'route_not_found'], url)
    assert.match(String(answer.headers['x-request-id']), /^[0-9a-f]{32}$/)
  }
})

test('under /v1 a refusal has the envelope of OpenAI', async () => {
  const ask = async (url: string, headers: Record<string, string>) => {
    const answer = await app.inject({ method: 'GET', url, headers })
    return { status: answer.statusCode, challenge: answer.headers['www-authenticate'], body: answer.json() }
  }
  for (const url of ['/v1', '/v1/', '/v1/nothing', '/v1?x=1']) {
    assert.deepEqual(await ask(url, {}), {
      status: 401,
      challenge: ['Basic realm="heddle", charset="UTF-8"', 'Bearer realm="heddle"'],
      body: {
        error: {
          message:
            'This server needs credentials: Basic with user name "api" and a key as password, Bearer with a key, or a key in x-api-key or api-key.',
          type: 'authentication_error',
          param: null,
          code: 'not_authenticated',
        },
      },
    })
    assert.deepEqual(await ask(url, { authorization }), {
      status: 404,
      challenge: undefined,
      body: {
        error: {
          message: `There is no route GET ${url.split('?')[0]}. GET /openapi.json lists them.`,
          type: 'not_found_error',
          param: null,
          code: 'route_not_found',
        },
      },
    })
  }
  assert.deepEqual(Object.keys((await ask('/v1%zz', { authorization })).body), ['reason', 'code'])
  assert.deepEqual(Object.keys((await ask('/v1/%zz', { authorization })).body), ['error'])
  for (const url of ['/v10/models', '/v2/v1', '/V1/models']) {
    assert.deepEqual(Object.keys((await ask(url, { authorization })).body), ['reason', 'code'], url)
  }
})

/** A record whose writes wait until `release` is called. */
async function heldDatabase(): Promise<{ database: Database; release(): void; waiting: Promise<void> }> {
  const database = openMemoryRecord()
  const released = Promise.withResolvers<void>()
  const arrived = Promise.withResolvers<void>()
  const write: Database['write'] = (name, input) => {
    arrived.resolve()
    return released.promise.then(() => database.write(name, input))
  }
  return { database: { ...database, write }, release: released.resolve, waiting: arrived.promise }
}

test('bodies beyond the budget are refused with Retry-After until one in work is done', async (t) => {
  const { database, release, waiting } = await heldDatabase()
  const { app, post } = await openApp(t, {
    database,
    settings: { HEDDLE_BODY_BUDGET: '2000', HEDDLE_DOCS: 'on' },
  })
  const body = JSON.stringify({ end: endOf(startOf().id) }).padEnd(1200)
  const first = post('/call/end', body)
  await waiting
  const refused = await post('/call/end', body)
  assert.deepEqual(whole(refused), {
    status: 429,
    body: {
      reason: 'Too many requests of this kind are waiting; try again shortly.',
      code: 'queue_full',
    },
  })
  assert.equal(refused.headers['retry-after'], '1')
  const small = post('/call/end', body.trim())
  const withoutBody = await app.inject({ method: 'GET', url: '/openapi.json', headers: { authorization } })
  assert.equal(withoutBody.statusCode, 200)
  release()
  assert.equal((await first).status, 200)
  assert.equal((await small).status, 200)
  assert.equal((await post('/call/end', body)).status, 200)
})

test('one body is accepted even if it is larger than the budget', async (t) => {
  const { post } = await openApp(t, { settings: { HEDDLE_BODY_BUDGET: '1024' } })
  const body = JSON.stringify({ end: endOf(startOf().id) }).padEnd(5000)
  for (let time = 0; time < 3; time++) assert.equal((await post('/call/end', body)).status, 200)
})

test('a refused body returns its share of the budget', async (t) => {
  const { post } = await openApp(t, { settings: { HEDDLE_BODY_BUDGET: '1024' } })
  for (const body of ['x'.repeat(900), '{}'.padEnd(900), JSON.stringify({ end: {} }).padEnd(900)]) {
    for (let time = 0; time < 3; time++) assert.notEqual((await post('/call/end', body)).status, 429)
  }
})

test('an error of the server reveals nothing but the request id', async (t) => {
  const database = openMemoryRecord()
  const broken: Database = {
    ...database,
    write: () => Promise.reject(new TypeError('secret detail')),
  }
  const { app } = await openApp(t, { database: broken })
  const answer = await app.inject({
    method: 'POST',
    url: '/call/end',
    headers: { ...json, 'x-request-id': 'mine' },
    payload: { end: endOf(startOf().id) },
  })
  assert.equal(answer.statusCode, 500)
  assert.deepEqual(answer.json(), {
    reason: 'Internal error. The log has the reason under the request id mine.',
    code: 'internal_error',
  })
})

test('a well-formed request id is kept, and any other is replaced', async () => {
  const idFor = async (given: string | undefined, url = '/health') => {
    const headers = given === undefined ? {} : { 'x-request-id': given }
    return String((await app.inject({ method: 'GET', url, headers })).headers['x-request-id'])
  }
  for (const id of ['a', 'A-b_c.d:0', 'x'.repeat(128)]) {
    for (const url of ['/health', '/call/start', '/nothing', '/%zz']) assert.equal(await idFor(id, url), id)
  }
  for (const id of [undefined, '', 'a b', 'a\tb', 'x'.repeat(129), 'é', '{"a":1}', 'a,b', '<script>']) {
    assert.match(await idFor(id), /^[0-9a-f]{32}$/)
  }
  assert.notEqual(await idFor(undefined), await idFor(undefined))
})

test('a message describes in words what is wrong', async () => {
  const long = 'y'.repeat(200)
  const { json } = await post('/call/read', { project_id: long, id: 5 })
  assert.deepEqual(json, {
    reason: `The body does not fit the schema: project_id: expected the form <entity>/<project>, received "${'y'.repeat(79)}….`,
    code: 'invalid_request',
    detail: [
      {
        loc: ['body', 'project_id'],
        msg: `expected the form <entity>/<project>, received "${'y'.repeat(79)}…`,
        type: 'invalid_format',
      },
      { loc: ['body', 'id'], msg: 'expected string, received number', type: 'invalid_type' },
    ],
  })
})

test('at most a hundred invalid paths are listed', async () => {
  const { status, json } = await post('/calls/delete', { project_id: project, call_ids: Array(500).fill(1) })
  assert.equal(status, 422)
  assert.equal(json.detail.length, 100)
})
