import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { test } from 'node:test'
import { compareClocks } from '../../../src/domain/clock.ts'
import type { Batch } from '../../../src/storage/batches/batches.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { keys, openApp, type TestApp, type TestParts } from '../../support/app.ts'
import { type Script, scriptedBackend, scriptOf } from '../../support/scripted-backend.ts'
import { until } from '../../support/wait.ts'

const url = '/v1/messages/batches'
const params = (content: string, fields: object = {}) => ({
  model: 'scripted',
  messages: [{ role: 'user', content }],
  max_tokens: 16,
  ...fields,
})
const request = (custom_id: string, fields: object = {}) => ({ custom_id, params: params(custom_id, fields) })

const open = (t: Parameters<typeof openApp>[0], parts: TestParts = {}) =>
  openApp(t, { backend: scriptedBackend(), sweep: true, ...parts })

async function begin({ post }: TestApp, requests: readonly object[], key = keys.alice) {
  const { status, json } = await post(url, { requests }, key)
  assert.equal(status, 200, JSON.stringify(json))
  return json
}

const read = async ({ get }: TestApp, id: string) => (await get(`${url}/${id}`)).json
const stored = ({ database }: TestApp, id: string) =>
  database.get<Batch>(sql`SELECT * FROM batches WHERE id = ${id}`)
const answered = async (opened: TestApp, id: string) => Number((await stored(opened, id))?.completed)

async function endOf(opened: TestApp, { id }: { id: string }) {
  await until('the batch is over', async () => (await read(opened, id)).processing_status === 'ended')
  return read(opened, id)
}

interface Result {
  custom_id: string
  result: {
    type: string
    message?: { type: string; content: { text: string }[]; stop_reason: string; usage: object }
    error?: { type: string; error: { type: string; message: string }; request_id: string }
    ignored_fields?: string[]
  }
}

async function resultsOf({ get }: TestApp, id: string, key = keys.alice): Promise<Result[]> {
  const { status, text, headers } = await get(`${url}/${id}/results`, key)
  assert.equal(status, 200, text)
  assert.equal(headers['content-type'], 'application/x-jsonl')
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

const typesOf = async (opened: TestApp, id: string) =>
  (await resultsOf(opened, id)).map(({ custom_id, result }) => [custom_id, result.type])

/** As the process that works on it. */
async function holdingOf({ database }: TestApp, id: string) {
  const holder = 'the test'
  const taken = await database.write('takeBatch', {
    holder,
    now: Date.now() * 1_000,
    until: Number.MAX_SAFE_INTEGER,
    mayAsk: true,
  })
  assert.equal(taken?.id, id)
  return { project_id: taken.project_id, id, holder }
}

test('where a project replaces private texts, a batch is refused: its requests would be on the disk', async (t) => {
  const opened = await open(t)
  const change = { redaction: { kinds: ['email'] } } as never
  await opened.database.write('changeProjectSettings', { project_id: 'acme/default', change })
  const { status, json } = await opened.post(url, { requests: [request('a')] })
  assert.deepEqual([status, json.error.details.error_code], [400, 'invalid_value'])
  assert.match(json.error.message, /^requests: given, but the project replaces private texts/)
  assert.equal(await opened.database.get(sql`SELECT 1 AS one FROM wire_files`), undefined)
})

test('a batch is refused whose project begins to replace private texts while it is sent', async (t) => {
  const opened = await open(t)
  assert.equal((await opened.post(url, { requests: [request('a')] })).status, 200)
  const batch = (await opened.database.get(sql`SELECT * FROM batches`)) as never
  const change = { redaction: { kinds: ['email'] } } as never
  await opened.database.write('changeProjectSettings', { project_id: 'acme/default', change })
  // Its settings were read before.
  const written = opened.database.write('addMessageBatch', { batch, input: {} as never })
  await assert.rejects(written, /the project replaces private texts/)
})

const none = { processing: 0, succeeded: 0, errored: 0, canceled: 0, expired: 0 }
const release = new EventEmitter()

/** Answers only what is to be answered fast. */
const slowly: Script = async function* (asked, signal) {
  if (!JSON.stringify(asked.prompt).includes('fast'))
    await Promise.race([once(signal, 'abort'), once(release, 'release')])
  yield* scriptOf('Hel', 'lo')(asked, signal)
}

test('every request has one result; what is wrong with one is told there', async (t) => {
  const opened = await open(t)
  const began = await begin(opened, [
    ...Array.from({ length: 10 }, (_, at) => request(`good-${at}`)),
    request('unknown', { model: 'absent' }),
    request('wrong', { messages: 7 }),
    request('mistyped', { temprature: 1 }),
  ])
  assert.match(began.id, /^msgbatch_[0-9a-f]{32}$/)
  assert.deepEqual(
    [began.type, began.processing_status, began.request_counts],
    ['message_batch', 'in_progress', { ...none, processing: 13 }],
  )
  assert.deepEqual(
    [began.ended_at, began.cancel_initiated_at, began.archived_at, began.results_url],
    [null, null, null, null],
  )
  assert.equal(Date.parse(began.expires_at) - Date.parse(began.created_at), 24 * 3_600_000)
  const batch = await endOf(opened, began)
  assert.deepEqual(batch.request_counts, { ...none, succeeded: 11, errored: 2 })
  assert.ok(Date.parse(batch.ended_at) >= Date.parse(batch.created_at))
  const results = await resultsOf(opened, batch.id)
  assert.equal(results.length, 13)
  for (const { custom_id, result } of results.filter(({ custom_id }) => custom_id.startsWith('good-'))) {
    const { type, content, stop_reason } = result.message ?? assert.fail(custom_id)
    assert.deepEqual([type, content[0]?.text, stop_reason], ['message', 'Hello', 'end_turn'])
  }
  const [unknown, wrong, mistyped] = results.slice(10)
  assert.deepEqual(
    [unknown?.result.type, unknown?.result.error?.type, unknown?.result.error?.error.type],
    ['errored', 'error', 'not_found_error'],
  )
  assert.equal(wrong?.result.error?.error.type, 'invalid_request_error')
  assert.match(wrong?.result.error?.error.message ?? '', /messages/)
  assert.match(wrong?.result.error?.request_id ?? '', /^[0-9a-f]{32}$/)
  assert.deepEqual(
    [mistyped?.result.type, mistyped?.result.ignored_fields],
    ['succeeded', ['params.temprature']],
  )
  const calls = await opened.database.all<{ attributes: string }>(sql`SELECT attributes FROM calls`)
  for (const { attributes } of calls) assert.equal(JSON.parse(attributes).heddle.batch.batch, batch.id)
  assert.ok(Number((await stored(opened, batch.id))?.output_tokens) > 0)
})

test('the address of the results is that of the request', async (t) => {
  const opened = await open(t, { settings: { HEDDLE_TRUST_PROXY: '1' } })
  const { id } = await endOf(opened, await begin(opened, [request('a')]))
  const headers = {
    ...{ authorization: `Bearer ${keys.alice}`, host: 'batches.example:8443' },
    ...{ 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.1' },
  }
  const answer = await opened.app.inject({ url: `${url}/${id}`, headers })
  assert.equal(answer.json().results_url, `https://batches.example:8443${url}/${id}/results`)
})

test('what no request may have is refused at once, by name', async (t) => {
  const opened = await open(t, { settings: { HEDDLE_BATCH_LINES: '3' } })
  const refusal = async (requests: unknown, key = keys.alice) => {
    const { status, json } = await opened.post(url, { requests }, key)
    assert.equal(json.type, 'error')
    return `${status} ${json.error.type} ${json.error.message}`
  }
  assert.match(await refusal([]), /^400 invalid_request_error .*requests: .*>=1/)
  for (const custom_id of ['', 'a b', 'ä', 'x'.repeat(65)])
    assert.match(await refusal([request('a'), request(custom_id)]), /^400 \S+ .*requests\.1\.custom_id: /)
  assert.match(await refusal([{ params: params('x') }]), /^400 \S+ .*requests\.0\.custom_id: /)
  assert.match(await refusal([{ custom_id: 'a', params: 7 }]), /^400 \S+ .*requests\.0\.params: .*object/)
  assert.match(
    await refusal([request('a'), request('b'), request('a')]),
    /^400 \S+ requests\.2\.custom_id: "a", as in requests\.0;/,
  )
  for (const stream of [true, 'true', 1])
    assert.match(await refusal([request('a', { stream })]), /requests\.0\.params\.stream: .*expected false/)
  assert.match(await refusal([request('a', { x: 'y'.repeat(1 << 20) })]), /requests\.0\.params: \d+ bytes;/)
  assert.match(
    await refusal(Array.from({ length: 4 }, (_, at) => request(`${at}`))),
    /^400 \S+ requests: 4 requests;.*at most 3/,
  )
  assert.deepEqual((await opened.get(url)).json, { data: [], first_id: null, last_id: null, has_more: false })
  const whole = [request('a', { stream: false }), request('b', { stream: null }), request('x'.repeat(64))]
  await begin(opened, whole)
  const { headers } = await opened.post(url, { requests: [{ ...request('a'), method: 'POST' }], name: 'n' })
  assert.equal(headers['x-heddle-ignored-fields'], 'requests.0.method, name')
  const left = await opened.database.get<object>(sql`SELECT count(*) AS n FROM wire_files`)
  assert.deepEqual({ ...left }, { n: 2 })
})

test('under HEDDLE_UNKNOWN_FIELDS=refuse an unknown field is refused, or its request has an error', async (t) => {
  const opened = await open(t, { settings: { HEDDLE_UNKNOWN_FIELDS: 'refuse' } })
  const refused = await opened.post(url, { requests: [{ ...request('a'), method: 'POST' }] })
  assert.equal(refused.status, 400)
  assert.match(refused.json.error.message, /requests\.0\.method/)
  const { id } = await endOf(opened, await begin(opened, [request('a', { temprature: 1 })]))
  const [line] = await resultsOf(opened, id)
  assert.match(line?.result.error?.error.message ?? '', /temprature/)
})

test('a batch is its user’s, and OpenAI’s clients see neither it nor its files', async (t) => {
  // Without background work it stays as it is.
  const opened = await openApp(t, { backend: scriptedBackend() })
  const { id } = await begin(opened, [request('a')])
  const asks = [
    ['GET', ''],
    ['GET', '/results'],
    ['POST', '/cancel'],
    ['DELETE', ''],
  ] as const
  for (const [method, path] of asks) {
    const ask = (batch: string, key: string) => opened.send(method, `${url}/${batch}${path}`, undefined, key)
    const other = await ask(id, keys.bob)
    const absent = await ask('msgbatch_x', keys.bob)
    assert.deepEqual([other.status, other.json.error.type], [404, 'not_found_error'], `${method} ${path}`)
    assert.equal(other.json.error.message.replace(id, 'msgbatch_x'), absent.json.error.message)
  }
  assert.deepEqual((await opened.get(url, keys.bob)).json.data, [])
  for (const [method, path] of asks.filter(([, path]) => path !== '/results')) {
    if (method === 'DELETE') continue
    assert.equal((await opened.send(method, `/v1/batches/${id}${path}`)).status, 404)
  }
  assert.deepEqual((await opened.get('/v1/batches')).json.data, [])
  assert.deepEqual((await opened.get('/v1/files')).json.data, [])
  const row = await stored(opened, id)
  assert.equal((await opened.get(`/v1/files/${row?.input_file_id}/content`)).status, 404)
  assert.equal((await opened.send('DELETE', `/v1/files/${row?.input_file_id}`)).status, 404)
  const before = await opened.send('DELETE', `${url}/${id}`)
  assert.deepEqual([before.status, before.json.error.details.error_code], [400, 'message_batch_status'])
  assert.match((await opened.get(`${url}/${id}/results`)).json.error.message, /in_progress/)
})

test('pages begin behind or in front of a batch', async (t) => {
  const opened = await openApp(t, { backend: scriptedBackend() })
  const ids: string[] = []
  for (let at = 0; at < 5; at++) ids.unshift((await begin(opened, [request('a')])).id)
  const page = async (query: string) => {
    const { json } = await opened.get(`${url}?${query}`)
    const listed = json.data.map(({ id }: { id: string }) => id)
    assert.deepEqual([json.first_id, json.last_id], [listed[0] ?? null, listed.at(-1) ?? null])
    return { ids: listed, has_more: json.has_more }
  }
  assert.deepEqual(await page('limit=5'), { ids, has_more: false })
  assert.deepEqual(await page(`limit=2&after_id=${ids[0]}`), { ids: ids.slice(1, 3), has_more: true })
  assert.deepEqual(await page(`limit=2&after_id=${ids[2]}`), { ids: ids.slice(3), has_more: false })
  assert.deepEqual(await page(`limit=2&before_id=${ids[3]}`), { ids: ids.slice(1, 3), has_more: true })
  assert.deepEqual(await page(`limit=3&before_id=${ids[3]}`), { ids: ids.slice(0, 3), has_more: false })
  assert.deepEqual(await page(`after_id=${ids[4]}`), { ids: [], has_more: false })
  for (const query of ['limit=0', 'limit=1001', 'after_id=x', `after_id=${ids[0]}&before_id=${ids[1]}`])
    assert.equal((await opened.get(`${url}?${query}`)).status, 400, query)
})

test('pages are full of what the key may see, in both directions', async (t) => {
  const opened = await openApp(t, { backend: scriptedBackend() })
  const grantTo = (...scopes: string[]) => ({ grants: scopes.map((scope) => ({ scope, role: 'editor' })) })
  const user = { name: 'carol', ...grantTo('acme', 'acmeo') }
  const { key } = (await opened.post('/users', user, keys.root)).json.key
  const seen: string[] = []
  for (const name of ['few', 'many', 'many', 'few', 'more', 'many', 'many', 'few', 'many']) {
    const headers = { authorization: `Bearer ${key}`, 'x-heddle-project': `acme/${name}` }
    const answer = await opened.app.inject({
      ...{ method: 'POST', url, headers },
      payload: { requests: [request('a')] },
    })
    if (name !== 'many') seen.unshift(answer.json().id)
  }
  const put = (...scopes: string[]) =>
    opened.send('PUT', '/users/carol/grants', grantTo(...scopes), keys.root)
  assert.equal((await put('acme/few', 'acme/more', 'acmeo')).status, 200)
  const page = async (query: string) => {
    const { json } = await opened.get(`${url}?${query}`, key)
    return [json.data.map(({ id }: { id: string }) => id), json.has_more]
  }
  assert.deepEqual(await page('limit=2'), [seen.slice(0, 2), true])
  assert.deepEqual(await page(`limit=2&after_id=${seen[1]}`), [seen.slice(2), false])
  assert.deepEqual(await page(`limit=2&before_id=${seen[3]}`), [seen.slice(1, 3), true])
  assert.deepEqual(await page(`limit=1&before_id=${seen[1]}`), [seen.slice(0, 1), false])
  assert.deepEqual(await page('limit=4'), [seen, false])
  await put('acmeo')
  assert.deepEqual(await page('limit=2'), [[], false])
  await put('acme')
  assert.equal((await page('limit=9'))[0].length, 9)
})

test('a cancelled batch ends soon; what was not answered is canceled', async (t) => {
  const opened = await open(t, { backend: scriptedBackend(slowly), settings: { HEDDLE_BATCH_PARALLEL: '2' } })
  const { id } = await begin(
    opened,
    ['fast', 'slow', 'later'].map((name) => request(name)),
  )
  await until('one is answered', async () => (await answered(opened, id)) === 1)
  assert.deepEqual((await read(opened, id)).request_counts, { ...none, processing: 3 })
  const canceling = (await opened.post(`${url}/${id}/cancel`, undefined)).json
  assert.equal(canceling.processing_status, 'canceling')
  assert.ok(Date.parse(canceling.cancel_initiated_at) > 0)
  const batch = await endOf(opened, { id })
  assert.deepEqual(batch.request_counts, { ...none, succeeded: 1, canceled: 2 })
  assert.equal(batch.cancel_initiated_at, canceling.cancel_initiated_at)
  assert.deepEqual(await typesOf(opened, id), [
    ['fast', 'succeeded'],
    ['slow', 'canceled'],
    ['later', 'canceled'],
  ])
  const over = await endOf(opened, await begin(opened, [request('fast')]))
  const late = await opened.post(`${url}/${over.id}/cancel`, undefined)
  assert.deepEqual([late.status, late.json.error.details.error_code], [400, 'message_batch_status'])
})

test('a batch that is cancelled or expires before any work has a result for every request', async (t) => {
  const opened = await openApp(t, { backend: scriptedBackend() })
  const [cancelled, expired] = [
    await begin(opened, [request('a'), request('b')]),
    await begin(opened, [request('c')]),
  ]
  for (let time = 0; time < 2; time++) {
    const { json } = await opened.post(`${url}/${cancelled.id}/cancel`, undefined)
    assert.equal(json.processing_status, 'canceling')
  }
  const at = performance.now()
  t.after(() => compareClocks(Date.now(), performance.now(), performance.now()))
  compareClocks(Date.now() + 25 * 3_600_000, at, at)
  const second = await open(t, { database: opened.database })
  assert.deepEqual((await endOf(second, cancelled)).request_counts, { ...none, canceled: 2 })
  assert.deepEqual(await typesOf(second, cancelled.id), [
    ['a', 'canceled'],
    ['b', 'canceled'],
  ])
  assert.deepEqual((await endOf(second, expired)).request_counts, { ...none, expired: 1 })
  assert.deepEqual(await typesOf(second, expired.id), [['c', 'expired']])
})

test('a batch whose results are being written can still be cancelled', async (t) => {
  const opened = await openApp(t, { backend: scriptedBackend() })
  const { id } = await begin(opened, [request('a')])
  const held = await holdingOf(opened, id)
  await opened.database.write('startBatch', { ...held, total: 1, now: 1 })
  await opened.database.write('finalizeBatch', { ...held, now: 2 })
  for (let time = 0; time < 2; time++) {
    const { status, json } = await opened.post(`${url}/${id}/cancel`, undefined)
    assert.deepEqual([status, json.processing_status], [200, 'canceling'], JSON.stringify(json))
    assert.deepEqual(json.request_counts, { ...none, processing: 1 })
  }
  await opened.database.write('finishBatch', {
    ...{ ...held, status: 'completed', output: null, error: null, now: 3 },
  })
  const over = await read(opened, id)
  assert.equal(over.processing_status, 'ended')
  assert.notEqual(over.cancel_initiated_at, null)
})

test('all requests of a batch whose input cannot be read are errored', async (t) => {
  const opened = await openApp(t, { backend: scriptedBackend() })
  const { id } = await begin(opened, [request('a'), request('b')])
  const held = await holdingOf(opened, id)
  await opened.database.write('failBatch', { ...held, total: 2, errors: '[]', now: 1 })
  const { processing_status, request_counts, results_url } = await read(opened, id)
  assert.deepEqual([processing_status, request_counts, results_url], ['ended', { ...none, errored: 2 }, null])
})

test('a deleted batch leaves nothing behind', async (t) => {
  const opened = await open(t)
  // More than are removed at once.
  const count = 210
  const began = await begin(
    opened,
    Array.from({ length: count }, (_, at) => request(`${at}`)),
  )
  await endOf(opened, began)
  const { status, json } = await opened.send('DELETE', `${url}/${began.id}`)
  assert.deepEqual([status, json], [200, { id: began.id, type: 'message_batch_deleted' }])
  assert.equal((await opened.get(`${url}/${began.id}`)).status, 404)
  assert.equal((await opened.get(`${url}/${began.id}/results`)).status, 404)
  const left = sql`SELECT (SELECT count(*) FROM batches) AS batches, (SELECT count(*) FROM batch_lines) AS lines,
    (SELECT count(*) FROM wire_files) AS files`
  assert.deepEqual({ ...(await opened.database.get<object>(left)) }, { batches: 0, lines: 0, files: 0 })
})

test('results are archived after 30 days', async (t) => {
  const opened = await open(t)
  const batch = await endOf(opened, await begin(opened, [request('a')]))
  const at = performance.now()
  t.after(() => compareClocks(Date.now(), performance.now(), performance.now()))
  compareClocks(Date.now() + 31 * 86_400_000, at, at)
  const archived = await read(opened, batch.id)
  assert.equal(archived.results_url, null)
  assert.equal(Date.parse(archived.archived_at) - Date.parse(batch.ended_at), 30 * 86_400_000)
  assert.match((await opened.get(`${url}/${batch.id}/results`)).json.error.message, /archived/)
})

test('the remaining requests of a batch whose key is revoked have an error of Anthropic’s form', async (t) => {
  const backend = scriptedBackend(slowly)
  const opened = await open(t, { backend, settings: { HEDDLE_BATCH_PARALLEL: '1' } })
  const user = { name: 'carol', role: 'member', entities: ['acme'] }
  const { key } = (await opened.post('/users', user, keys.root)).json.key
  const { key: other } = (await opened.post('/keys', {}, key)).json
  const { id } = await begin(
    opened,
    ['slow', 'later'].map((name) => request(name)),
    key,
  )
  await until('the first is asked', () => backend.asked.length === 1)
  const [{ id: own }] = (await opened.get('/keys', other)).json.keys
  assert.equal((await opened.send('DELETE', `/keys/${own}`, undefined, other)).status, 200)
  release.emit('release')
  await until(
    'the batch is over',
    async () => (await opened.get(`${url}/${id}`, other)).json.processing_status === 'ended',
  )
  const [first, later] = await resultsOf(opened, id, other)
  assert.deepEqual([first?.result.type, later?.result.type], ['succeeded', 'errored'])
  assert.deepEqual(
    [later?.result.error?.type, later?.result.error?.error.type],
    ['error', 'authentication_error'],
  )
})
