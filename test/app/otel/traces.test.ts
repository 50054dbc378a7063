import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateSync, gzipSync } from 'node:zlib'
import type { Database } from '../../../src/storage/database.ts'
import { codexSteps, codexTurn } from '../../fixtures/codex-turn.ts'
import { idsOf, recordsOf, whole } from '../../support/answers.ts'
import { basic, keys, openApp, type TestApp } from '../../support/app.ts'
import { endedRecord, project } from '../../support/calls.ts'
import { openMemoryRecord } from '../../support/memory-record.ts'
import {
  attributesOf,
  exportOf,
  otlpSpanId,
  otlpTraceId,
  protobufAnswerOf,
  protobufOf,
  spanOf,
} from '../../support/otlp.ts'

const url = '/otel/v1/traces'
const authorization = basic(keys.alice)
const json = { authorization, 'content-type': 'application/json' }
const protobuf = { authorization, 'content-type': 'application/x-protobuf' }

const encodings = [
  ['JSON', json, (body: object) => Buffer.from(JSON.stringify(body))],
  ['protobuf', protobuf, protobufOf],
] as const

async function send({ app }: TestApp, headers: Record<string, string>, payload: string | Buffer, to = url) {
  const answer = await app.inject({ method: 'POST', url: to, headers, payload })
  const type = String(answer.headers['content-type'])
  const isProtobuf = type === 'application/x-protobuf'
  return {
    status: answer.statusCode,
    type,
    body: isProtobuf ? protobufAnswerOf(answer.rawPayload) : answer.json(),
  }
}

function refusal(status: number, code: string, reason: string) {
  return { status, type: 'application/json; charset=utf-8', body: { reason, code } }
}

async function storedIds({ post }: TestApp, project_id = project, key = keys.alice): Promise<unknown[]> {
  return idsOf(await post('/calls/stream_query', { project_id }, key))
}

test('traces: requests without valid credentials are refused', async (t) => {
  const opened = await openApp(t)
  const body = JSON.stringify(exportOf([]))
  const type = { 'content-type': 'application/json' }
  const missing = refusal(
    401,
    'not_authenticated',
    'This server needs credentials: Basic with user name "api" and a key as password, Bearer with a key, or a key in x-api-key or api-key.',
  )
  const wrong = refusal(
    401,
    'wrong_credentials',
    'These credentials are not accepted: the user name and the key do not belong together, or the key is unknown or revoked.',
  )
  for (const [headers, expected] of [
    [{}, missing],
    [{ 'wandb-api-key': '' }, wrong],
    [{ 'wandb-api-key': 'wrong-secret-key' }, wrong],
    [{ 'wandb-api-key': keys.alice, authorization: basic('wrong-secret-key') }, wrong],
  ] as const) {
    assert.deepEqual(await send(opened, { ...type, ...headers }, body), expected)
  }
  for (const headers of [
    { 'wandb-api-key': keys.alice },
    { authorization: `Bearer ${keys.alice}` },
    { authorization, 'wandb-api-key': 'wrong-secret-key' },
    { authorization: 'Digest x', 'wandb-api-key': keys.alice },
  ]) {
    assert.equal((await send(opened, { ...type, ...headers }, body)).status, 200, JSON.stringify(headers))
  }
  const elsewhere = await send(
    opened,
    { ...type, 'wandb-api-key': keys.alice },
    JSON.stringify({ project_id: project, id: otlpSpanId }),
    '/call/read',
  )
  assert.deepEqual(elsewhere, missing)
})

test('traces: /v1/traces and the address of agents accept the same requests', async (t) => {
  const body = JSON.stringify(exportOf([spanOf()]))
  for (const address of ['/v1/traces', '/agents/otel/v1/traces']) {
    const opened = await openApp(t)
    assert.deepEqual((await send(opened, { ...json, project_id: project }, body, address)).body, {})
    assert.equal((await opened.post('/call/read', { project_id: project, id: otlpSpanId })).status, 200)
    const broken = await send(opened, json, '{"resourceSpans":1}', address)
    assert.deepEqual([broken.status, broken.body.code], [422, 'invalid_request'])
  }
})

test('traces: refuses invalid requests, checking in a fixed order', async (t) => {
  const opened = await openApp(t, { settings: { HEDDLE_BODY_LIMIT: '4096' } })
  const valid = exportOf([spanOf()])
  const large = 'x'.repeat(4096)
  assert.deepEqual(
    await send(opened, { ...json, 'content-type': 'text/plain' }, JSON.stringify(valid)),
    refusal(
      415,
      'unsupported_media_type',
      'Content-Type "text/plain" is not accepted here; accepted: application/json, application/x-protobuf.',
    ),
  )
  assert.deepEqual(
    await send(opened, { ...json, 'content-encoding': 'br' }, JSON.stringify(valid)),
    refusal(
      415,
      'unsupported_encoding',
      'Content-Encoding "br" is not accepted here; accepted: gzip, deflate, identity.',
    ),
  )
  for (const [, headers, encode] of encodings) {
    const tooLarge = refusal(413, 'body_too_large', 'The body is larger than 4096 bytes; send less at once.')
    const body = encode(exportOf([spanOf({ large })]))
    assert.deepEqual(await send(opened, headers, body), tooLarge)
    assert.ok(gzipSync(body).length < 1024)
    for (const [encoding, compressed] of [
      ['gzip', gzipSync(body)],
      ['deflate', deflateSync(body)],
    ] as const) {
      assert.deepEqual(await send(opened, { ...headers, 'content-encoding': encoding }, compressed), tooLarge)
    }
    const whole = gzipSync(encode(valid))
    for (const [broken, why] of [
      [encode(valid), 'incorrect header check'],
      [whole.subarray(0, -8), 'unexpected end of file'],
    ] as const) {
      assert.deepEqual(
        await send(opened, { ...headers, 'content-encoding': 'gzip' }, broken),
        refusal(400, 'malformed_encoding', `The body cannot be decompressed from gzip: ${why}.`),
      )
    }
  }
  assert.deepEqual(
    await send(opened, protobuf, protobufOf(valid).subarray(0, -1)),
    refusal(400, 'malformed_protobuf', 'The body is not an OTLP export in protobuf: premature EOF.'),
  )
  assert.deepEqual(
    await send(opened, json, ''),
    refusal(400, 'malformed_json', 'The body is not JSON: it is empty.'),
  )
  const { status, body } = await send(opened, json, '{"resourceSpans":[{"scopeSpans":[{"spans":[5]}]}]}')
  assert.deepEqual(
    [status, body.detail],
    [
      422,
      [
        {
          loc: ['body', 'resourceSpans', 0, 'scopeSpans', 0, 'spans', 0],
          msg: 'expected an object, received 5',
          type: 'custom',
        },
      ],
    ],
  )
  assert.deepEqual(await storedIds(opened), [])
})

test('traces: in JSON a request may be empty, as in protobuf', async (t) => {
  const opened = await openApp(t)
  for (const body of ['{}', '{"resourceSpans":null}', '{"resourceSpans":[]}']) {
    const answer = await send(opened, json, body)
    assert.deepEqual([answer.status, answer.body], [200, {}], body)
  }
  assert.deepEqual(await send(opened, protobuf, ''), {
    status: 200,
    type: 'application/x-protobuf',
    body: {},
  })
})

test('traces: in JSON a 32-bit number may be a text of digits', async (t) => {
  const opened = await openApp(t)
  const write = (flags: string, spanId: string) =>
    JSON.stringify(exportOf([spanOf({}, { spanId, flags: '@' })])).replace('"@"', flags)
  const taken = ['1', '"1"', '1.0', '1e0', '"4294967295"', 'null', '0']
  for (const [n, flags] of taken.entries()) {
    const { status, body } = await send(opened, json, write(flags, String(n).padStart(16, 'a')))
    assert.deepEqual([status, body], [200, {}], flags)
  }
  for (const flags of ['"4294967296"', '-1', '"-1"', '1.5', '""', '"x"', '" 1"', '[]', '"0x1"', '1e400']) {
    const { status, body } = await send(opened, json, write(flags, 'b'.repeat(16)))
    assert.deepEqual([status, body.partialSuccess?.rejectedSpans], [200, '1'], flags)
    assert.match(body.partialSuccess.errorMessage, /flags: expected a whole number of 32 bits, received /)
  }
  assert.equal((await storedIds(opened)).length, taken.length)
})

for (const [name, headers, encode] of encodings) {
  test(`traces: the project comes from the resource or the header, in ${name}`, async (t) => {
    const opened = await openApp(t)
    const none =
      'accepted: the resource attributes wandb.entity and wandb.project, or the header project_id: <entity>/<project>.'
    for (const [resource, header, field, given] of [
      [{}, undefined, 'resourceSpans.0.resource', 'it names no project'],
      [{ 'wandb.entity': 'acme' }, undefined, 'resourceSpans.0.resource', '"acme" is half a project'],
      [{ 'wandb.project': 'qa' }, 'acme/qa', 'resourceSpans.0.resource', '"qa" is half a project'],
    ] as const) {
      const given_ = header === undefined ? headers : { ...headers, project_id: header }
      assert.deepEqual(
        await send(opened, given_, encode(exportOf([spanOf()], resource))),
        refusal(400, 'invalid_value', `${field}: ${given}; ${none}`),
      )
    }
    for (const header of ['acme', 'acme/', 'a/b/c', 'ac me/qa']) {
      assert.deepEqual(
        await send(opened, { ...headers, project_id: header }, encode(exportOf([spanOf()], {}))),
        refusal(400, 'invalid_value', `project_id: "${header}"; accepted: <entity>/<project>.`),
      )
    }
    assert.deepEqual(
      await send(
        opened,
        headers,
        encode(exportOf([spanOf()], { 'wandb.entity': 'a/b', 'wandb.project': 'c' })),
      ),
      refusal(400, 'invalid_value', 'resourceSpans.0.resource: "a/b/c"; accepted: <entity>/<project>.'),
    )
    const own = exportOf([spanOf()]).resourceSpans
    const foreign = exportOf([spanOf()], { 'wandb.entity': 'globex', 'wandb.project': 'qa' }).resourceSpans
    assert.deepEqual(
      await send(opened, headers, encode({ resourceSpans: [...own, ...foreign] })),
      refusal(
        403,
        'entity_forbidden',
        'Your key has no access to the entity of resourceSpans.1.resource: "globex/qa".',
      ),
    )
    assert.deepEqual(
      await send(opened, { ...headers, project_id: 'globex/qa' }, encode(exportOf([spanOf()]))),
      refusal(403, 'entity_forbidden', 'Your key has no access to the entity of project_id: "globex/qa".'),
    )
    assert.deepEqual(await storedIds(opened), [])

    const nameless = exportOf([spanOf({}, { spanId: 'b7ad6b7169203332' })], {
      'service.name': 'x',
    }).resourceSpans
    const answer = await send(
      opened,
      { ...headers, project_id: 'acme/other' },
      encode({ resourceSpans: [...own, ...nameless] }),
    )
    assert.deepEqual(answer.body, {})
    assert.deepEqual(await storedIds(opened), [otlpSpanId])
    assert.deepEqual(await storedIds(opened, 'acme/other'), ['b7ad6b7169203332'])
  })

  test(`traces: a span becomes a call, and sending it again changes nothing, in ${name}`, async (t) => {
    const opened = await openApp(t)
    const span = spanOf(
      { 'input.value': '{"question":"capital of Chad"}', 'output.value': "N'Djamena", n: 9007199254740993n },
      { parentSpanId: '00f067aa0ba902b7' },
    )
    for (let time = 0; time < 2; time++) {
      const answer = await send(opened, headers, encode(exportOf([span])))
      assert.equal(answer.status, 200)
      assert.equal(
        answer.type,
        name === 'JSON' ? 'application/json; charset=utf-8' : 'application/x-protobuf',
      )
      assert.deepEqual(answer.body, {})
      const found = await opened.post('/calls/stream_query', {
        project_id: project,
        include_usernames: true,
      })
      assert.match(found.text, /"n":9007199254740993/)
      const [record, ...others] = recordsOf(found) as [{ attributes: Record<string, unknown> }]
      assert.deepEqual(others, [])
      const { otel_span, ...attributes } = record.attributes
      assert.deepEqual(
        { ...record, attributes },
        endedRecord(otlpSpanId, {
          op_name: 'chat',
          trace_id: otlpTraceId,
          parent_id: '00f067aa0ba902b7',
          started_at: '2026-01-02T03:04:05.123456Z',
          ended_at: '2026-01-02T03:04:06.500Z',
          attributes: { n: Number('9007199254740993') },
          summary: { weave: { status: 'success', latency_ms: 1376, trace_name: 'chat' } },
        }),
      )
      assert.equal((otel_span as { name: string }).name, 'chat')
    }
  })

  test(`traces: malformed spans are left out and reported, in ${name}`, async (t) => {
    const opened = await openApp(t)
    const bad = Array.from({ length: 25 }, (_, n) =>
      spanOf({ a: 1, 'a.b': n }, { spanId: `${1000 + n}`.repeat(4) }),
    )
    const answer = await send(opened, headers, encode(exportOf([...bad, spanOf()])))
    const messages = bad
      .slice(0, 20)
      .map(({ spanId }) => `span ${spanId}: attribute "a.b" conflicts with attribute "a"`)
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.body, {
      partialSuccess: { rejectedSpans: '25', errorMessage: messages.join('; ') },
    })
    assert.deepEqual(await storedIds(opened), [otlpSpanId])
  })

  test(`traces: error messages stay short, whatever names a client sends, in ${name}`, async (t) => {
    const opened = await openApp(t)
    const long = 'ab'.repeat(100_000)
    const bad = [
      spanOf({}, { spanId: long }),
      spanOf({ [long]: 1, [`${long}.a`]: 2 }),
      spanOf({ [`${long}.a`]: 1, [long]: 2 }, { spanId: long }),
      spanOf({ 'wandb.wb_run_step': long }),
    ]
    const { status, body } = await send(opened, headers, encode(exportOf(bad)))
    const { rejectedSpans, errorMessage } = body.partialSuccess
    assert.deepEqual([status, rejectedSpans], [200, '4'])
    assert.ok(errorMessage.length < 4 * 400, `${errorMessage.length} characters`)
    assert.ok(errorMessage.includes(`attribute "${long.slice(0, 100)}…`))
  })

  test(`traces: of an attribute of a span that is there twice the last value counts, in ${name}`, async (t) => {
    const opened = await openApp(t)
    const twice = [...attributesOf({ 'thread.id': 4 }), ...attributesOf({ 'thread.id': '0199b4a2' })]
    const { status, body } = await send(
      opened,
      headers,
      encode(exportOf([spanOf({}, { attributes: twice })])),
    )
    assert.deepEqual([status, body], [200, {}])
    const { json } = await opened.post('/call/read', { project_id: 'acme/qa', id: otlpSpanId })
    assert.deepEqual(json.call.attributes.thread, { id: '0199b4a2' })
  })

  test(`traces: a request of a sub-agent of Claude Code is in its session, in ${name}`, async (t) => {
    const opened = await openApp(t)
    const body = exportOf([spanOf({ 'session.id': 's-3', 'gen_ai.conversation.id': 'ad26e2396d505f901' })])
    const scope = { name: 'com.anthropic.claude_code.tracing' }
    const [group] = body.resourceSpans
    const [{ spans }] = group.scopeSpans as [{ spans: object[] }]
    await send(opened, headers, encode({ resourceSpans: [{ ...group, scopeSpans: [{ scope, spans }] }] }))
    const { json } = await opened.post('/call/read', { project_id: 'acme/qa', id: otlpSpanId })
    assert.equal(json.call.thread_id, 's-3')
  })

  test(`traces: an invalid resource or scope is refused with its spans, in ${name}`, async (t) => {
    const opened = await openApp(t)
    const twice = [...attributesOf({ k: 1 }), ...attributesOf({ k: 2 })]
    const two = [spanOf(), spanOf({}, { spanId: 'b7ad6b7169203332' })]
    const body = {
      resourceSpans: [
        { resource: { attributes: twice }, scopeSpans: [{ spans: two }] },
        {
          ...exportOf([]).resourceSpans[0],
          scopeSpans: [
            { scope: { name: 'x', attributes: twice }, spans: two },
            { scope: { name: 'y' }, spans: [spanOf({}, { spanId: 'b7ad6b7169203333' })] },
          ],
        },
      ],
    }
    const answer = await send(opened, headers, encode(body))
    assert.deepEqual(answer.body, {
      partialSuccess: {
        rejectedSpans: '4',
        errorMessage: [
          'resourceSpans.0.resource: the resource has "k" twice',
          'resourceSpans.0.resource: the resource has "k" twice',
          'span b7ad6b7169203331: the scope has "k" twice',
          'span b7ad6b7169203332: the scope has "k" twice',
        ].join('; '),
      },
    })
    assert.deepEqual(await storedIds(opened), ['b7ad6b7169203333'])
  })

  test(`traces: an empty export is accepted, in ${name}`, async (t) => {
    const opened = await openApp(t)
    for (const body of [
      { resourceSpans: [] },
      exportOf([]),
      exportOf([], {}),
      { resourceSpans: [{ scopeSpans: [{}] }, {}] },
    ]) {
      const answer = await send(opened, headers, encode(body))
      assert.deepEqual([answer.status, answer.body], [200, {}])
    }
  })

  test(`traces: gzip and deflate are accepted, in ${name}`, async (t) => {
    const opened = await openApp(t)
    for (const [index, [encoding, compress]] of (
      [
        ['gzip', gzipSync],
        ['x-gzip', gzipSync],
        ['deflate', deflateSync],
        ['identity', (body: Buffer) => body],
        [' GZIP ', gzipSync],
      ] as const
    ).entries()) {
      const body = encode(
        exportOf([spanOf({ text: 'x'.repeat(10_000) }, { spanId: `${index + 1}`.repeat(16) })]),
      )
      const answer = await send(opened, { ...headers, 'content-encoding': encoding }, compress(body))
      assert.deepEqual([answer.status, answer.body], [200, {}], encoding)
    }
    assert.equal((await storedIds(opened)).length, 5)
  })

  test(`traces: an export of many spans is stored whole, in ${name}`, async (t) => {
    const opened = await openApp(t)
    const spans = Array.from({ length: 1500 }, (_, n) =>
      spanOf({ n, text: 'x'.repeat(100) }, { spanId: (n + 1).toString(16).padStart(16, '0') }),
    )
    const answer = await send(opened, headers, encode(exportOf(spans)))
    assert.deepEqual([answer.status, answer.body], [200, {}])
    assert.deepEqual(
      await storedIds(opened),
      spans.map(({ spanId }) => spanId),
    )
  })

  test(`traces: spans expire like calls, in ${name}`, async (t) => {
    const opened = await openApp(t, { settings: { HEDDLE_RETENTION_DAYS: '36500' } })
    await send(opened, headers, encode(exportOf([spanOf()])))
    const read = await opened.post('/call/read', { project_id: project, id: otlpSpanId })
    assert.equal(read.json.call.expire_at, '2125-12-09T03:04:05.123456Z')
  })
}

test('traces: usage is priced', async (t) => {
  const { post } = await openApp(t)
  const costs = { small: { prompt_token_cost: 0.5, completion_token_cost: 2 } }
  assert.equal((await post('/cost/create', { project_id: project, costs })).status, 200)
  const attributes = {
    'gen_ai.request.model': 'small',
    'gen_ai.usage.input_tokens': 4,
    'gen_ai.usage.output_tokens': 3,
  }
  await post(url, exportOf([spanOf(attributes)]))
  const { json } = await post('/call/read', { project_id: project, id: otlpSpanId, include_costs: true })
  const { prompt_tokens_total_cost, completion_tokens_total_cost } = json.call.summary.weave.costs.small
  assert.deepEqual([prompt_tokens_total_cost, completion_tokens_total_cost], [2, 6])
})

test('traces: tokens of Codex are those of the model of the nearest span above, whichever of both arrives first', async (t) => {
  const { post } = await openApp(t)
  const costs = { 'loom-1': { prompt_token_cost: 0.5, completion_token_cost: 2 } }
  assert.equal((await post('/cost/create', { project_id: project, costs })).status, 200)
  const apart = (spans: object[]) => spans.map((span) => [span])
  const orders = [
    (spans: object[]) => [spans],
    (spans: object[]) => apart(spans.toReversed()),
    (spans: object[]) => apart([...spans.slice(codexSteps.length), ...spans.slice(0, codexSteps.length)]),
  ]
  for (const [index, order] of orders.entries()) {
    const trace = `${'e'.repeat(7)}${index}`.repeat(4)
    for (const spans of order(codexTurn(trace, 12))) await post(url, exportOf(spans))
    const id = `${'e'.repeat(7)}${index}00000007`
    const { call } = (await post('/call/read', { project_id: project, id, include_costs: true })).json
    assert.deepEqual(call.summary.usage, { 'loom-1': { input_tokens: 5120, output_tokens: 9 } })
    assert.equal(call.summary.weave.costs['loom-1'].prompt_tokens_total_cost, 2560)
    const [light] = recordsOf(await post('/views/trace', { project_id: project, trace_id: trace })).filter(
      (row) => row.id === id,
    )
    assert.equal(light?.cost, 2578)
  }
  const inModel = { $eq: [{ $getField: 'model' }, { $literal: 'loom-1' }] }
  const { text } = await post('/calls/stream_query', { project_id: project, query: { $expr: inModel } })
  assert.equal(text.trim().split('\n').length, 3)
})

test('traces: an empty attribute hides no filled one, whatever the convention', async (t) => {
  const { post } = await openApp(t)
  const messages = '[{"role":"user","content":"Why?"}]'
  for (const [attributes, events, inputs, output] of [
    [
      { 'gen_ai.prompt': '', 'input.value': 'Why?', 'gen_ai.completion': '', 'output.value': 'So.' },
      [],
      { value: 'Why?' },
      'So.',
    ],
    [
      {
        'gcp.vertex.agent.llm_request': '{}',
        'input.value': 'Why?',
        'gen_ai.output.messages': '[]',
        'output.value': 'So.',
      },
      [],
      { value: 'Why?' },
      'So.',
    ],
    [
      { 'gen_ai.prompt': '' },
      [{ name: 'e', attributes: attributesOf({ 'gen_ai.input.messages': messages }) }],
      { messages: JSON.parse(messages) },
      null,
    ],
    [
      { 'gen_ai.prompt': '', 'ai.response.text': '', 'ai.response.toolCalls': '[1]' },
      [],
      { prompt: '' },
      { toolCalls: [1] },
    ],
  ] as const) {
    await post(url, exportOf([spanOf(attributes, { events })]))
    const { call } = (await post('/call/read', { project_id: project, id: otlpSpanId })).json
    assert.deepEqual([call.inputs, call.output], [inputs, output])
  }
})

test('traces: calls are found by the path of an attribute', async (t) => {
  const { post } = await openApp(t)
  await post(
    url,
    exportOf([spanOf({ 'http.response.status_code': 200 })], {
      'wandb.entity': 'acme',
      'wandb.project': 'qa',
      'service.name': 'shop',
    }),
  )
  for (const [field, value] of [
    ['attributes.http.response.status_code', 200],
    ['attributes.otel_span.kind', 'CLIENT'],
    ['attributes.otel_span.resource.attributes.service\\.name', 'shop'],
  ]) {
    const query = { $expr: { $eq: [{ $getField: field }, { $literal: value }] } }
    const { json } = await post('/calls/query_stats', { project_id: project, query })
    assert.equal(json.count, 1, String(field))
  }
})

test('traces: a compressed body counts against the budget with the size it may expand to', async (t) => {
  const database = openMemoryRecord()
  const arrived = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const write: Database['write'] = (name, input) => {
    arrived.resolve()
    return released.promise.then(() => database.write(name, input))
  }
  const opened = await openApp(t, {
    settings: { HEDDLE_BODY_LIMIT: '100000', HEDDLE_BODY_BUDGET: '150000' },
    database: {
      ...database,
      write,
    },
  })
  const body = gzipSync(protobufOf(exportOf([spanOf()])))
  const headers = { ...protobuf, 'content-encoding': 'gzip' }
  const first = send(opened, headers, body)
  await arrived.promise
  const refused = await send(opened, headers, body)
  assert.deepEqual([refused.status, refused.body.code], [429, 'queue_full'])
  const plain = send(opened, protobuf, protobufOf(exportOf([spanOf()])))
  released.resolve()
  for (const answer of [first, plain]) assert.equal((await answer).status, 200)
})

test('a compressed body on any other route is refused, and the header is named', async (t) => {
  const opened = await openApp(t)
  const body = gzipSync(JSON.stringify({ project_id: project, id: otlpSpanId }))
  for (const encoding of ['gzip', 'deflate', 'br', 'gzip, gzip']) {
    assert.deepEqual(
      await send(opened, { ...json, 'content-encoding': encoding }, body, '/call/read'),
      refusal(
        415,
        'unsupported_encoding',
        `Content-Encoding "${encoding}" is not accepted here; accepted: identity.`,
      ),
    )
  }
  for (const encoding of ['identity', '']) {
    const plain = JSON.stringify({ project_id: project, id: otlpSpanId })
    const answer = await send(opened, { ...json, 'content-encoding': encoding }, plain, '/call/read')
    assert.equal(answer.status, 404)
  }
  const bytes = await send(opened, protobuf, protobufOf(exportOf([])), '/call/read')
  assert.deepEqual([bytes.status, bytes.body.code], [415, 'unsupported_media_type'])
})

test('traces: other tenants see nothing of a span', async (t) => {
  const opened = await openApp(t)
  await send(opened, json, JSON.stringify(exportOf([spanOf()])))
  assert.deepEqual(
    whole(await opened.post('/call/read', { project_id: project, id: otlpSpanId }, keys.bob)),
    {
      status: 403,
      body: {
        reason: 'Your key has no access to the entity of project_id: "acme/qa".',
        code: 'entity_forbidden',
      },
    },
  )
})

test('traces: spans of Langfuse and OpenLLMetry have inputs, output, model and usage', async (t) => {
  for (const [attributes, inputs, output, usage, thread] of [
    [
      {
        'langfuse.observation.input': '{"question":"Why?"}',
        'langfuse.observation.output': 'Because.',
        'langfuse.observation.model.name': 'small',
        'langfuse.observation.usage_details': '{"input":4,"output":3,"total":7,"input_cached_tokens":2}',
        'langfuse.session.id': 'a session',
      },
      { question: 'Why?' },
      'Because.',
      { small: { input_tokens: 4, output_tokens: 3, total_tokens: 7, cache_read_input_tokens: 2 } },
      'a session',
    ],
    [
      { 'langfuse.observation.usage_details': '[1]', 'langfuse.trace.input': 'x' },
      { value: 'x' },
      null,
      undefined,
      null,
    ],
    [
      {
        'llm.prompts.0.role': 'user',
        'llm.prompts.0.content': 'Why?',
        'llm.completions.0.content': 'Because.',
        'llm.request.model': 'small',
        'llm.usage.prompt_tokens': 4,
        'llm.usage.completion_tokens': 3,
        'traceloop.association.properties.session_id': 'a session',
      },
      { messages: [{ role: 'user', content: 'Why?' }] },
      [{ content: 'Because.' }],
      { small: { input_tokens: 4, output_tokens: 3 } },
      'a session',
    ],
  ] as const) {
    const { post } = await openApp(t)
    await post(url, exportOf([spanOf(attributes)]))
    const { call } = (await post('/call/read', { project_id: project, id: otlpSpanId })).json
    assert.deepEqual(call.inputs, inputs)
    assert.deepEqual(call.output, output)
    assert.deepEqual(call.summary?.usage, usage)
    assert.equal(call.thread_id, thread)
  }
})
