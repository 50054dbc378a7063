import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { hashKey } from '../../src/domain/keys.ts'
import { apiOf } from '../../src/http/errors.ts'
import { whole } from '../support/answers.ts'
import { basic, keys, openApp } from '../support/app.ts'
import { completeOf, project } from '../support/calls.ts'
import { sampled } from '../support/campaign-share.ts'
import { addressOf, openAppWithRoutes, type Route } from '../support/routes.ts'
import { adminsOnly, sampleBodyOf } from '../support/sample-bodies.ts'

const challenges = ['Basic realm="heddle", charset="UTF-8"', 'Bearer realm="heddle"']

const refusals = {
  not_authenticated:
    'This server needs credentials: Basic with user name "api" and a key as password, Bearer with a key, or a key in x-api-key or api-key.',
  wrong_credentials:
    'These credentials are not accepted: the user name and the key do not belong together, or the key is unknown or revoked.',
  malformed_credentials:
    'The Authorization header cannot be read: Basic must be followed by the base64 of name:key.',
}

const revoked = 'revoked-secret-key'
const base64 = (text: string) => Buffer.from(text).toString('base64')

const refused: [authorization: string | undefined, code: keyof typeof refusals][] = [
  [undefined, 'not_authenticated'],
  ['', 'not_authenticated'],
  [keys.alice, 'not_authenticated'],
  [base64(`api:${keys.alice}`), 'not_authenticated'],
  [`Digest username="alice", response="${keys.alice}"`, 'not_authenticated'],
  [`Bearer\t${keys.alice}`, 'not_authenticated'],
  ['Basic', 'malformed_credentials'],
  ['Basic ', 'malformed_credentials'],
  ['Basic !!!', 'malformed_credentials'],
  [`Basic api:${keys.alice}`, 'malformed_credentials'],
  [`Basic ${base64('no colon')}`, 'malformed_credentials'],
  [`Basic ${base64(`api:${keys.alice}`)} x`, 'malformed_credentials'],
  [basic(`${keys.alice}\n`), 'malformed_credentials'],
  [basic(''), 'wrong_credentials'],
  [basic('wrong-secret-key'), 'wrong_credentials'],
  [basic(`${keys.alice} `), 'wrong_credentials'],
  [basic(keys.alice, ''), 'wrong_credentials'],
  [basic(keys.alice, 'bob'), 'wrong_credentials'],
  [basic(keys.alice, 'Alice'), 'wrong_credentials'],
  [basic(keys.alice, 'API'), 'wrong_credentials'],
  [basic(hashKey(keys.alice)), 'wrong_credentials'],
  [basic(revoked), 'wrong_credentials'],
  [basic(revoked, 'carol'), 'wrong_credentials'],
  ['Bearer', 'wrong_credentials'],
  ['Bearer ', 'wrong_credentials'],
  ['Bearer wrong-secret-key', 'wrong_credentials'],
  [`Bearer ${keys.alice} x`, 'wrong_credentials'],
  [`Bearer api:${keys.alice}`, 'wrong_credentials'],
  [`Bearer ${base64(`api:${keys.alice}`)}`, 'wrong_credentials'],
  [`Bearer ${hashKey(keys.alice)}`, 'wrong_credentials'],
  [`Bearer ${revoked}`, 'wrong_credentials'],
]

const accepted: Record<string, Record<string, string>> = {
  Basic: { authorization: basic(keys.alice) },
  'Basic with a name': { authorization: basic(keys.alice, 'alice') },
  basic: { authorization: basic(keys.alice).replace('Basic', 'basic') },
  'Basic with several spaces': { authorization: basic(keys.alice).replace(' ', '   ') },
  'Bearer with several spaces': { authorization: `Bearer   ${keys.alice}` },
  Bearer: { authorization: `Bearer ${keys.alice}` },
  bearer: { authorization: `bearer ${keys.alice}` },
  'x-api-key': { 'x-api-key': keys.alice },
  'api-key': { 'api-key': keys.alice },
  'x-api-key with another scheme': { authorization: 'Digest x', 'x-api-key': keys.alice },
}

/** When a request has two keys, the one in Authorization counts. */
const wrongKeys: Record<string, string>[] = [
  { 'x-api-key': '' },
  { 'x-api-key': 'wrong-secret-key' },
  { 'x-api-key': `Bearer ${keys.alice}` },
  { 'x-api-key': `${keys.alice}, ${keys.alice}` },
  { 'x-api-key': hashKey(keys.alice) },
  { 'x-api-key': revoked },
  { 'x-api-key': keys.alice, authorization: 'Bearer wrong-secret-key' },
  { 'x-api-key': keys.alice, authorization: basic('wrong-secret-key') },
]

/** For the tests of every route. The record has a user whose key is revoked. */
const { app, database, routes } = await openAppWithRoutes({ after })
const carol = { name: 'carol', role: 'admin' as const, entities: ['*'], created_at: 1 }
await database.write('addUser', { user: carol, key: { id: 'carol-1', hash: hashKey(revoked) } })
await database.write('revokeKey', { id: 'carol-1', now: 2 })

/** Routes without a project, such as those of models, are the same for every tenant. */
const isOfProject = (url: string) =>
  url.includes(':project') || JSON.stringify(sampleBodyOf(url, 'a/project')).includes('a/project')

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** The methods that each path does not accept. */
function methodsNotOffered(): [string, string][] {
  const declared = new Set(routes.map(({ method, url }) => `${method} ${url}`))
  const urls = [...new Set(routes.map(({ url }) => url))].filter((url) => !url.includes('*'))
  const pairs = urls.flatMap((url) => methods.map((method): [string, string] => [method, url]))
  return pairs.filter(([method, url]) => !declared.has(`${method} ${url}`))
}

/** Requests that match no route must be refused in the same way. */
const nowhere: Route[] = [
  ['GET', '/nothing'],
  ['POST', '/'],
  ['GET', '/acme/qa/r'],
  ['POST', '/call/start/'],
  ['OPTIONS', '/call/start'],
  ['GET', '/docs/static/nothing.js'],
  ['GET', '/health/x'],
  ['GET', '//health'],
  ['GET', '/HEALTH'],
  ...methodsNotOffered(),
].map(([method = '', url = '']) => ({
  method,
  url,
  isPublic: false,
  staysOpen: false,
  takesBody: false,
  isHidden: true,
}))

const methodOf = ({ method }: Route) => method as 'GET'

test('P5: only health, the page itself, its links and its sign-in answer without credentials', async () => {
  const open = []
  for (const route of routes) {
    const { statusCode } = await app.inject({ method: methodOf(route), url: addressOf(route) })
    if (statusCode !== 401) open.push(`${route.method} ${route.url} ${statusCode}`)
  }
  const read = [
    '/health',
    '/ready',
    '/',
    '/ui',
    '/ui/',
    '/:entity/:project/r/*',
    '/:entity/:project/weave',
    '/:entity/:project/weave/*',
  ]
  const both = (url: string, status = 200) => [`GET ${url} ${status}`, `HEAD ${url} ${status}`]
  assert.deepEqual(open, [
    ...read.flatMap((url) => both(url)),
    ...both('/favicon.ico', 302),
    // The sample file does not exist.
    ...both('/ui/*', 404),
    ...both('/ui/issuers'),
    // The body lacks the key that signs in.
    'POST /ui/session 422',
    // The body lacks the secret of the invitation.
    'POST /invitations/accept 422',
  ])
  assert.deepEqual(
    routes.filter(({ isPublic }) => isPublic).map(({ method, url }) => `${method} ${url}`),
    open.map((line) => line.slice(0, -4)),
  )
})

test('P5: the list of routes that these tests check is complete', async () => {
  const declared = new Set(routes.map(({ url }) => url))
  for (const url of ['/health', '/metrics', '/call/start', '/openapi.json', '/docs', '/docs/*']) {
    assert.ok(declared.has(url), url)
  }
  for (const { method, url } of routes) assert.ok(app.hasRoute({ method: method as 'GET', url }))
  for (const method of methods) {
    assert.ok(
      [...routes, ...nowhere].some((route) => route.method === method && route.url === '/call/start'),
      method,
    )
  }
})

/** The first credential of each kind is tried on every route, each other on a fourth of them, and all on every route. */
const routesOf = (index: number) =>
  index === 0 ? [...routes, ...nowhere] : sampled([...routes, ...nowhere], index)

async function assertRefused(
  tried: readonly Route[],
  headers: Record<string, string>,
  code: keyof typeof refusals,
) {
  for (const route of tried) {
    if (route.isPublic) continue
    const answer = await app.inject({ method: methodOf(route), url: addressOf(route), headers })
    const place = `${route.method} ${route.url}`
    assert.equal(answer.statusCode, 401, place)
    assert.deepEqual(answer.headers['www-authenticate'], challenges, place)
    assert.match(String(answer.headers['x-request-id']), /^[0-9a-f]{32}$/, place)
    assert.equal(answer.headers['x-content-type-options'], 'nosniff', place)
    const message = refusals[code]
    const type = 'authentication_error'
    if (route.method === 'HEAD') assert.equal(answer.body, '', place)
    else if (apiOf(route.url) === 'openai') {
      assert.deepEqual(answer.json(), { error: { message, type, param: null, code } }, place)
    } else if (apiOf(route.url) === 'anthropic') {
      const error = { type, message, details: { error_code: code } }
      const request_id = answer.headers['x-request-id']
      assert.deepEqual(answer.json(), { type: 'error', error, request_id }, place)
    } else if (apiOf(route.url) === 'ollama') {
      assert.deepEqual(answer.json(), { error: message, code }, place)
    } else assert.deepEqual(answer.json(), { reason: message, code }, place)
  }
}

for (const kind of Object.values(Object.groupBy(refused, ([, code]) => code))) {
  for (const [index, [authorization, code]] of kind.entries()) {
    test(`P5: ${JSON.stringify(authorization) ?? 'no Authorization'} opens no route`, () =>
      assertRefused(routesOf(index), authorization === undefined ? {} : { authorization }, code))
  }
}

for (const [index, headers] of wrongKeys.entries()) {
  test(`P5: ${JSON.stringify(headers)} opens no route`, () =>
    assertRefused(routesOf(index), headers, 'wrong_credentials'))
}

for (const [index, [how, headers]] of Object.entries(accepted).entries()) {
  test(`P5: ${how} with a valid key is accepted by every route`, async () => {
    for (const route of routesOf(index).filter(({ staysOpen }) => !staysOpen)) {
      const sent = { method: methodOf(route), url: addressOf(route), headers }
      const { statusCode, headers: answered } = await app.inject(sent)
      assert.notEqual(statusCode, 401, `${route.method} ${route.url}`)
      assert.ok(statusCode < 500, `${route.method} ${route.url} ${statusCode}`)
      // A browser must not make a page of what somebody has stored.
      assert.equal(answered['x-content-type-options'], 'nosniff', `${route.method} ${route.url}`)
    }
  })
}

test('P5: without credentials the body of a request is not read', async (t) => {
  const { app } = await openApp(t, { settings: { HEDDLE_BODY_LIMIT: '1024' } })
  for (const payload of ['not JSON', 'x'.repeat(5000)]) {
    const answer = await app.inject({
      method: 'POST',
      url: '/call/start',
      headers: { 'content-type': 'application/json' },
      payload,
    })
    assert.equal(answer.statusCode, 401)
  }
})

test('P5: a key works from when it is added until it is revoked', async (t) => {
  const { get, database } = await openApp(t, { settings: { HEDDLE_DOCS: 'on' } })
  const [first, second] = ['first-secret-key', 'second-secret-key']
  const statuses = async () => [
    (await get('/openapi.json', first)).status,
    (await get('/openapi.json', second)).status,
  ]
  assert.deepEqual(await statuses(), [401, 401])
  const user = { name: 'dave', role: 'member' as const, entities: ['acme'], created_at: 1 }
  await database.write('addUser', { user, key: { id: 'k1', hash: hashKey(first) } })
  assert.deepEqual(await statuses(), [200, 401])
  await database.write('addKey', { id: 'k2', hash: hashKey(second), user: 'dave', now: 1 })
  assert.deepEqual(await statuses(), [200, 200])
  await database.write('revokeKey', { id: 'k1', now: 1 })
  assert.deepEqual(await statuses(), [401, 200])
  await database.write('removeUser', { name: 'dave', isConfigured: false, now: 0 })
  assert.deepEqual(await statuses(), [401, 401])
})

test('P5: metrics are for admins', async (t) => {
  const { get } = await openApp(t)
  assert.deepEqual(whole(await get('/metrics')), {
    status: 403,
    body: { reason: 'This needs the role admin (scrape); your role is member.', code: 'role_forbidden' },
  })
  assert.equal((await get('/metrics', keys.root)).status, 200)
})

test('P6: another tenant gets the same 403 whether the project exists or not', async (t) => {
  const { post, send, routes } = await openAppWithRoutes(t)
  const ask = async (name: string) => {
    const answers = new Map<string, unknown>()
    for (const route of routes) {
      const { url } = route
      // What only admins may do is refused to others before a project is read.
      if (!route.takesBody || route.isHidden || adminsOnly.has(url) || !isOfProject(url)) continue
      const address = addressOf({ url }, ['globex', name])
      const answer = await send(methodOf(route), address, sampleBodyOf(url, `globex/${name}`))
      const { 'x-request-id': _, date: __, ...headers } = answer.headers
      answers.set(url, { status: answer.status, headers, text: answer.text })
    }
    return answers
  }
  const before = await ask('secret')
  assert.ok(before.size > 0)
  for (const [url, answer] of before) {
    const { status, text } = answer as { status: number; text: string }
    assert.equal(status, 403, `${url} ${text}`)
    assert.match(
      text,
      /^\{"reason":"Your key has no access to the entity of [\w.]+: \\"globex\/secret\\"\.","code":"entity_forbidden"\}$/,
    )
  }
  const call = completeOf({ project_id: 'globex/secret' })
  const written = await post('/v2/globex/secret/calls/complete', { batch: [call] }, keys.bob)
  assert.equal(written.status, 200)
  assert.deepEqual(await ask('secret'), before)
})

test('P6: a call of another tenant is not found from a project of the caller', async (t) => {
  const { post } = await openApp(t)
  const call = completeOf({ project_id: 'globex/qa' })
  await post('/v2/globex/qa/calls/complete', { batch: [call] }, keys.bob)
  const unknown = completeOf()
  const answers = []
  for (const { id } of [call, unknown]) {
    const read = await post('/call/read', { project_id: project, id })
    assert.equal(read.status, 404)
    answers.push(read.text.replaceAll(id, 'ID'))
    const filter = { call_ids: [id], trace_ids: [id] }
    assert.equal((await post('/calls/stream_query', { project_id: project, filter })).text, '')
    assert.equal((await post('/calls/query_stats', { project_id: project, filter })).json.count, 0)
    answers.push((await post('/calls/delete', { project_id: project, call_ids: [id] })).text)
  }
  assert.deepEqual(answers.slice(2), answers.slice(0, 2))
})

test('P6: access is to a whole entity, and a similar name grants nothing', async (t) => {
  const { post } = await openApp(t)
  for (const [project_id, status] of [
    ['acme/anything', 404],
    ['acm/qa', 403],
    ['acmee/qa', 403],
    ['ACME/qa', 403],
    ['*/qa', 403],
    ['globex/acme', 403],
  ] as const) {
    const { id } = completeOf()
    assert.equal((await post('/call/read', { project_id, id })).status, status, project_id)
    assert.equal((await post('/call/read', { project_id, id }, keys.root)).status, 404)
  }
})

test('P6: a caller has access to every granted entity and to no other', async (t) => {
  const HEDDLE_USERS = 'eve:the-secret-key-of-eve:acme+globex,frank:the-secret-key-of-frank:globex'
  const { post } = await openApp(t, { settings: { HEDDLE_USERS } })
  const statuses = async (key: string) => {
    const found = []
    for (const entity of ['acme', 'globex', 'other']) {
      const body = { project_id: `${entity}/qa`, id: completeOf().id }
      found.push((await post('/call/read', body, key)).status)
    }
    return found
  }
  assert.deepEqual(await statuses('the-secret-key-of-eve'), [404, 404, 403])
  assert.deepEqual(await statuses('the-secret-key-of-frank'), [403, 404, 403])
})
