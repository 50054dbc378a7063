import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { endedRecord, endOf, project, runningRecord, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'

/** Shared by all tests; each uses data of its own. */
const { post } = await openApp({ after })

const uuidv7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('call/start: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/call/start', { start: startOf() })
  assert.deepEqual(whole(await post('/call/start', {})), {
    status: 422,
    body: {
      reason: 'The body does not fit the schema: start: expected object, received nothing.',
      code: 'invalid_request',
      detail: [{ loc: ['body', 'start'], msg: 'expected object, received nothing', type: 'invalid_type' }],
    },
  })
  assert.deepEqual(whole(await post('/call/start', { start: startOf({ inputs: 'x', svc_run_step: -1 }) })), {
    status: 422,
    body: {
      reason: 'The body does not fit the schema: start.inputs: expected an object, received "x".',
      code: 'invalid_request',
      detail: [
        { loc: ['body', 'start', 'inputs'], msg: 'expected an object, received "x"', type: 'custom' },
        {
          loc: ['body', 'start', 'svc_run_step'],
          msg: 'expected number to be >=0, received -1',
          type: 'too_small',
        },
      ],
    },
  })
  assert.deepEqual(whole(await post('/call/start', { start: startOf({ project_id: 'globex/qa' }) })), {
    status: 403,
    body: {
      reason: 'Your key has no access to the entity of start.project_id: "globex/qa".',
      code: 'entity_forbidden',
    },
  })
})

test('call/start: a started call can be read at once', async () => {
  const start = startOf()
  assert.deepEqual(whole(await post('/call/start', { start })), {
    status: 200,
    body: { id: start.id, trace_id: start.id },
  })
  assert.deepEqual(whole(await post('/call/read', { project_id: project, id: start.id })), {
    status: 200,
    body: { call: runningRecord(start.id) },
  })
})

test('call/start: id and trace_id are generated when absent or null', async () => {
  for (const absent of [undefined, null]) {
    const start = startOf({ id: absent, trace_id: absent })
    const answer = await post('/call/start', { start })
    assert.equal(answer.status, 200)
    assert.match(answer.json.id, uuidv7)
    assert.deepEqual(answer.json, { id: answer.json.id, trace_id: answer.json.id })
    const read = await post('/call/read', { project_id: project, id: answer.json.id })
    assert.deepEqual(read.json.call, runningRecord(answer.json.id))
  }
})

const everything = {
  trace_id: '0af7651916cd43dd8448eb211c80319c',
  parent_id: 'b7ad6b7169203331',
  display_name: 'ask',
  thread_id: 'thread 1',
  turn_id: 'turn 1',
  attributes: { weave: { source: 'js-sdk' }, list: [1, null] },
  expire_at: '2200-01-01T00:00:00+02:00',
}
const everythingRead = {
  ...everything,
  attributes: { weave: { source: 'js-sdk' }, list: [1, null] },
  expire_at: '2199-12-31T22:00:00Z',
  svc_run_id: 'acme/qa/run-1',
  svc_run_step: 3,
  summary: { weave: { status: 'running', display_name: 'ask' } },
}

test('call/start: every field is read back, under its own name or that of Weave', async () => {
  for (const names of [
    { svc_run_id: 'acme/qa/run-1', svc_run_step: 3 },
    { wb_run_id: 'acme/qa/run-1', wb_run_step: 3 },
    { svc_run_id: 'acme/qa/run-1', svc_run_step: 3, wb_run_id: 'acme/qa/run-1', wb_run_step: 3 },
  ]) {
    const start = startOf({ ...everything, ...names })
    assert.deepEqual(whole(await post('/call/start', { start })), {
      status: 200,
      body: { id: start.id, trace_id: everything.trace_id },
    })
    const read = await post('/call/read', { project_id: project, id: start.id })
    assert.deepEqual(read.json.call, runningRecord(start.id, everythingRead))
  }
})

test('call/start: unknown fields are ignored, and optional fields accept null', async () => {
  const absent = Object.fromEntries(
    'trace_id parent_id display_name thread_id turn_id svc_run_id svc_run_step svc_user_id otel_dump expire_at'
      .split(' ')
      .map((name) => [name, null]),
  )
  const start = startOf({ ...absent, colour: 'red' })
  assert.equal((await post('/call/start', { start, more: 1 })).status, 200)
  const read = await post('/call/read', { project_id: project, id: start.id })
  assert.deepEqual(read.json.call, runningRecord(start.id))
})

test('call/start: a span of OpenTelemetry is read back under attributes', async () => {
  for (const attributes of ['{}', '{"a":1.0}']) {
    const { id } = startOf()
    const body = `{"start": {"project_id": "${project}", "id": "${id}", "op_name": "answer",
      "started_at": "2026-01-02T03:04:05Z", "attributes": ${attributes}, "inputs": {},
      "otel_dump": {"name": "chat", "n": 9007199254740993}}}`
    assert.equal((await post('/call/start', body)).status, 200)
    const { text } = await post('/call/read', { project_id: project, id })
    const inner = attributes.slice(1, -1)
    const expected = `"attributes":{${inner}${inner && ','}"otel_span":{"name":"chat","n":9007199254740993}}`
    assert.ok(text.includes(expected), text)
  }
})

test('call/start: svc_user_id is the caller, and cannot be sent', async () => {
  const start = startOf()
  assert.equal((await post('/call/start', { start }, keys.root)).status, 200)
  const read = await post('/call/read', { project_id: project, id: start.id })
  assert.equal(read.json.call.svc_user_id, 'root')

  assert.deepEqual(whole(await post('/call/start', { start: startOf({ svc_user_id: 'bob' }) })), {
    status: 422,
    body: {
      reason:
        'The body does not fit the schema: start.svc_user_id: is set by the server from the credentials; leave it out or send null, received "bob".',
      code: 'invalid_request',
      detail: [
        {
          loc: ['body', 'start', 'svc_user_id'],
          msg: 'is set by the server from the credentials; leave it out or send null, received "bob"',
          type: 'invalid_type',
        },
      ],
    },
  })
})

const reference = `weave:///acme/qa/op/${'answer'.repeat(30)}:*`

for (const [field, accepted, refused] of [
  ['op_name', ['a', 'x'.repeat(128), reference], ['', 'x'.repeat(129), `${reference}${'x'.repeat(2048)}`]],
  ['id', ['0123456789abcdef', randomUUID().toUpperCase()], ['', 'x', '0123456789ABCDEF', '0'.repeat(32)]],
  ['trace_id', ['0'.repeat(32), randomUUID()], ['0123456789abcdef', '', 'x']],
  ['parent_id', ['0123456789abcdef', randomUUID()], ['0'.repeat(32), '', 'x']],
  ['display_name', ['', 'x'.repeat(1024)], ['x'.repeat(1025), '\0'.repeat(1025), 1]],
  ['thread_id', ['', 'x'.repeat(512)], ['x'.repeat(513), 'a\0b', 5]],
  ['turn_id', ['', 'x'.repeat(512)], ['x'.repeat(513), 'a\0b', 5]],
  ['svc_run_id', ['run', 'acme/qa/run'], ['x'.repeat(513), 5]],
  ['svc_run_step', [0, 9007199254740991], [-1, 1.5, '1', 9007199254740992]],
  [
    'project_id',
    ['acme/other', 'acme/any other'],
    ['acme', 'acme/', '/qa', 'acme/qa/x', 'ac me/qa', 'acme/qa ', 'acme/\ud800', `acme/${'x'.repeat(256)}`],
  ],
  [
    'started_at',
    ['2026-01-02'],
    ['', 'yesterday', '2026-02-30T00:00:00Z', '2026-01-02T24:00:00Z', 1767323045],
  ],
  ['expire_at', ['2200-01-02'], ['', 'never', 1767323045]],
] as const) {
  test(`call/start: accepted and refused values of ${field}`, async () => {
    for (const value of accepted) {
      const { status, text } = await post('/call/start', { start: startOf({ [field]: value }) })
      assert.equal(status, 200, text)
    }
    for (const value of refused) {
      const { status, json } = await post('/call/start', { start: startOf({ [field]: value }) })
      assert.equal(status, 422, `${JSON.stringify(value)} was accepted`)
      assert.deepEqual(json.detail[0].loc, ['body', 'start', field])
      assert.ok(
        json.reason.startsWith(`The body does not fit the schema: start.${field}: expected `),
        json.reason,
      )
    }
  })
}

test('call/start: a time may have any offset and keeps its microseconds', async () => {
  for (const [given, shown] of [
    ['2026-01-02T03:04:05.123456Z', '2026-01-02T03:04:05.123456Z'],
    ['2026-01-02T03:04:05.1Z', '2026-01-02T03:04:05.100Z'],
    ['2026-01-02T03:04:05.000001+05:30', '2026-01-01T21:34:05.000001Z'],
    ['2026-01-02T03:04:05-0800', '2026-01-02T11:04:05Z'],
    ['2026-01-02 03:04:05', '2026-01-02T03:04:05Z'],
    ['2026-01-02', '2026-01-02T00:00:00Z'],
    ['1969-12-31T23:59:59.999999Z', '1969-12-31T23:59:59.999999Z'],
  ]) {
    const start = startOf({ started_at: given })
    await post('/call/start', { start })
    const read = await post('/call/read', { project_id: project, id: start.id })
    assert.equal(read.json.call.started_at, shown)
  }
})

test('call/start: an expired call is not found, and a live one shows its time of expiry', async () => {
  const gone = startOf({ expire_at: '2026-01-03T00:00:00Z' })
  assert.deepEqual(whole(await post('/call/start', { start: gone })), {
    status: 200,
    body: { id: gone.id, trace_id: gone.id },
  })
  assert.equal((await post('/call/read', { project_id: project, id: gone.id })).status, 404)
  const kept = startOf({ expire_at: '2200-01-03T00:00:00Z' })
  await post('/call/start', { start: kept })
  const read = await post('/call/read', { project_id: project, id: kept.id })
  assert.deepEqual(read.json.call, runningRecord(kept.id, { expire_at: '2200-01-03T00:00:00Z' }))
})

test('call/start: HEDDLE_RETENTION_DAYS sets the expiry of calls that have none', async (t) => {
  const { post } = await openApp(t, { settings: { HEDDLE_RETENTION_DAYS: '2' } })
  const started_at = '2100-01-01T00:00:00Z'
  for (const [expire_at, shown] of [
    [undefined, '2100-01-03T00:00:00Z'],
    ['2101-01-01T00:00:00Z', '2101-01-01T00:00:00Z'],
  ]) {
    const start = startOf({ started_at, expire_at })
    await post('/call/start', { start })
    const read = await post('/call/read', { project_id: project, id: start.id })
    assert.equal(read.json.call.expire_at, shown)
  }
  const old = startOf({ started_at: '2020-01-01T00:00:00Z' })
  assert.equal((await post('/call/start', { start: old })).status, 200)
  assert.equal((await post('/call/read', { project_id: project, id: old.id })).status, 404)
})

test('call/start: a repeated start replaces its own part and keeps the end', async () => {
  const { id } = startOf()
  await post('/call/start', { start: startOf({ id, inputs: { n: 1 }, thread_id: 'a' }) })
  await post('/call/end', { end: endOf(id) })
  await post('/call/start', { start: startOf({ id, inputs: { n: 2 } }) }, keys.root)
  const read = await post('/call/read', { project_id: project, id })
  assert.deepEqual(read.json.call, endedRecord(id, { inputs: { n: 2 } }))
})

test('call/start: the same id in two projects is two calls', async () => {
  const { id } = startOf()
  await post('/call/start', { start: startOf({ id, inputs: { n: 1 } }) })
  await post('/call/start', { start: startOf({ id, inputs: { n: 2 }, project_id: 'acme/other' }) })
  const first = await post('/call/read', { project_id: project, id })
  assert.deepEqual(first.json.call, runningRecord(id, { inputs: { n: 1 } }))
  const second = await post('/call/read', { project_id: 'acme/other', id })
  assert.deepEqual(second.json.call, runningRecord(id, { inputs: { n: 2 }, project_id: 'acme/other' }))
})

test('call/start: the trace_id generated for a span without one can be sent back', async () => {
  const start = startOf({ id: '00f067aa0ba902b7', trace_id: undefined })
  const { status, json } = await post('/call/start', { start })
  assert.deepEqual([status, json], [200, { id: start.id, trace_id: '000000000000000000f067aa0ba902b7' }])
  assert.deepEqual((await post('/call/start', { start })).json, json, 'sent again, it returns the same')
  const child = startOf({ trace_id: json.trace_id, parent_id: json.id })
  assert.equal((await post('/call/start', { start: child })).status, 200)
  const end = { ...endOf(start.id as string), trace_id: json.trace_id }
  assert.equal((await post('/call/end', { end })).status, 200)
})

test('call/start: a time with nanoseconds is refused, and the message states the accepted precision', async () => {
  for (const [started_at, status] of [
    ['2026-01-31T12:00:00.123456789Z', 422],
    ['2026-01-31T12:00:00,000000001+01:00', 422],
    ['2026-01-31T12:00:00.123456000Z', 200],
  ] as const) {
    const answer = await post('/call/start', { start: startOf({ started_at }) })
    assert.equal(answer.status, status, started_at)
    if (status === 422)
      assert.equal(
        answer.json.reason,
        `The body does not fit the schema: start.started_at: expected at most six decimal places (microseconds); any further digits must be zeros, received ${JSON.stringify(started_at)}.`,
      )
  }
})

test('call/start: a time outside the accepted years is refused, and the message states them', async () => {
  for (const started_at of ['0001-01-01T00:00:00Z', '1684-01-01T00:00:00Z', '9999-12-31T23:59:59Z']) {
    const { status, json } = await post('/call/start', { start: startOf({ started_at }) })
    assert.equal(status, 422)
    assert.equal(
      json.reason,
      `The body does not fit the schema: start.started_at: expected a year from 1685 to 2254, received "${started_at}".`,
    )
  }
  for (const started_at of ['1685-01-01T00:00:00Z', '2254-12-31T23:59:59.999999Z']) {
    const start = startOf({ started_at })
    assert.equal((await post('/call/start', { start })).status, 200)
    const { json } = await post('/call/read', { project_id: project, id: start.id })
    assert.equal(json.call.started_at, started_at)
  }
})
