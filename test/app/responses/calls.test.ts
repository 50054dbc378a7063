import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setImmediate as nextRound } from 'node:timers/promises'
import type { Part } from '../../../packages/chat-format/index.ts'
import { refuse } from '../../../src/domain/refusals.ts'
import { basic, keys, openApp, type TestApp } from '../../support/app.ts'
import { assertRefused } from '../../support/chat.ts'
import { openMemoryRecord } from '../../support/memory-record.ts'
import { partsModel } from '../../support/parts-model.ts'
import { dumpOf } from '../../support/record-dump.ts'
import { asking, eventsOf, responseOf, responsesUrl } from '../../support/responses.ts'
import { prefilled, scriptedBackend, tokens } from '../../support/scripted-backend.ts'

const text = (said: string): Part => ({ kind: 'content', text: said })

const model = partsModel(text('Yes'))
const database = openMemoryRecord()
const shared = await openApp({ after }, { model, database })
const { post, get, send } = shared

const project_id = 'acme/default'

async function callOf(id: unknown, as?: string, project = project_id) {
  const { status, json } = await post('/call/read', { project_id: project, id }, as)
  return status === 200 ? json.call : undefined
}

async function asked({ app }: TestApp, body: object, headers: Record<string, string> = {}) {
  const {
    statusCode,
    headers: told,
    body: payload,
  } = await app.inject({
    method: 'POST',
    url: responsesUrl,
    headers: { authorization: basic(keys.alice), 'content-type': 'application/json', ...headers },
    payload: JSON.stringify(body),
  })
  const json = String(told['content-type']).includes('json') ? JSON.parse(payload) : undefined
  return { status: statusCode, headers: told, text: payload, json }
}

test('P12: an answer is recorded as a call, whole and streamed, and is read from it', async () => {
  model.parts = [{ kind: 'reasoning', text: 'Hm' }, text('Yes')]
  const inputs = asking({ metadata: { a: 'b' }, temperature: 0.5 })
  const ids: string[] = []
  for (const stream of [false, true]) {
    const answer = await post(responsesUrl, { cache_salt: 'secret', ...inputs, stream })
    const response = stream ? responseOf(eventsOf(answer.text)) : answer.json
    ids.push(response.id)
    const id = answer.headers['x-heddle-call-id']
    const call = await callOf(id)
    assert.deepEqual(call.output, response)
    assert.deepEqual(call.output, (await get(`${responsesUrl}/${response.id}`)).json)
    assert.deepEqual(call.inputs, { ...inputs, stream })
    const { input_tokens, output_tokens, total_tokens } = response.usage
    assert.deepEqual(
      {
        op: call.op_name,
        user: call.svc_user_id,
        exception: call.exception,
        usage: call.summary.usage,
        heddle: call.attributes.heddle,
      },
      {
        op: 'heddle.responses',
        user: 'alice',
        exception: null,
        usage: {
          [response.model]: {
            requests: 1,
            prompt_tokens: input_tokens,
            completion_tokens: output_tokens,
            total_tokens,
          },
        },
        heddle: { completion: response.id, wire: 'openai', stream, metadata: { a: 'b' } },
      },
    )
    assert.equal(response.store, true)
  }
  assert.notEqual(ids[0], ids[1])
})

test('each text of a conversation is stored once', async (t) => {
  const record = openMemoryRecord()
  // The rows of lists repeat the beginning of each text.
  const beginning = 'said before '.repeat(20)
  const model = partsModel(text(`${beginning}an-answer-to-find`))
  const { post } = await openApp(t, { model, database: record })
  const content = `${beginning}a-question-to-find`
  const { json } = await post(responsesUrl, { input: [{ role: 'user', content }] })
  await post(responsesUrl, { input: 'And?', previous_response_id: json.id })
  const dump = JSON.stringify(await dumpOf(record, () => false, []))
  assert.equal(dump.split('a-question-to-find').length - 1, 1)
  // Both answers have this text.
  assert.equal(dump.split('an-answer-to-find').length - 1, 2)
})

test('responses that continue each other are turns of one thread', async () => {
  model.parts = [text('Yes')]
  const first = await post(responsesUrl, asking())
  const firstCall = first.headers['x-heddle-call-id']
  assert.equal((await callOf(firstCall))?.thread_id, null)
  const second = await post(responsesUrl, asking({ previous_response_id: first.json.id }))
  const third = await post(responsesUrl, asking({ previous_response_id: second.json.id }))
  const branch = await post(responsesUrl, asking({ previous_response_id: first.json.id }))
  for (const { headers } of [first, second, third, branch]) {
    const id = headers['x-heddle-call-id']
    const { thread_id, turn_id } = (await callOf(id)) ?? {}
    assert.deepEqual([thread_id, turn_id], [first.json.id, id])
  }
})

test('deleting the answer deletes its call, and deleting the call deletes the answer', async () => {
  model.parts = [text('Yes')]
  for (const deletes of ['response', 'call']) {
    const { json, headers } = await post(responsesUrl, asking())
    const id = headers['x-heddle-call-id']
    const { status } =
      deletes === 'response'
        ? await send('DELETE', `${responsesUrl}/${json.id}`)
        : await post('/calls/delete', { project_id, call_ids: [id] })
    assert.equal(status, 200)
    assert.equal(await callOf(id), undefined, deletes)
    assert.equal((await get(`${responsesUrl}/${json.id}`)).status, 404, deletes)
    assert.equal((await get(`${responsesUrl}/${json.id}/input_items`)).status, 404, deletes)
    assert.equal((await send('DELETE', `${responsesUrl}/${json.id}`)).status, 404, deletes)
    const next = await post(responsesUrl, asking({ previous_response_id: json.id }))
    assert.equal(next.json.error.code, 'previous_response_not_found', deletes)
  }
})

test('of two deletes at once one succeeds', async () => {
  const { json } = await post(responsesUrl, asking())
  const url = `${responsesUrl}/${json.id}`
  const statuses = (await Promise.all([send('DELETE', url), send('DELETE', url)])).map(({ status }) => status)
  assert.deepEqual(statuses.toSorted(), [200, 404])
})

test('referenced items and encrypted thoughts outlive the answer that they come from', async () => {
  model.parts = [{ kind: 'reasoning', text: 'The secret is 42.' }, text('Yes')]
  const first = await post(responsesUrl, asking({ include: ['reasoning.encrypted_content'] }))
  const [thought, message] = first.json.output
  const { id: _, ...sealed } = { ...thought, content: undefined }
  const second = await post(responsesUrl, {
    input: [{ role: 'user', content: 'Hi' }, sealed, { type: 'item_reference', id: message.id }],
  })
  assert.equal(second.status, 200, second.text)
  await send('DELETE', `${responsesUrl}/${first.json.id}`)
  const { json } = await get(`${responsesUrl}/${second.json.id}/input_items?order=asc`)
  assert.deepEqual(
    json.data.map((item: { content: { text: string }[] }) => item.content[0]?.text),
    ['Hi', 'The secret is 42.', 'Yes'],
  )
  assert.equal(json.data[2].id, message.id)
  const third = await post(responsesUrl, asking({ previous_response_id: second.json.id }))
  assert.equal(third.status, 200)
})

test('an answer that fails is a call with the reason, and is not stored as an answer', async (t) => {
  const backend = scriptedBackend()
  backend.script = async function* (request) {
    yield prefilled(request)
    yield tokens('Hel', request)
    // By then the stream has begun.
    for (let rounds = 0; rounds < 3; rounds++) await nextRound()
    yield refuse('engine_failed', { why: 'it was killed' })
  }
  const { post, get } = await openApp(t, { backend })
  for (const stream of [false, true]) {
    const { headers } = await post(responsesUrl, asking({ stream }))
    const read = await post('/call/read', { project_id, id: headers['x-heddle-call-id'] })
    const { exception, output } = read.json.call
    assert.match(exception, /it was killed/)
    assert.deepEqual(
      [output.status, output.incomplete_details, output.output[0].content[0].text],
      ['incomplete', null, 'Hel'],
    )
    assert.equal((await get(`${responsesUrl}/${output.id}`)).status, 404)
  }
})

test('a call that a client has rewritten is no longer an answer', async () => {
  const start = (call: Record<string, unknown>, changes: object) => ({
    mode: 'start',
    req: {
      start: {
        project_id,
        id: call.id,
        trace_id: call.trace_id,
        op_name: call.op_name,
        started_at: call.started_at,
        attributes: {},
        inputs: call.inputs,
        ...changes,
      },
    },
  })
  const end = (call: Record<string, unknown>, output: unknown) => ({
    mode: 'end',
    req: { end: { project_id, id: call.id, ended_at: call.ended_at, summary: {}, output } },
  })
  const outputs = [null, 7, 'x', [], {}, { output: {} }, { output: [7] }, { output: [{ type: 'message' }] }]
  const inputs = [{}, { input: 7 }, { input: [7] }, { input: [{ type: 'item_reference', id: 'msg_x_0' }] }]
  const written = [
    ...outputs.map((output) => (call: Record<string, unknown>) => end(call, output)),
    ...inputs.map((given) => (call: Record<string, unknown>) => start(call, { inputs: given })),
  ]
  for (const part of written) {
    const { json, headers } = await post(responsesUrl, asking())
    const call = await callOf(headers['x-heddle-call-id'])
    assert.equal((await post('/call/upsert_batch', { batch: [part(call)] })).status, 200)
    const url = `${responsesUrl}/${json.id}`
    const answers = [await get(url), await get(`${url}?stream=true`), await get(`${url}/input_items`)]
    for (const { status } of answers) assert.ok(status === 200 || status === 404, JSON.stringify(part(call)))
    assert.ok(answers.some(({ status }) => status === 404))
    const next = await post(responsesUrl, asking({ previous_response_id: json.id }))
    assert.equal(next.json.error?.code, 'previous_response_not_found', JSON.stringify(part(call)))
    assert.equal((await send('DELETE', url)).status, 200)
  }
})

test('an answer belongs to its project, and only its user can read it', async (t) => {
  const record = openMemoryRecord()
  const users = `alice:${keys.alice}:acme+globex,bob:${keys.bob}:acme+globex`
  const own = await openApp(t, { model, database: record, settings: { HEDDLE_USERS: users } })
  const { json, headers } = await asked(own, asking(), {
    'x-heddle-project': 'globex/qa',
    'x-heddle-thread': 'a thread',
  })
  const read = await own.post('/call/read', { project_id: 'globex/qa', id: headers['x-heddle-call-id'] })
  assert.equal(read.json.call.thread_id, 'a thread')
  assert.equal((await own.get(`${responsesUrl}/${json.id}`)).status, 200)
  // A user with access to the project can read the call, but not the answer.
  const calls = { project_id: 'globex/qa', id: headers['x-heddle-call-id'] }
  assert.equal((await own.post('/call/read', calls, keys.bob)).status, 200)
  assert.equal((await own.get(`${responsesUrl}/${json.id}`, keys.bob)).status, 404)
  assertRefused(await asked(own, asking(), { 'x-heddle-project': 'initech/qa' }), {
    status: 403,
    code: 'entity_forbidden',
    param: 'x-heddle-project',
  })
  // The same user without access to that entity.
  const less = await openApp(t, {
    model,
    database: { ...record, close: async () => {} },
    settings: { HEDDLE_USERS: `alice:${keys.alice}:acme` },
  })
  const url = `${responsesUrl}/${json.id}`
  for (const answer of [
    await less.get(url),
    await less.get(`${url}/input_items`),
    await less.send('DELETE', url),
    await less.send('POST', `${url}/cancel`),
  ]) {
    assert.equal(answer.status, 404)
  }
  const next = await less.post(responsesUrl, asking({ previous_response_id: json.id }))
  assert.equal(next.json.error.code, 'previous_response_not_found')
})

test('without recording no answer is stored, and requests that need it are refused and named', async (t) => {
  const record = openMemoryRecord()
  const off = await openApp(t, { model, database: record, settings: { HEDDLE_RECORD: 'off' } })
  const on = await openApp(t, { model })
  const cases = [
    { app: off, headers: {}, why: /HEDDLE_RECORD=off/ },
    { app: on, headers: { 'x-heddle-record': 'off' }, why: /x-heddle-record: off/ },
  ]
  for (const { app, headers, why } of cases) {
    for (const store of [undefined, null, false]) {
      const { status, json, headers: told } = await asked(app, asking({ store }), headers)
      assert.deepEqual([status, json.store, told['x-heddle-call-id']], [200, false, undefined])
      assert.equal((await app.get(`${responsesUrl}/${json.id}`)).status, 404)
      const streamed = await asked(app, asking({ store, stream: true }), headers)
      assert.equal(responseOf(eventsOf(streamed.text)).store, false)
    }
    const kept = await asked(app, asking({ store: true }), headers)
    assertRefused(kept, { status: 400, code: 'recording_off', param: 'store', message: why })
    for (const store of [undefined, false]) {
      const continued = await asked(app, asking({ store, previous_response_id: 'resp_1' }), headers)
      assertRefused(continued, {
        status: 400,
        code: 'recording_off',
        param: 'previous_response_id',
        message: why,
      })
    }
  }
})

test('under HEDDLE_RECORD=asked an answer is stored unless its request sets store to false', async (t) => {
  const app = await openApp(t, { model, settings: { HEDDLE_RECORD: 'asked' } })
  for (const [store, isKept] of [
    [undefined, true],
    [null, true],
    [true, true],
    [false, false],
  ] as const) {
    const { json, headers } = await asked(app, asking({ store }))
    assert.equal(headers['x-heddle-call-id'] !== undefined, isKept)
    assert.equal(json.store, isKept)
    assert.equal((await app.get(`${responsesUrl}/${json.id}`)).status, isKept ? 200 : 404)
  }
})

test('an answer is kept no longer than the retention of its project', async (t) => {
  const settings = { HEDDLE_RETENTION_DAYS: '7', HEDDLE_RESPONSE_DAYS: '30' }
  const app = await openApp(t, { model, settings })
  const { headers } = await app.post(responsesUrl, asking())
  const { json } = await app.post('/call/read', { project_id, id: headers['x-heddle-call-id'] })
  const days = (Date.parse(json.call.expire_at) - Date.parse(json.call.started_at)) / 86_400_000
  assert.equal(days, 7)
})

test('the length of a conversation is bounded, and stored answers stay readable', async (t) => {
  const { post, get } = await openApp(t, { model: partsModel(text('Yes')) })
  const items = (count: number) => Array.from({ length: count }, () => ({ role: 'user', content: 'x' }))
  const first = await post(responsesUrl, { input: items(9_990) })
  const second = await post(responsesUrl, { input: items(8), previous_response_id: first.json.id })
  assert.equal(second.status, 200, second.text)
  const third = await post(responsesUrl, asking({ previous_response_id: second.json.id }))
  assertRefused(third, { status: 400, code: 'invalid_value', param: 'input', message: /10001 items/ })
  const page = await get(`${responsesUrl}/${first.json.id}/input_items?limit=100`)
  assert.deepEqual([page.json.data.length, page.json.has_more], [100, true])
  const referring = { input: Array(9_000).fill({ type: 'item_reference', id: first.json.output[0].id }) }
  assert.equal((await post(responsesUrl, referring)).status, 200)
})

test('a request with a content type and no body is a request without a body', async (t) => {
  const { app } = await openApp(t)
  for (const method of ['DELETE', 'GET'] as const) {
    const { statusCode, body } = await app.inject({
      method,
      url: `${responsesUrl}/resp_nobody`,
      headers: { authorization: basic(keys.alice), 'content-type': 'application/json' },
    })
    assert.equal(statusCode, 404, body)
  }
})
