import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { test } from 'node:test'
import { now } from '../../../src/domain/time.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { basic, keys, openApp, type TestApp, type TestParts } from '../../support/app.ts'
import { openAppRecord } from '../../support/app-record.ts'
import { eventsOf } from '../../support/responses.ts'
import { type Script, scriptedBackend, scriptOf } from '../../support/scripted-backend.ts'
import { until } from '../../support/wait.ts'

const url = '/v1/responses'
const open = (t: Parameters<typeof openApp>[0], parts: TestParts = {}) =>
  openApp(t, { backend: scriptedBackend(), sweep: true, ...parts })

async function queue(opened: TestApp, fields: object = {}, key?: string) {
  const { status, json } = await opened.post(url, { input: 'Hi', background: true, ...fields }, key)
  assert.equal(status, 200, JSON.stringify(json))
  return json
}

const read = async (opened: TestApp, id: string) => (await opened.get(`${url}/${id}`)).json
const isOver = ({ status }: { status: string }) => !['queued', 'in_progress'].includes(status)
async function endOf(opened: TestApp, { id }: { id: string }) {
  await until('the response has ended', async () => isOver(await read(opened, id)))
  return read(opened, id)
}

/** A model that answers when it is told to. */
function heldModel() {
  const release = new EventEmitter()
  const script: Script = async function* (request, signal) {
    await Promise.race([once(signal, 'abort'), once(release, 'release')])
    yield* scriptOf('Hel', 'lo')(request, signal)
  }
  return { backend: scriptedBackend(script), release: () => release.emit('release') }
}

test('a response in the background is of the turn that its request names', async (t) => {
  const opened = await open(t)
  const trace = '0af7651916cd43dd8448eb211c80319c'
  const ask = async (input: string, subagent?: string) => {
    const response = await opened.app.inject({
      method: 'POST',
      url,
      headers: {
        authorization: basic(keys.alice),
        'user-agent': 'codex_exec/0.171.0 (linux)',
        'thread-id': 't-1',
        'x-codex-turn-metadata': JSON.stringify({ turn_id: 'turn-1' }),
        traceparent: `00-${trace}-b7ad6b7169203331-01`,
        ...(subagent && { 'x-openai-subagent': subagent }),
      },
      payload: { input, background: true },
    })
    await endOf(opened, response.json())
  }
  await ask('Hi')
  await ask('Look', 'review')
  const calls = await opened.database.all<Record<string, string>>(
    sql`SELECT op_name, trace_id, thread_id, turn_id, attributes FROM calls ORDER BY op_name, started_at`,
  )
  const [first, below, turn] = calls
  assert.deepEqual(
    calls.map(({ op_name, trace_id, thread_id, turn_id }) => [op_name, trace_id, thread_id, turn_id]),
    ['heddle.responses', 'heddle.responses', 'heddle.turn'].map((op) => [op, trace, 't-1', turn?.turn_id]),
  )
  const heddle = [first, below].map((call) => JSON.parse(call?.attributes ?? '').heddle)
  assert.deepEqual(
    heddle.map(({ agent, turn: named, subagent }) => [agent.name, named, subagent]),
    [
      ['codex', 'turn-1', undefined],
      ['codex', 'turn-1', 'review'],
    ],
  )
})

test('a response in the background is read until it has ended, and is then a response like others', async (t) => {
  const opened = await open(t)
  const queued = await queue(opened, { metadata: { night: '1' }, instructions: 'Be brief.' })
  assert.deepEqual(
    [queued.status, queued.background, queued.output, queued.usage],
    ['queued', true, [], null],
  )
  const answer = await endOf(opened, queued)
  assert.equal(answer.status, 'completed', JSON.stringify(answer))
  assert.deepEqual(
    [answer.id, answer.background, answer.store, answer.metadata, answer.output[0].content[0].text],
    [queued.id, true, true, { night: '1' }, 'Hello'],
  )
  const items = (await opened.get(`${url}/${queued.id}/input_items`)).json
  assert.equal(items.data[0].content[0].text, 'Hi')
  const [call] = await opened.database.all<{ inputs: string }>(sql`SELECT inputs FROM calls`)
  assert.equal(JSON.parse(call?.inputs ?? '{}').background, true)
  const next = await opened.post(url, { input: 'Go on', previous_response_id: queued.id })
  assert.equal(next.status, 200)
  const late = await opened.post(`${url}/${queued.id}/cancel`, undefined)
  assert.deepEqual([late.status, late.json.error.code], [400, 'response_not_in_background'])
  assert.equal((await opened.send('DELETE', `${url}/${queued.id}`)).status, 200)
  assert.equal((await opened.get(`${url}/${queued.id}`)).status, 404)
})

test('its stream is the one of its answer, whether it is read before or after the end', async (t) => {
  const { backend, release } = heldModel()
  const opened = await open(t, { backend })
  const streaming = opened.post(url, { input: 'Hi', background: true, stream: true, request_id: 'streamed' })
  await until('the model is asked', () => backend.asked.length === 1)
  assert.equal((await read(opened, 'resp_streamed')).status, 'in_progress')
  const waiting = opened.get(`${url}/resp_streamed?stream=true&starting_after=1`)
  release()
  const events = eventsOf((await streaming).text)
  assert.equal(events.at(-1)?.type, 'response.completed')
  assert.deepEqual(
    events.map(({ sequence_number }) => sequence_number),
    events.map((_, at) => at),
  )
  assert.deepEqual(
    events.slice(0, 3).map(({ type }) => type),
    ['response.created', 'response.queued', 'response.in_progress'],
  )
  assert.deepEqual(eventsOf((await waiting).text), events.slice(2))
  const again = eventsOf((await opened.get(`${url}/resp_streamed?stream=true`)).text)
  assert.deepEqual(again.slice(3), events.slice(3))
  assert.equal(again[0]?.response.created_at, events[0]?.response.created_at)
})

test('one that is cancelled ends, whether it waits or runs, and nothing of it is stored', async (t) => {
  const { backend } = heldModel()
  const opened = await open(t, { backend, settings: { HEDDLE_BATCH_PARALLEL: '1' } })
  const running = await queue(opened)
  await until('the model is asked', () => backend.asked.length === 1)
  const waiting = await queue(opened)
  for (const { id } of [waiting, running]) {
    const cancelled = await opened.post(`${url}/${id}/cancel`, undefined)
    assert.deepEqual([cancelled.status, cancelled.json.status], [200, 'cancelled'])
    assert.equal((await opened.post(`${url}/${id}/cancel`, undefined)).json.status, 'cancelled')
    assert.equal((await read(opened, id)).status, 'cancelled')
  }
  await until('the model is free', () => backend.running === 0)
  assert.equal(backend.asked.length, 1)
  const { text } = await opened.get(`${url}/${running.id}?stream=true`)
  assert.equal(eventsOf(text).at(-1)?.type, 'response.failed')
  const [stored] = await opened.database.all<{ n: number }>(sql`SELECT count(*) AS n FROM responses`)
  assert.equal(Number(stored?.n), 0)
})

test('what was cancelled or deleted while it was answered is neither stored nor added to its conversation', async (t) => {
  const { backend, release } = heldModel()
  const opened = await open(t, { backend })
  const conversation = (await opened.post('/v1/conversations', {})).json.id
  for (const end of [
    (id: string) => opened.post(`${url}/${id}/cancel`, undefined),
    (id: string) => opened.send('DELETE', `${url}/${id}`),
  ]) {
    const asked = backend.asked.length
    const { id } = await queue(opened, { conversation })
    await until('the model is asked', () => backend.asked.length > asked)
    assert.equal((await end(id)).status, 200)
    release()
    await until('the model is free', () => backend.running === 0)
  }
  const items = (await opened.get(`/v1/conversations/${conversation}/items`)).json
  assert.deepEqual(items.data, [])
  const [stored] = await opened.database.all<{ n: number }>(sql`SELECT count(*) AS n FROM responses`)
  assert.equal(Number(stored?.n), 0)
  const texts = await opened.database.all<{ body: string | null }>(
    sql`SELECT body FROM waiting_response_texts`,
  )
  assert.deepEqual(
    texts.map(({ body }) => body),
    [null],
  )
})

test('of those that failed or were cancelled the newest hundred of a user stay', async (t) => {
  const opened = await openApp(t, { backend: scriptedBackend() })
  let first = ''
  for (let count = 0; count < 102; count++) {
    const { id } = await queue(opened)
    first ||= id
    assert.equal((await opened.post(`${url}/${id}/cancel`, undefined)).json.status, 'cancelled')
  }
  const [left] = await opened.database.all<{ n: number }>(sql`SELECT count(*) AS n FROM waiting_responses`)
  assert.equal(Number(left?.n), 100)
  assert.equal((await opened.get(`${url}/${first}`)).status, 404)
})

test('a stream that waits ends when the server stops, and is read on from another', async (t) => {
  const database = await openAppRecord()
  t.after(() => database.close())
  const shared = { ...database, close: async () => {} }
  const { backend } = heldModel()
  const closing: (() => Promise<void>)[] = []
  const opened = await open({ after: (close) => void closing.push(close) }, { database: shared, backend })
  const streaming = opened.post(url, { input: 'Hi', background: true, stream: true, request_id: 'on' })
  await until('the model is asked', () => backend.asked.length === 1)
  for (const close of closing) await close()
  assert.match((await streaming).text, /"response.queued".*"stopping"/s)
  const again = await open(t, { database: shared })
  const { text } = await again.get(`${url}/resp_on?stream=true&starting_after=2`)
  assert.equal(eventsOf(text).at(-1)?.type, 'response.completed')
})

test('its id is not taken by a request that somebody waits for', async (t) => {
  const opened = await openApp(t, { backend: scriptedBackend() })
  await queue(opened, { request_id: 'same' })
  const taken = await opened.post(url, { input: 'Hi', request_id: 'same' })
  assert.deepEqual([taken.status, taken.json.error.code], [409, 'response_exists'])
})

test('one that is deleted is asked no more', async (t) => {
  const { backend } = heldModel()
  const opened = await open(t, { backend })
  const { id } = await queue(opened)
  await until('the model is asked', () => backend.asked.length === 1)
  assert.equal((await opened.send('DELETE', `${url}/${id}`)).status, 200)
  await until('the model is free', () => backend.running === 0)
  assert.equal((await opened.get(`${url}/${id}`)).status, 404)
})

test('one that cannot be answered has failed, and says why', async (t) => {
  const database = await openAppRecord()
  t.after(() => database.close())
  const shared = { ...database, close: async () => {} }
  const queueing = await openApp(t, { database: shared, backend: scriptedBackend() })
  const user = { name: 'carol', role: 'member', entities: ['acme'] }
  const { key } = (await queueing.post('/users', user, keys.root)).json.key
  const { key: other } = (await queueing.post('/keys', {}, key)).json
  const { id } = await queue(queueing, {}, key)
  const [own] = (await queueing.get('/keys', other)).json.keys
  assert.equal((await queueing.send('DELETE', `/keys/${own.id}`, undefined, other)).status, 200)
  const opened = await open(t, { database: shared })
  await until('it has failed', async () => isOver((await opened.get(`${url}/${id}`, other)).json))
  const failed = (await opened.get(`${url}/${id}`, other)).json
  assert.deepEqual([failed.status, failed.error.code, failed.output], ['failed', 'wrong_credentials', []])
  const events = eventsOf((await opened.get(`${url}/${id}?stream=true`, other)).text)
  assert.deepEqual([events.at(-1)?.type, events.at(-1)?.response.error], ['response.failed', failed.error])
  const { json } = await opened.post(`${url}/${id}/cancel`, undefined, other)
  assert.equal(json.error.code, 'response_not_in_background')
})

test('what a restart interrupts is asked again, and answered once', async (t) => {
  const database = await openAppRecord()
  t.after(() => database.close())
  const shared = { ...database, close: async () => {} }
  const first = heldModel()
  const closing: (() => Promise<void>)[] = []
  const opened = await open(
    { after: (close) => void closing.push(close) },
    { database: shared, backend: first.backend },
  )
  const { id } = await queue(opened)
  await until('the model is asked', () => first.backend.asked.length === 1)
  for (const close of closing) await close()
  const again = await open(t, { database: shared })
  const answer = await endOf(again, { id })
  assert.equal(answer.output[0].content[0].text, 'Hello')
  const left = await database.all(sql`SELECT id FROM waiting_responses`)
  assert.deepEqual(left, [])
})

test('one whose server was killed is answered by another when the hold of the first has ended', async (t) => {
  const database = await openAppRecord()
  t.after(() => database.close())
  const shared = { ...database, close: async () => {} }
  const queueing = await openApp(t, { database: shared, backend: scriptedBackend() })
  const { id } = await queue(queueing)
  const time = now()
  const taken = await database.write('takeWaiting', { holder: 'killed', now: time, until: time + 700_000 })
  assert.equal(taken?.id, id)
  assert.equal(await database.write('takeWaiting', { holder: 'other', now: time, until: time }), undefined)
  const able = await open(t, { database: shared })
  assert.equal((await endOf(able, { id })).status, 'completed')
})

test('without a model it is refused, and a server without one leaves what waits to others', async (t) => {
  const database = await openAppRecord()
  t.after(() => database.close())
  const shared = { ...database, close: async () => {} }
  // Without background work it stays as it is.
  const queueing = await openApp(t, { database: shared, backend: scriptedBackend() })
  const { id } = await queue(queueing)
  const without = await openApp(t, { database: shared, sweep: true })
  const refused = await without.post(url, { input: 'Hi', background: true })
  assert.equal(refused.json.error.code, 'model_not_ready')
  assert.equal((await read(without, id)).status, 'queued')
  const able = await open(t, { database: shared })
  assert.equal((await endOf(able, { id })).status, 'completed')
})

test('to others it does not exist', async (t) => {
  const opened = await openApp(t, { backend: scriptedBackend() })
  const { id } = await queue(opened)
  const unknown = (path: string) => path.replace(id, 'resp_x')
  for (const [method, path] of [
    ['GET', `${url}/${id}`],
    ['GET', `${url}/${id}/input_items`],
    ['POST', `${url}/${id}/cancel`],
    ['DELETE', `${url}/${id}`],
  ] as const) {
    const [theirs, none] = [
      await opened.send(method, path, undefined, keys.bob),
      await opened.send(method, unknown(path), undefined, keys.bob),
    ]
    assert.deepEqual([theirs.status, theirs.text.replaceAll(id, 'resp_x')], [404, none.text])
  }
  assert.equal((await queue(opened, { request_id: 'same' }, keys.bob)).id, 'resp_same')
  assert.equal((await queue(opened, { request_id: 'same' })).id, 'resp_same')
})

test('what cannot wait is refused by name', async (t) => {
  const opened = await openApp(t, { backend: scriptedBackend() })
  const refusal = async (fields: object, headers = {}) => {
    const { statusCode, body } = await opened.app.inject({
      method: 'POST',
      url,
      headers: { authorization: `Bearer ${keys.alice}`, ...headers },
      payload: { input: 'Hi', background: true, ...fields },
    })
    const { error } = JSON.parse(body)
    return `${statusCode} ${error.code} ${error.param}`
  }
  assert.equal(await refusal({ store: false }), '400 invalid_value background')
  assert.equal(await refusal({ cache_salt: 'secret' }), '400 invalid_value cache_salt')
  assert.equal(await refusal({}, { 'x-heddle-record': 'off' }), '400 recording_off background')
  assert.equal(await refusal({ model: 'absent' }), '404 model_not_found model')
  assert.equal(
    await refusal({ input: [{ type: 'item_reference', id: 'msg_x_0' }] }),
    '404 response_item_not_found input.0.id',
  )
  await queue(opened, { request_id: 'same' })
  assert.equal(await refusal({ request_id: 'same' }), '409 response_exists request_id')
  const redaction = { kinds: ['email'] }
  const elsewhere = { 'x-heddle-project': 'acme/private' }
  const { body } = await opened.app.inject({
    ...{ method: 'POST', url: '/v1/conversations', payload: {} },
    headers: { authorization: `Bearer ${keys.alice}`, ...elsewhere },
  })
  const conversation = JSON.parse(body).id
  const hidden = await opened.send('PUT', '/projects/acme/private/redaction', redaction, keys.root)
  assert.equal(hidden.status, 200, hidden.text)
  assert.equal(await refusal({ conversation }), '400 invalid_value background')
  const changed = await opened.send('PUT', '/projects/acme/default/redaction', redaction, keys.root)
  assert.equal(changed.status, 200, changed.text)
  assert.equal(await refusal({}), '400 invalid_value background')
})
