import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { test } from 'node:test'
import { compareClocks } from '../../../src/domain/clock.ts'
import type { Batch } from '../../../src/storage/batches/batches.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { basic, keys, openApp, type TestApp, type TestParts } from '../../support/app.ts'
import { formOf, formType, sendForm } from '../../support/forms.ts'
import { type Script, scriptedBackend, scriptOf } from '../../support/scripted-backend.ts'
import { until } from '../../support/wait.ts'

const endpoint = '/v1/chat/completions'
const question = (content: string) => ({ messages: [{ role: 'user', content }], max_tokens: 16 })
const line = (custom_id: string, body: object = question(custom_id), url = endpoint) =>
  JSON.stringify({ custom_id, method: 'POST', url, body })

async function store(
  { app }: TestApp,
  lines: readonly string[],
  key = keys.alice,
  headers: object = {},
): Promise<string> {
  const form = formOf([
    { name: 'purpose', value: 'batch' },
    { name: 'file', value: lines.join('\n'), filename: 'in.jsonl' },
  ])
  const all = { 'content-type': formType, authorization: basic(key), ...headers }
  const answer = await app.inject({ method: 'POST', url: '/v1/files', headers: all, payload: form })
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json().id
}

async function begin(opened: TestApp, lines: readonly string[], fields: object = {}) {
  const input_file_id = await store(opened, lines)
  const body = { input_file_id, endpoint, completion_window: '24h', ...fields }
  const { status, json } = await opened.post('/v1/batches', body)
  assert.equal(status, 200, JSON.stringify(json))
  assert.equal(json.status, 'validating')
  return json
}

const ended = ['completed', 'failed', 'expired', 'cancelled']
const read = async (opened: TestApp, id: string) => (await opened.get(`/v1/batches/${id}`)).json
const endOf = async (opened: TestApp, { id }: { id: string }) => {
  await until('the batch is over', async () => ended.includes((await read(opened, id)).status))
  return read(opened, id)
}

const release = new EventEmitter()

/** Answers only what is to be answered fast. */
const slowly: Script = async function* (request, signal) {
  if (!JSON.stringify(request.prompt).includes('fast'))
    await Promise.race([once(signal, 'abort'), once(release, 'release')])
  yield* scriptOf('Hel', 'lo')(request, signal)
}

interface Answered {
  choices: { message: { content: string } }[]
  usage: { total_tokens: number }
  error: { code: string }
}

interface OutputLine {
  id: string
  custom_id: string
  response: {
    status_code: number
    request_id: string | null
    body: Partial<Answered>
    ignored_fields?: string[]
  } | null
  error: { code: string } | null
}

async function linesIn({ get }: TestApp, id: string | null): Promise<OutputLine[]> {
  if (id === null) return []
  const { text } = await get(`/v1/files/${id}/content`)
  return text
    .split('\n')
    .filter(Boolean)
    .map((each) => JSON.parse(each))
}

const open = (t: Parameters<typeof openApp>[0], parts: TestParts = {}) =>
  openApp(t, { backend: scriptedBackend(), sweep: true, ...parts })

test('every request of a batch is answered once, and what is wrong with one is in the file of errors', async (t) => {
  const opened = await open(t)
  const good = Array.from({ length: 20 }, (_, at) => line(`good-${at}`))
  const bad = [line('unknown', { ...question('x'), model: 'absent' }), line('wrong', { messages: 7 })]
  const began = await begin(opened, [...good, '', ...bad], { metadata: { night: '1' } })
  const batch = await endOf(opened, began)
  assert.equal(batch.status, 'completed', JSON.stringify(batch))
  assert.deepEqual(batch.request_counts, { total: 22, completed: 20, failed: 2 })
  assert.deepEqual(batch.metadata, { night: '1' })
  assert.ok(batch.completed_at >= batch.finalizing_at && batch.finalizing_at >= batch.in_progress_at)
  assert.equal(batch.model, 'scripted')
  const answers = await linesIn(opened, batch.output_file_id)
  assert.deepEqual(
    answers.map(({ custom_id }) => custom_id),
    good.map((_, at) => `good-${at}`),
  )
  let tokens = 0
  for (const { id, response, error } of answers) {
    assert.match(id, /^batch_req_/)
    assert.equal(error, null)
    assert.equal(response?.status_code, 200)
    const { choices, usage } = response?.body ?? {}
    assert.equal(choices?.[0]?.message.content, 'Hello')
    tokens += usage?.total_tokens ?? 0
  }
  assert.equal(batch.usage.total_tokens, tokens)
  const errors = await linesIn(opened, batch.error_file_id)
  assert.deepEqual(
    errors.map(({ custom_id, response }) => [custom_id, response?.status_code]),
    [
      ['unknown', 404],
      ['wrong', 400],
    ],
  )
  const output = (await opened.get(`/v1/files/${batch.output_file_id}`)).json
  assert.deepEqual([output.purpose, output.filename], ['batch_output', `${batch.id}_output.jsonl`])
  let calls: { attributes: string }[] = []
  // A call is recorded behind its answer.
  await until('all are recorded', async () => {
    calls = await opened.database.all(sql`SELECT attributes FROM calls`)
    return calls.length >= 20
  })
  const recorded = calls.map(({ attributes }) => JSON.parse(attributes).heddle.batch)
  assert.equal(recorded.length, 20)
  for (const { batch: id, custom_id } of recorded) {
    assert.equal(id, batch.id)
    assert.match(custom_id, /^good-/)
  }
  // Its answers are in its files: nothing is stored twice, and its input may go.
  await until('its input may go', async () => {
    return (await opened.send('DELETE', `/v1/files/${batch.input_file_id}`)).status === 200
  })
  await until('its lines are gone', async () => {
    const [left] = await opened.database.all<{ n: number }>(sql`SELECT count(*) AS n FROM batch_lines`)
    return left?.n === 0
  })
})

test('fields of a line that have no effect are named in its answer, in either file', async (t) => {
  const opened = await open(t)
  const batch = await endOf(
    opened,
    await begin(opened, [
      line('known'),
      line('mistyped', {
        ...question('x'),
        temprature: 1,
        messages: [{ role: 'user', content: 'x', nmae: 1 }],
      }),
      JSON.stringify({ ...JSON.parse(line('beside')), priority: 1 }),
      line('wrong', { mesages: [] }),
    ]),
  )
  const named = async (file: string | null) =>
    (await linesIn(opened, file)).map(({ custom_id, response }) => [custom_id, response?.ignored_fields])
  assert.deepEqual(await named(batch.output_file_id), [
    ['known', undefined],
    ['mistyped', ['body.messages.0.nmae', 'body.temprature']],
    ['beside', ['priority']],
  ])
  assert.deepEqual(await named(batch.error_file_id), [['wrong', ['body.mesages']]])
})

test('a batch asks other endpoints, too', async (t) => {
  const opened = await open(t)
  const asked = {
    '/v1/completions': { prompt: 'Once', max_tokens: 4 },
    '/v1/responses': { input: 'Hi', max_output_tokens: 16 },
    '/v1/embeddings': { input: ['a cab', 'bad'] },
  }
  for (const [url, body] of Object.entries(asked)) {
    const batch = await endOf(opened, await begin(opened, [line('a', body, url)], { endpoint: url }))
    assert.deepEqual(batch.request_counts, { total: 1, completed: 1, failed: 0 }, JSON.stringify(batch))
    assert.equal(batch.error_file_id, null)
    assert.ok(batch.usage.input_tokens > 0)
  }
})

test('one wrong line, and nothing of the batch is run: all wrong lines are named', async (t) => {
  const backend = scriptedBackend()
  const opened = await open(t, { backend, settings: { HEDDLE_BATCH_LINES: '40' } })
  const lines = Array.from({ length: 30 }, (_, at) => line(`${at}`))
  lines[16] = '{"custom_id": "16", '
  lines[17] = line('3')
  lines[18] = line('18', question('x'), '/v1/completions')
  lines[19] = JSON.stringify({ method: 'POST', url: endpoint, body: {} })
  lines[20] = JSON.stringify({ custom_id: 'x', method: 'GET', url: endpoint, body: {} })
  lines[21] = line('21', { ...question('x'), stream: true })
  lines[22] = '[]'
  lines[24] = line('24', { ...question('x'), stream: 'true' })
  lines[25] = line('25', { ...question('x'), stream: 1 })
  lines[23] = JSON.stringify({
    custom_id: 'long',
    method: 'POST',
    url: endpoint,
    body: { x: 'y'.repeat(1 << 20) },
  })
  const failed = await endOf(opened, await begin(opened, lines))
  assert.equal(failed.status, 'failed')
  assert.ok(failed.failed_at > 0)
  assert.deepEqual(
    failed.errors.data.map(({ code, line, param }: { code: string; line: number; param: string }) => [
      code,
      line,
      param,
    ]),
    [
      ['invalid_json_line', 17, null],
      ['duplicate_custom_id', 18, 'custom_id'],
      ['invalid_url', 19, 'url'],
      ['missing_required_parameter', 20, 'custom_id'],
      ['invalid_method', 21, 'method'],
      ['invalid_body', 22, 'body.stream'],
      ['invalid_json_line', 23, null],
      ['line_too_large', 24, null],
      ['invalid_body', 25, 'body.stream'],
      ['invalid_body', 26, 'body.stream'],
    ],
  )
  assert.deepEqual(failed.request_counts, { total: 30, completed: 0, failed: 0 })
  assert.equal(backend.asked.length, 0)
  const none = await endOf(opened, await begin(opened, ['', ' ']))
  assert.equal(none.errors.data[0].code, 'empty_file')
  const many = await endOf(
    opened,
    await begin(
      opened,
      Array.from({ length: 41 }, (_, at) => line(`${at}`)),
    ),
  )
  assert.deepEqual([many.errors.data.length, many.errors.data[0].code], [1, 'too_many_requests'])
  assert.match(many.errors.data[0].message, /40 requests/)
})

test('where a project replaces private texts, those that a batch says itself are replaced', async (t) => {
  const opened = await open(t)
  const change = { redaction: { kinds: ['email'] } } as never
  await opened.database.write('changeProjectSettings', { project_id: 'acme/default', change })
  const address = 'ada.lovelace@example.com'
  const made = await begin(opened, [line('a', question('x'), address)], { metadata: { who: address } })
  const { metadata, errors } = await endOf(opened, made)
  assert.deepEqual(metadata, { who: '[email]' })
  assert.ok(errors.data[0].message.includes('[email]'), JSON.stringify(errors))
})

test('fields that cannot be honoured are refused by name', async (t) => {
  const opened = await openApp(t)
  const input_file_id = await store(opened, [line('a')])
  const body = { input_file_id, endpoint, completion_window: '24h' }
  const refusal = async (fields: object, key?: string) => {
    const { status, json } = await opened.post('/v1/batches', { ...body, ...fields }, key)
    return `${status} ${json.error.code} ${json.error.param}`
  }
  assert.equal(await refusal({ endpoint: '/v1/rerank' }), '400 invalid_request endpoint')
  assert.equal(await refusal({ completion_window: '1h' }), '400 invalid_request completion_window')
  assert.equal(await refusal({ metadata: { a: 7 } }), '400 invalid_value metadata.a')
  const after = { anchor: 'created_at', seconds: 60 }
  assert.equal(
    await refusal({ output_expires_after: after }),
    '400 invalid_request output_expires_after.seconds',
  )
  assert.equal(await refusal({ input_file_id: 'file-x' }), '404 wire_file_not_found input_file_id')
  assert.equal(await refusal({}, keys.bob), '404 wire_file_not_found input_file_id')
  const other = formOf([
    { name: 'purpose', value: 'user_data' },
    { name: 'file', value: 'x', filename: 'x' },
  ])
  const { json } = await sendForm(opened, other, { url: '/v1/files' })
  assert.equal(await refusal({ input_file_id: json.id }), '400 invalid_value input_file_id')
})

test('pages of batches and of files are full of what the key may see', async (t) => {
  const opened = await openApp(t, { backend: scriptedBackend() })
  const grantTo = (scope: string) => ({ grants: [{ scope, role: 'editor' }] })
  const { key } = (await opened.post('/users', { name: 'carol', ...grantTo('acme') }, keys.root)).json.key
  const seen: string[][] = []
  for (const name of ['few', 'many', 'few', 'many', 'many']) {
    const input_file_id = await store(opened, [line('a')], key, { 'x-heddle-project': `acme/${name}` })
    const body = { input_file_id, endpoint, completion_window: '24h' }
    const { json } = await opened.post('/v1/batches', body, key)
    if (name === 'few') seen.unshift([json.id, input_file_id])
  }
  await opened.send('PUT', '/users/carol/grants', grantTo('acme/few'), keys.root)
  for (const [at, url] of ['/v1/batches', '/v1/files'].entries()) {
    const ids = seen.map((pair) => pair[at])
    const page = async (query: string) => {
      const { json } = await opened.get(`${url}?${query}`, key)
      return [json.data.map(({ id }: { id: string }) => id), json.has_more]
    }
    assert.deepEqual(await page('limit=1'), [ids.slice(0, 1), true])
    assert.deepEqual(await page(`limit=1&after=${ids[0]}`), [ids.slice(1), false])
    assert.deepEqual(await page(`limit=1&after=${ids[1]}`), [[], false])
  }
})

test('a batch is its user’s: to others it does not exist, and its input stays while it is read', async (t) => {
  // Without background work it stays as it is.
  const opened = await openApp(t, { backend: scriptedBackend() })
  const ids: string[] = []
  for (let at = 0; at < 3; at++) ids.push((await begin(opened, [line('a')])).id)
  const [first = ''] = ids
  const page = (await opened.get(`/v1/batches?limit=1&after=${ids[2]}`)).json
  assert.deepEqual(
    [page.data[0].id, page.first_id, page.last_id, page.has_more],
    [ids[1], ids[1], ids[1], true],
  )
  assert.equal((await opened.get('/v1/batches?after=zz')).json.error.param, 'query.after')
  assert.deepEqual((await opened.get('/v1/batches', keys.bob)).json.data, [])
  const unknown = (await opened.get('/v1/batches/batch_x', keys.bob)).text
  assert.equal((await opened.get(`/v1/batches/${first}`, keys.bob)).text.replace(first, 'batch_x'), unknown)
  assert.equal((await opened.post(`/v1/batches/${first}/cancel`, undefined, keys.bob)).status, 404)
  assert.equal((await read(opened, first)).status, 'validating')
  const { input_file_id } = await read(opened, first)
  const kept = await opened.send('DELETE', `/v1/files/${input_file_id}`)
  assert.deepEqual([kept.status, kept.json.error.code], [409, 'wire_file_in_use'])
})

test('a later user of the same name has nothing of the batches of one that was removed', async (t) => {
  const opened = await openApp(t, { backend: scriptedBackend() })
  const { post, send, get, database } = opened
  const add = async () => {
    const made = await post('/users', { name: 'temp', entities: ['acme'] }, keys.root)
    return made.json.key.key as string
  }
  const first = await add()
  const ids: string[] = []
  for (let at = 0; at < 2; at++) {
    const body = {
      input_file_id: await store(opened, [line('a')], first),
      endpoint,
      completion_window: '24h',
    }
    ids.push((await post('/v1/batches', body, first)).json.id)
  }
  const taken = await database.write('takeBatch', { holder: 'h', now: 1, until: 2, mayAsk: true })
  assert.ok(taken)
  const { project_id, id: over } = taken
  await database.write('failBatch', { project_id, id: over, holder: 'h', total: 1, errors: '[]', now: 2 })
  assert.equal((await get('/v1/batches', first)).json.data.length, 2)
  assert.equal((await send('DELETE', '/users/temp', undefined, keys.root)).status, 200)
  const second = await add()
  assert.deepEqual((await get('/v1/batches', second)).json.data, [])
  for (const id of ids) assert.equal((await get(`/v1/batches/${id}`, second)).status, 404)
})

test('what is written for a batch after its user was removed is no file of a later user', async (t) => {
  const backend = scriptedBackend(slowly)
  const opened = await open(t, { backend, settings: { HEDDLE_BATCH_PARALLEL: '1' } })
  const user = { name: 'carol', role: 'member', entities: ['acme'] }
  const { key } = (await opened.post('/users', user, keys.root)).json.key
  const input_file_id = await store(
    opened,
    ['fast', 'slow'].map((id) => line(id)),
    key,
  )
  const began = await opened.post('/v1/batches', { input_file_id, endpoint, completion_window: '24h' }, key)
  await until('the second is asked', () => backend.asked.length === 2)
  assert.equal((await opened.send('DELETE', '/users/carol', undefined, keys.root)).status, 200)
  release.emit('release')
  const endOfOld = () =>
    opened.database.get<{ output_file_id: string }>(
      sql`SELECT output_file_id FROM batches WHERE id = ${began.json.id} AND ended_at IS NOT NULL`,
    )
  await until('the batch is over', async () => (await endOfOld()) !== undefined)
  const { key: later } = (await opened.post('/users', user, keys.root)).json.key
  const url = `/v1/files/${(await endOfOld())?.output_file_id}`
  assert.match(url, /file-/)
  assert.deepEqual((await opened.get('/v1/files', later)).json.data, [])
  assert.equal((await opened.get(`${url}/content`, later)).status, 404)
})

test('a cancelled batch ends soon, with what was answered', async (t) => {
  const opened = await open(t, { backend: scriptedBackend(slowly), settings: { HEDDLE_BATCH_PARALLEL: '2' } })
  const began = await begin(
    opened,
    ['fast', 'slow', 'later'].map((id) => line(id)),
  )
  await until('one is answered', async () => (await read(opened, began.id)).request_counts.completed === 1)
  const cancelling = (await opened.post(`/v1/batches/${began.id}/cancel`, undefined)).json
  assert.equal(cancelling.status, 'cancelling')
  const batch = await endOf(opened, began)
  assert.equal(batch.status, 'cancelled')
  assert.deepEqual(batch.request_counts, { total: 3, completed: 1, failed: 0 })
  assert.deepEqual(
    (await linesIn(opened, batch.output_file_id)).map(({ custom_id }) => custom_id),
    ['fast'],
  )
  assert.deepEqual(
    (await linesIn(opened, batch.error_file_id)).map(({ custom_id, response, error }) => [
      custom_id,
      response,
      error?.code,
    ]),
    [
      ['slow', null, 'batch_cancelled'],
      ['later', null, 'batch_cancelled'],
    ],
  )
  assert.equal((await opened.post(`/v1/batches/${began.id}/cancel`, undefined)).json.status, 'cancelled')
})

test('a slow answer of one batch delays neither the check nor the cancellation of another', async (t) => {
  const backend = scriptedBackend()
  backend.script = slowly
  const opened = await open(t, { backend, settings: { HEDDLE_BATCH_PARALLEL: '1' } })
  await begin(opened, [line('slow')])
  await until('the slow line is asked', () => backend.asked.length === 1)
  const other = await begin(opened, [line('never')])
  await until('the other one is checked', async () => (await read(opened, other.id)).status === 'in_progress')
  await opened.post(`/v1/batches/${other.id}/cancel`, {})
  assert.equal((await endOf(opened, other)).status, 'cancelled')
  assert.equal(backend.asked.length, 1)
  release.emit('release')
})

test('a batch that is not over after 24 hours expires, with what was answered', async (t) => {
  const opened = await open(t, { backend: scriptedBackend(slowly) })
  const began = await begin(
    opened,
    ['fast', 'slow'].map((id) => line(id)),
  )
  await until('one is answered', async () => (await read(opened, began.id)).request_counts.completed === 1)
  const at = performance.now()
  t.after(() => compareClocks(Date.now(), performance.now(), performance.now()))
  compareClocks(Date.now() + 25 * 3_600_000, at, at)
  const batch = await endOf(opened, began)
  assert.equal(batch.status, 'expired')
  assert.ok(batch.expired_at >= batch.expires_at)
  const [unanswered] = await linesIn(opened, batch.error_file_id)
  assert.deepEqual([unanswered?.custom_id, unanswered?.error?.code], ['slow', 'batch_expired'])
})

test('the remaining lines of a batch whose key is revoked fail by name', async (t) => {
  const backend = scriptedBackend(slowly)
  const opened = await open(t, { backend, settings: { HEDDLE_BATCH_PARALLEL: '1' } })
  const user = { name: 'carol', role: 'member', entities: ['acme'] }
  const { key } = (await opened.post('/users', user, keys.root)).json.key
  const { key: other } = (await opened.post('/keys', {}, key)).json
  const input_file_id = await store(
    opened,
    ['fast', 'slow', 'fast again'].map((id) => line(id)),
    key,
  )
  const began = await opened.post('/v1/batches', { input_file_id, endpoint, completion_window: '24h' }, key)
  const own = async () => (await opened.get(`/v1/batches/${began.json.id}`, other)).json
  await until('the second is asked', () => backend.asked.length === 2)
  const [{ id }] = (await opened.get('/keys', other)).json.keys
  assert.equal((await opened.send('DELETE', `/keys/${id}`, undefined, other)).status, 200)
  backend.script = scriptOf('Hel', 'lo')
  release.emit('release')
  await until('the batch is over', async () => ended.includes((await own()).status))
  const batch = await own()
  assert.deepEqual(batch.request_counts, { total: 3, completed: 2, failed: 1 })
  const { text } = await opened.get(`/v1/files/${batch.error_file_id}/content`, other)
  const { custom_id, response } = JSON.parse(text) as OutputLine
  assert.deepEqual([custom_id, response?.status_code], ['fast again', 401])
  assert.equal(response?.body.error?.code, 'wrong_credentials')
})

test('a batch keeps to the limits of its user, and nothing fails for them', async (t) => {
  const opened = await open(t)
  const { database } = opened
  const limit = (requests_per_minute: number | null) => {
    const change = { requests_per_minute, requests_at_once: 1 }
    return database.write('changeUserSettings', { name: 'alice', change, isConfigured: true, now: 1 })
  }
  // Storing the file and making the batch are the first two.
  await limit(30)
  const asked = Array.from({ length: 45 }, (_, at) => line(`${at}`))
  const { id } = await begin(opened, asked)
  type Seen = Pick<Batch, 'status' | 'completed' | 'failed' | 'held_by' | 'held_until'>
  const seen = () =>
    database.get<Seen>(
      sql`SELECT status, completed, failed, held_by, held_until FROM batches WHERE id = ${id}`,
    )
  await until('it rests', async () => {
    const batch = await seen()
    return batch?.held_by === null && batch.held_until > 0
  })
  const resting = await seen()
  assert.deepEqual([resting?.status, resting?.failed], ['in_progress', 0])
  assert.ok(Number(resting?.completed) >= 28 && Number(resting?.completed) < asked.length)
  await limit(null)
  await until('the batch is over', async () => ended.includes((await seen())?.status ?? ''))
  assert.deepEqual((await read(opened, id)).request_counts, { total: 45, completed: 45, failed: 0 })
})

test('without a model a batch is validated and cancelled, and waits for a server that has one', async (t) => {
  const opened = await openApp(t, { sweep: true })
  const began = await begin(opened, [line('a')])
  await until('it is valid', async () => (await read(opened, began.id)).status === 'in_progress')
  await opened.post(`/v1/batches/${began.id}/cancel`, undefined)
  const batch = await endOf(opened, began)
  assert.deepEqual([batch.status, batch.request_counts.failed], ['cancelled', 0])
})
