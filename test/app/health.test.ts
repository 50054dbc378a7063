import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Backend, BackendStatus, Generation } from '../../packages/engine/index.ts'
import { refuse } from '../../src/domain/refusals.ts'
import { localModels } from '../../src/inference/local-model.ts'
import type { Model } from '../../src/inference/model.ts'
import { createModels } from '../../src/inference/registry.ts'
import { version } from '../../src/version.ts'
import { whole } from '../support/answers.ts'
import { basic, keys, openApp } from '../support/app.ts'
import { endOf, startOf } from '../support/calls.ts'
import { openMemoryRecord } from '../support/memory-record.ts'
import {
  prefilled,
  type Script,
  scriptedBackend,
  scriptedModel,
  scriptOf,
} from '../support/scripted-backend.ts'

test('GET /health: 200 as long as the process runs, whatever the state of the record', async (t) => {
  const database = openMemoryRecord()
  const failing = { ...database, probe: () => Promise.reject(refuse('storage_failed')) }
  for (const parts of [{}, { database: failing }]) {
    const { app } = await openApp(t, parts)
    const answer = await app.inject('/health')
    assert.deepEqual([answer.statusCode, answer.json()], [200, { status: 'ok' }])
    const head = await app.inject({ method: 'HEAD', url: '/health' })
    assert.deepEqual([head.statusCode, head.body], [200, ''])
  }
})

const ready = { status: 'ready', record: 'ready', model: 'none' }

test('GET /ready: 200 when the record can be read and written', async (t) => {
  const { app } = await openApp(t)
  const answer = await app.inject('/ready')
  assert.deepEqual([answer.statusCode, answer.json()], [200, ready])
  const head = await app.inject({ method: 'HEAD', url: '/ready' })
  assert.deepEqual([head.statusCode, head.body], [200, ''])
})

for (const [code, reason] of [
  ['storage_failed', 'The record cannot be reached: nothing of this request was stored.'],
  ['storage_full', 'The disk of the record is full: nothing of this request was stored.'],
  ['storage_read_only', 'The record cannot be written: nothing of this request was stored.'],
] as const) {
  test(`GET /ready: 503 while the record answers ${code}`, async (t) => {
    let time = performance.now()
    t.mock.method(performance, 'now', () => time)
    const database = openMemoryRecord()
    let asked = 0
    let failing = true
    const probe = () => {
      asked++
      return failing ? Promise.reject(refuse(code)) : database.probe()
    }
    const { app } = await openApp(t, { database: { ...database, probe } })
    const ask = async () => {
      const answer = await app.inject('/ready')
      return { status: answer.statusCode, after: answer.headers['retry-after'], body: answer.json() }
    }
    const refused = { status: 503, after: '1', body: { reason, code } }
    assert.deepEqual(await Promise.all([ask(), ask(), ask()]), [refused, refused, refused])
    assert.equal(asked, 1)
    failing = false
    time += 1001
    assert.deepEqual(await ask(), { status: 200, after: undefined, body: ready })
    assert.equal(asked, 2)
  })
}

test('GET /ready: reports the state of the model, and not where it is stored', async (t) => {
  let status: BackendStatus = { state: 'starting', doing: 'downloading acme/secret' }
  const backend = {
    status: () => status,
    model: () => undefined,
    close: async () => {},
  } as unknown as Backend
  const { app } = await openApp(t, { backend })
  const ask = async () => {
    const answer = await app.inject('/ready')
    return { status: answer.statusCode, after: answer.headers['retry-after'], body: answer.json() }
  }
  const code = 'model_not_ready'
  assert.deepEqual(await ask(), {
    status: 503,
    after: '1',
    body: {
      reason: 'The model is not ready: it is being loaded, or the server behind it does not answer.',
      code,
      record: 'ready',
      model: 'starting',
    },
  })
  status = { state: 'failed', reason: '/srv/secret.gguf is not there' }
  assert.deepEqual(await ask(), {
    status: 503,
    after: '1',
    body: {
      reason: 'The model is not ready: it cannot be served, the log has the reason.',
      code,
      record: 'ready',
      model: 'failed',
    },
  })
  status = { state: 'ready', running: 1, waiting: 2 }
  assert.deepEqual(await ask(), { status: 200, after: undefined, body: { ...ready, model: 'ready' } })
  assert.equal((await app.inject('/health')).statusCode, 200)
})

test('GET /server_info: returns versions, and needs credentials', async (t) => {
  const { app, get } = await openApp(t)
  assert.equal((await app.inject('/server_info')).statusCode, 401)
  assert.deepEqual(whole(await get('/server_info')), {
    status: 200,
    body: { min_required_weave_python_version: '0.0.0', trace_server_version: version },
  })
})

const sample =
  /^([a-zA-Z_:][\w:]*)(\{[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*"(?:,[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*")*\})? (\S+)$/

/** Prometheus text, version 0.0.4: each sample by its name and labels. */
function parseMetrics(text: string): Map<string, number> {
  const samples = new Map<string, number>()
  const types = new Set<string>()
  for (const line of text.split('\n')) {
    const type = /^# TYPE (\S+) (counter|gauge|histogram|summary|untyped)$/.exec(line)
    if (type) types.add(type[1] as string)
    if (line === '' || line.startsWith('#')) continue
    const match = sample.exec(line)
    assert.ok(match, `not a sample: ${line}`)
    const [, name = '', labels = '', value] = match
    assert.ok(types.has(name) || types.has(name.replace(/_(bucket|sum|count)$/, '')), `${name} has no type`)
    assert.ok(!samples.has(name + labels), `${name}${labels} is given twice`)
    // Prometheus accepts NaN and the infinities in upper and lower case.
    assert.ok(/^(nan|[+-]?inf)$/i.test(value as string) || Number.isFinite(Number(value)), line)
    samples.set(name + labels, Number(value))
  }
  return samples
}

test('GET /metrics: text in the format of Prometheus, for admins', async (t) => {
  const { get } = await openApp(t)
  assert.equal((await get('/metrics')).status, 403)
  const answer = await get('/metrics', keys.root)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
  const samples = parseMetrics(answer.text)
  assert.equal(samples.get('heddle_http_requests_total{method="GET",route="/metrics",status="403"}'), 1)
  assert.equal(samples.get('heddle_http_requests_running'), 1)
  assert.ok((samples.get('process_resident_memory_bytes') ?? 0) > 0)
})

test('GET /metrics: a key with the scope scrape reads them and nothing else; operate includes it', async (t) => {
  const { app, get, post } = await openApp(t)
  const made = await post('/users', { name: 'prometheus', role: 'admin', entities: ['*'] }, keys.root)
  const whole = made.json.key.key as string
  const keyFor = async (...scopes: string[]) => (await post('/keys', { scopes }, whole)).json.key as string
  const scraping = await keyFor('scrape')
  assert.equal((await get('/metrics', scraping)).status, 200)
  assert.equal((await get('/metrics', await keyFor('operate'))).status, 200)
  assert.equal((await get('/metrics', await keyFor('read', 'administer'))).json.code, 'scope_forbidden')
  for (const [method, url] of [
    ['GET', '/users'],
    ['GET', '/keys'],
    ['POST', '/audit/query'],
    ['DELETE', '/users/prometheus'],
    ['POST', '/projects/acme/qa/redaction/try'],
  ] as const) {
    const headers = { authorization: basic(scraping) }
    const answer = await app.inject({ method, url, headers, ...(method === 'POST' && { payload: {} }) })
    assert.deepEqual([answer.statusCode, answer.json().code], [403, 'scope_forbidden'], `${method} ${url}`)
  }
  const member = await post('/users', { name: 'ordinary', entities: ['acme'] }, keys.root)
  const own = await post('/keys', { scopes: ['scrape'] }, member.json.key.key)
  assert.equal((await get('/metrics', own.json.key)).json.code, 'role_forbidden')
})

test('GET /metrics: requests are counted by route and status', async (t) => {
  const { get, post } = await openApp(t)
  for (let n = 0; n < 3; n++) await post('/call/end', { end: endOf(startOf().id) })
  await post('/call/end', {})
  await post('/v2/acme/one/calls/complete', { batch: [] })
  await post('/v2/acme/two/calls/complete', { batch: [] })
  const samples = parseMetrics((await get('/metrics', keys.root)).text)
  const total = (route: string, status: number) =>
    samples.get(`heddle_http_requests_total{method="POST",route="${route}",status="${status}"}`)
  assert.equal(total('/call/end', 200), 3)
  assert.equal(total('/call/end', 422), 1)
  assert.equal(total('/v2/:entity/:project/calls/complete', 200), 2)
  assert.equal(samples.get('heddle_http_request_seconds_count{route="/call/end"}'), 4)
})

test('GET /metrics: writes that the search waits for, and the connections of a database server', async (t) => {
  const record = openMemoryRecord()
  let reads: 'answer' | 'fail' = 'answer'
  const database: typeof record = {
    ...record,
    connections: () => ({ used: 2, bound: 10, waiting: 1 }),
    get: (query, tenant) =>
      reads === 'fail' ? Promise.reject(refuse('storage_failed')) : record.get(query, tenant),
  }
  const { get, post } = await openApp(t, { database })
  const samples = async () => parseMetrics((await get('/metrics', keys.root)).text)
  assert.equal((await samples()).get('heddle_search_writes_waiting'), 0)
  for (let n = 0; n < 2; n++) await post('/call/start', { start: startOf() })
  const found = await samples()
  assert.equal(found.get('heddle_search_writes_waiting'), 2)
  for (const [of, count] of Object.entries({ used: 2, bound: 10, waiting: 1 }))
    assert.equal(found.get(`heddle_postgres_connections{of="${of}"}`), count)
  reads = 'fail'
  assert.equal((await samples()).has('heddle_search_writes_waiting'), false)
})

test('GET /metrics: a completion by a fallback is counted with the model in whose place it was asked', async (t) => {
  const failing = function* (request: Generation) {
    yield prefilled(request)
    throw refuse('engine_failed', { why: 'killed' })
  }
  const named = (name: string, script: Script, fallbacks: string[] = []): Model => {
    const [model] = localModels(scriptedBackend(script)).all
    assert.ok(model)
    return { ...model, fallbacks, served: () => ({ ...scriptedModel, names: [name] }) }
  }
  const models = createModels([named('first', failing, ['other']), named('other', scriptOf('ab'))])
  const { get, post } = await openApp(t, { models })
  assert.equal((await post('/v1/completions', { prompt: 'x', model: 'first' })).json.model, 'other')
  const samples = parseMetrics((await get('/metrics', keys.root)).text)
  assert.equal(samples.get('heddle_fallbacks_total{model_name="other",instead_of="first"}'), 1)
  assert.equal(samples.get('heddle_completions_total{model_name="other",outcome="answered"}'), 1)
  assert.equal(samples.get('heddle_num_requests_running{model_name="first"}'), 0)
})

test('GET /metrics: unknown paths, methods and keys create no series of their own', async (t) => {
  const { app, get } = await openApp(t, { settings: { HEDDLE_DOCS: 'on' } })
  const series = async () => {
    const { text } = await get('/metrics', keys.root)
    return [...parseMetrics(text).keys()].filter((name) => name.startsWith('heddle_'))
  }
  const ask = async (method: 'GET' | 'PUT', url: string, key: string) => {
    await app.inject({ method, url, headers: { authorization: basic(key) } })
  }
  const strangers = async (n: number) => {
    await ask('GET', `/nothing/${n}?q=${n}`, keys.alice)
    await ask('GET', `/nothing/${n}`, `unknown-key-${n}`)
    await ask('PUT', `/v2/acme/${n}/calls/complete`, keys.alice)
    await ask('GET', `/%z${n}`, keys.alice)
    await ask('GET', `/docs/static/${n}.js`, keys.alice)
  }
  await series()
  await strangers(0)
  const before = await series()
  for (let n = 1; n < 20; n++) await strangers(n)
  assert.deepEqual(await series(), before)
  assert.ok(before.includes('heddle_http_requests_total{method="GET",route="none",status="404"}'))
  assert.ok(before.every((name) => !/\/nothing|unknown-key|acme/.test(name)))
})

test('GET /metrics: without a model there are no metrics of a model', async (t) => {
  const { get } = await openApp(t)
  const { text } = await get('/metrics', keys.root)
  assert.doesNotMatch(text, /heddle_(num_requests|prompt_tokens|model_ready)/)
})

test('GET /metrics: completions of all users are counted by model', async (t) => {
  const backend = scriptedBackend(scriptOf('ab', 'c'))
  backend.state = { state: 'ready', running: 3, waiting: 4 }
  const { get, post } = await openApp(t, { backend })
  const messages = [{ role: 'user', content: 'Hi' }]
  await post('/v1/chat/completions', { messages, chat_template: 'four', stream: true })
  await post('/v1/completions', { prompt: 'eight' + '888', n: 2 })
  backend.script = function* (request) {
    yield prefilled(request)
    throw refuse('engine_failed', { why: 'killed' })
  }
  assert.equal((await post('/v1/completions', { prompt: 'x' })).status, 503)
  const samples = parseMetrics((await get('/metrics', keys.root)).text)
  assert.equal(samples.get('heddle_model_ready'), 1)
  for (const [name, value] of Object.entries({
    'heddle_num_requests_running{model_name="scripted"}': 3,
    'heddle_num_requests_waiting{model_name="scripted"}': 4,
    'heddle_prompt_tokens_total{model_name="scripted"}': 4 + 8 + 1,
    'heddle_prefix_cache_queries_total{model_name="scripted"}': 4 + 8 + 1,
    'heddle_prefix_cache_hits_total{model_name="scripted"}': 9,
    'heddle_spec_decode_num_draft_tokens_total{model_name="scripted"}': 0,
    'heddle_spec_decode_num_accepted_tokens_total{model_name="scripted"}': 0,
    'heddle_generation_tokens_total{model_name="scripted"}': 9,
    'heddle_request_success_total{model_name="scripted",finished_reason="stop"}': 3,
    'heddle_completions_total{model_name="scripted",outcome="answered"}': 2,
    'heddle_completions_total{model_name="scripted",outcome="failed"}': 1,
    'heddle_time_to_first_token_seconds_count{model_name="scripted"}': 2,
    'heddle_inter_token_latency_seconds_count{model_name="scripted"}': 3,
    'heddle_e2e_request_latency_seconds_count{model_name="scripted"}': 3,
    'heddle_request_prefill_time_seconds_count{model_name="scripted"}': 3,
    'heddle_request_decode_time_seconds_count{model_name="scripted"}': 3,
    'heddle_request_prompt_tokens_sum{model_name="scripted"}': 13,
    'heddle_request_generation_tokens_sum{model_name="scripted"}': 9,
  })) {
    assert.equal(samples.get(name), value, name)
  }
  backend.state = { state: 'starting', doing: 'starting again' }
  const later = parseMetrics((await get('/metrics', keys.root)).text)
  const running = 'heddle_num_requests_running{model_name="scripted"}'
  assert.deepEqual([later.get('heddle_model_ready'), later.get(running)], [0, 0])
})
