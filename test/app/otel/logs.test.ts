import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { recordsOf } from '../../support/answers.ts'
import { basic, keys, openApp } from '../../support/app.ts'
import { exportOf, otlpSpanId, otlpTraceId, spanOf } from '../../support/otlp.ts'
import { logsOf, protobufLogsAnswerOf, protobufLogsOf, recordOf, recordTime } from './otlp-logs.ts'

const { app, post } = await openApp({ after })
const authorization = basic(keys.alice)
const json = { authorization, 'content-type': 'application/json' }
const protobuf = { authorization, 'content-type': 'application/x-protobuf' }

const encodings = {
  JSON: { headers: json, bytesOf: (body: object) => Buffer.from(JSON.stringify(body)) },
  protobuf: { headers: protobuf, bytesOf: protobufLogsOf },
}

interface Sent {
  body: object | string | Buffer
  to?: string
  headers?: Record<string, string>
}

async function send({ body, to = '/v1/logs', headers = json }: Sent) {
  const payload = Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body)
  const answer = await app.inject({ method: 'POST', url: to, headers, payload })
  const isProtobuf = answer.headers['content-type'] === 'application/x-protobuf'
  const read = isProtobuf ? protobufLogsAnswerOf(answer.rawPayload) : answer.json()
  return [answer.statusCode, read] as const
}

const resourceOf = (name: string) => ({ 'wandb.entity': 'acme', 'wandb.project': name })
const inSpan = { traceId: otlpTraceId, spanId: otlpSpanId }

interface Call {
  [name: string]: unknown
  id: string
  op_name: string
  attributes: Record<string, never> & {
    otel_logs?: { records: Record<string, Record<string, unknown>>; full?: true }
  }
}

/** All calls of a project, in the order in which they began. */
async function callsOf(name: string): Promise<Call[]> {
  const sort_by = [{ field: 'started_at', direction: 'asc' }]
  const calls = recordsOf(await post('/calls/stream_query', { project_id: `acme/${name}`, sort_by }))
  return calls as Call[]
}

async function feedbackOf(name: string) {
  const { json: answer } = await post('/feedback/query', { project_id: `acme/${name}` })
  return answer.result as Record<string, unknown>[]
}

/** Everything of the calls that a second request must not change. */
const stable = (calls: Call[]) => calls.map(({ summary, ...call }) => ({ ...call, usage: usageIn(summary) }))
const usageIn = (summary: unknown) => (summary as { usage?: Record<string, object> }).usage

const fixture = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../fixtures/otel/${name}.json`, import.meta.url), 'utf8'))

function inProject(body: ReturnType<typeof logsOf>, name: string) {
  const [group] = body.resourceLogs
  return { resourceLogs: [{ ...group, resource: logsOf([], resourceOf(name)).resourceLogs[0].resource }] }
}

for (const [name, { headers, bytesOf }] of Object.entries(encodings)) {
  test(`logs in ${name}: a record without a span is a call of its own, and the answer says so`, async () => {
    const project = `own-${name}`
    const body = { kvlistValue: { values: [{ key: 'n', value: { intValue: '9007199254740993' } }] } }
    const record = recordOf(
      { 'shop.order': 7, level: 'high' },
      { eventName: 'shop.sold', body, severityNumber: 9 },
    )
    const sent = { body: bytesOf(logsOf([record], resourceOf(project))), headers }
    const warning = { partialSuccess: { errorMessage: 'kept as a call of its own: shop.sold' } }
    const expected =
      name === 'JSON' ? { partialSuccess: { rejectedLogRecords: '0', ...warning.partialSuccess } } : warning
    assert.deepEqual(await send(sent), [200, expected])
    const once = await callsOf(project)
    assert.deepEqual(
      await send({ ...sent, body: gzipSync(sent.body), headers: { ...headers, 'content-encoding': 'gzip' } }),
      [200, expected],
    )
    assert.deepEqual(await callsOf(project), once)
    assert.deepEqual(
      once.map(({ op_name, thread_id, started_at }) => [op_name, thread_id, started_at]),
      [['shop.sold', null, '2026-01-02T03:04:05.123456Z']],
    )
    const [stored] = Object.values(once[0]?.attributes.otel_logs?.records ?? {})
    assert.equal(stored?.time_unix_nano, String(recordTime))
    assert.equal(stored?.severity_number, 9)
    assert.deepEqual(stored?.attributes, { 'shop.order': 7, level: 'high' })
  })
}

test('logs: a record without a time, and an evaluation without a name, are named in the answer', async () => {
  const records = [
    recordOf({}, { timeUnixNano: '0' }),
    recordOf({ 'event.name': 'gen_ai.evaluation.result' }, inSpan),
    recordOf({ a: 1 }, { spanId: 'xy' }),
    recordOf({ 'event.name': 'shop.sold' }, inSpan),
  ]
  const [status, body] = await send({ body: logsOf(records, resourceOf('rejected')) })
  assert.equal(status, 200)
  assert.deepEqual(body.partialSuccess.rejectedLogRecords, '3')
  assert.match(
    body.partialSuccess.errorMessage,
    /timeUnixNano: expected .*gen_ai\.evaluation\.name: .*spanId: /,
  )
  assert.equal((await callsOf('rejected')).length, 1)
})

test('logs: the project, the key and the size are bounded as for spans', async () => {
  const others = logsOf([], { 'wandb.entity': 'globex', 'wandb.project': 'qa' })
  assert.deepEqual((await send({ body: others }))[0], 403)
  assert.deepEqual((await send({ body: logsOf([recordOf()], {}) }))[0], 400)
  assert.deepEqual(
    (await send({ body: logsOf([]), headers: { 'content-type': 'application/json' } }))[0],
    401,
  )
  assert.deepEqual((await send({ body: Buffer.from('no protobuf'), headers: protobuf }))[0], 400)
  const many = `{"resourceLogs":[{"scopeLogs":[${'{"logRecords":[{},{}]},'.repeat(20_000)}{}]}]}`
  assert.deepEqual((await send({ body: many }))[0], 413)
  for (const to of ['/otel/v1/logs', '/agents/otel/v1/logs']) {
    const headers = { ...json, project_id: 'acme/paths' }
    assert.deepEqual(await send({ body: logsOf([], {}), to, headers }), [200, {}])
  }
})

test('logs of Claude Code are a conversation: the turn, requests with tokens, tools', async () => {
  const body = inProject(fixture('claude-code-2.1.332'), 'claude')
  assert.deepEqual(await send({ body }), [200, {}])
  const once = await callsOf('claude')
  assert.deepEqual(await send({ body }), [200, {}])
  assert.deepEqual(stable(await callsOf('claude')), stable(once))
  const [session, turn, ...inside] = once
  assert.deepEqual([session?.op_name, session?.thread_id], ['claude_code.session', null])
  assert.ok(turn)
  assert.deepEqual(
    [turn.op_name, turn.inputs, turn.output, turn.turn_id],
    [
      'claude_code.turn',
      { messages: [{ role: 'user', content: 'Warp count?' }] },
      [{ role: 'assistant', content: 'Twelve.' }],
      turn.id,
    ],
  )
  const usage = {
    'claude-opus-5-5': {
      input_tokens: 10,
      output_tokens: 4,
      cache_read_input_tokens: 2,
      cache_creation_input_tokens: 3,
      total_cost: 0.00011539999999999999,
    },
  }
  assert.deepEqual(
    inside.map(({ op_name, inputs, output, summary }) => [op_name, inputs, output, usageIn(summary)]),
    [
      ['chat claude-opus-5-5', {}, null, usage],
      ['execute_tool Bash', { command: 'echo twelve', description: 'say it' }, null, undefined],
      ['chat claude-opus-5-5', {}, [{ role: 'assistant', content: 'Twelve.' }], usage],
    ],
  )
  for (const call of inside) {
    assert.deepEqual(
      [call.parent_id, call.trace_id, call.thread_id, call.turn_id],
      [turn.id, turn.trace_id, turn.thread_id, turn.id],
    )
  }
})

test('what Codex logs of its own telemetry becomes no call', async () => {
  const flushed = recordOf({}, { body: { stringValue: 'flushing OTEL metrics' } })
  const own = { 'wandb.entity': 'acme', 'wandb.project': 'codex-metrics' }
  const [status, answer] = await send({ body: logsOf([flushed], own, 'codex_otel::metrics::client') })
  const left = 'left out: codex_otel::metrics::client'
  assert.deepEqual([status, answer.partialSuccess.errorMessage], [200, left])
  assert.deepEqual(await callsOf('codex-metrics'), [])
})

test('logs of Codex are a conversation, even if a prompt arrives in an earlier request than its answer', async () => {
  const whole = fixture('codex-0.171.0')
  const [{ scopeLogs }] = whole.resourceLogs
  const [{ scope, logRecords }] = scopeLogs
  for (const records of [logRecords.slice(0, 6), logRecords.slice(6), logRecords]) {
    const body = inProject(
      { resourceLogs: [{ scopeLogs: [{ scope, logRecords: records }] }] } as never,
      'codex',
    )
    const [status, answer] = await send({ body })
    assert.equal(status, 200)
    assert.match(answer.partialSuccess.errorMessage, /^left out: codex\.sse_event(?: \(\d times\))?$/)
  }
  const [session, turn, ...inside] = await callsOf('codex')
  assert.deepEqual([session?.op_name, session?.thread_id], ['codex.session', null])
  assert.ok(turn)
  assert.deepEqual(turn.inputs, { messages: [{ role: 'user', content: 'Warp count?' }] })
  assert.deepEqual(
    inside.map(({ op_name, inputs, summary }) => [op_name, inputs, usageIn(summary)?.['gpt-5']]),
    [
      [
        'chat gpt-5',
        {},
        { input_tokens: 40, output_tokens: 6, cache_read_input_tokens: 16, cache_creation_input_tokens: 0 },
      ],
      ['execute_tool exec_command', { cmd: 'echo twelve' }, undefined],
      [
        'chat gpt-5',
        {},
        { input_tokens: 40, output_tokens: 6, cache_read_input_tokens: 16, cache_creation_input_tokens: 0 },
      ],
    ],
  )
  assert.match(String(inside[1]?.output), /twelve/)
  for (const call of inside)
    assert.deepEqual([call.parent_id, call.turn_id, call.trace_id], [turn.id, turn.id, turn.trace_id])
})

const details = {
  'event.name': 'gen_ai.client.inference.operation.details',
  'gen_ai.request.model': 'loom-1',
  'gen_ai.conversation.id': 'c-7',
  'gen_ai.input.messages': {
    arrayValue: {
      values: [
        {
          kvlistValue: {
            values: [
              { key: 'role', value: { stringValue: 'user' } },
              { key: 'parts', value: { arrayValue: { values: [] } } },
            ],
          },
        },
      ],
    },
  },
  'gen_ai.output.messages': '[{"role":"assistant","parts":[]}]',
  'gen_ai.usage.input_tokens': 40,
}

test('logs: the content event of a span fills its call, whichever comes first, and as often as they come', async () => {
  const span = (name: string) => exportOf([spanOf({ 'gen_ai.request.model': 'loom-1' })], resourceOf(name))
  const logs = (name: string) => logsOf([recordOf(details, inSpan)], resourceOf(name))
  const orders = { logsFirst: [logs, span, span, logs], spanFirst: [span, logs, logs, span] }
  const results = []
  for (const [name, order] of Object.entries(orders)) {
    for (const body of order) {
      const to = body === span ? '/v1/traces' : '/v1/logs'
      assert.deepEqual(await send({ body: body(name), to }), [200, {}])
    }
    const calls = await callsOf(name)
    assert.equal(calls.length, 1)
    assert.deepEqual(calls[0]?.inputs, { messages: [{ role: 'user', parts: [] }] })
    assert.deepEqual(calls[0]?.output, [{ role: 'assistant', parts: [] }])
    assert.deepEqual([calls[0]?.op_name, calls[0]?.thread_id], ['chat', 'c-7'])
    assert.deepEqual(usageIn(calls[0]?.summary), { 'loom-1': { input_tokens: 40 } })
    const { otel_logs, otel_span, ...attributes } = calls[0]?.attributes ?? {}
    assert.equal(Object.keys(otel_logs?.records ?? {}).length, 1)
    assert.ok(otel_span)
    results.push(attributes)
  }
  assert.deepEqual(results[0], results[1])
})

test('logs of Claude Code with traces: the turn is the call of its span, whose requests count the tokens', async () => {
  const common = { 'session.id': 's-3', 'prompt.id': 'p-1', request_id: 'req_1', model: 'claude-x' }
  const events = {
    user_prompt: { prompt: 'Warp count?' },
    api_request: { input_tokens: 5, output_tokens: 4 },
    assistant_response: { response: 'Twelve.' },
    tool_result: { tool_name: 'Bash', tool_use_id: 'toolu_1', success: 'true' },
  }
  const records = Object.entries(events).map(([name, values]) =>
    recordOf(
      { ...common, 'event.name': name, ...values },
      { ...inSpan, body: { stringValue: `claude_code.${name}` } },
    ),
  )
  const span = exportOf(
    [spanOf({ 'session.id': 's-3' }, { name: 'claude_code.interaction' })],
    resourceOf('traced'),
  )
  assert.deepEqual(await send({ body: logsOf(records, resourceOf('traced')) }), [200, {}])
  assert.deepEqual(await send({ body: span, to: '/v1/traces' }), [200, {}])
  const calls = await callsOf('traced')
  assert.deepEqual(
    calls.map(({ id, op_name, inputs, output, summary }) => [id, op_name, inputs, output, usageIn(summary)]),
    [
      [
        otlpSpanId,
        'claude_code.interaction',
        { messages: [{ role: 'user', content: 'Warp count?' }] },
        [{ role: 'assistant', content: 'Twelve.' }],
        undefined,
      ],
    ],
  )
  assert.equal(Object.keys(calls[0]?.attributes.otel_logs?.records ?? {}).length, 4)
})

test('logs: a tool that failed, one that was refused, and a request that failed are errors', async () => {
  const common = { 'session.id': 's-4', 'prompt.id': 'p-1', tool_name: 'Bash' }
  const events: [string, Record<string, unknown>][] = [
    ['tool_result', { tool_use_id: 't1', success: 'false', error: 'exit 1' }],
    ['tool_decision', { tool_use_id: 't2', decision: 'reject', source: 'user_reject' }],
    ['api_error', { model: 'claude-x', error: 'overloaded', status_code: '529', duration_ms: '20' }],
  ]
  const records = events.map(([name, values]) =>
    recordOf({ ...common, 'event.name': name, ...values }, { body: { stringValue: `claude_code.${name}` } }),
  )
  assert.deepEqual(await send({ body: logsOf(records, resourceOf('failed')) }), [200, {}])
  const errors = (await callsOf('failed')).map(({ op_name, exception }) => [op_name, exception])
  assert.deepEqual(errors.sort(), [
    ['chat claude-x', 'overloaded'],
    ['execute_tool Bash', 'exit 1'],
    ['execute_tool Bash', 'rejected by user_reject'],
  ])
})

test('logs: what a span says itself is not replaced by a record', async () => {
  const own = '[{"role":"user","content":"mine"}]'
  const to = '/v1/traces'
  await send({ body: logsOf([recordOf(details, inSpan)], resourceOf('own-words')) })
  await send({ body: exportOf([spanOf({ 'gen_ai.input.messages': own })], resourceOf('own-words')), to })
  await send({
    body: logsOf([recordOf(details, { ...inSpan, body: { stringValue: 'again' } })], resourceOf('own-words')),
  })
  const [call] = await callsOf('own-words')
  assert.deepEqual(call?.inputs, { messages: JSON.parse(own) })
  assert.deepEqual(call?.output, [{ role: 'assistant', parts: [] }])
})

test('logs: one record for each message, as of 2024', async () => {
  const content = (text: string) => ({
    kvlistValue: { values: [{ key: 'content', value: { stringValue: text } }] },
  })
  const message = { kvlistValue: { values: [{ key: 'message', value: content('Twelve.') }] } }
  const records = [
    recordOf({ 'event.name': 'gen_ai.user.message' }, { ...inSpan, body: content('Warp count?') }),
    recordOf({ 'event.name': 'gen_ai.choice' }, { ...inSpan, body: message }),
  ]
  assert.deepEqual(await send({ body: logsOf(records, resourceOf('messages')) }), [200, {}])
  const [call] = await callsOf('messages')
  assert.deepEqual(call?.inputs, {
    messages: [{ 'event.name': 'gen_ai.user.message', content: 'Warp count?' }],
  })
  assert.deepEqual(call?.output, [{ 'event.name': 'gen_ai.choice', message: { content: 'Twelve.' } }])
})

test('logs: messages of a span that come in several requests are one conversation, also if they are sent again', async () => {
  const text = (value: string) => ({ stringValue: value })
  const members = (values: Record<string, object>) => ({
    kvlistValue: { values: Object.entries(values).map(([key, value]) => ({ key, value })) },
  })
  const events: [string, object][] = [
    ['gen_ai.system.message', { content: text('Be short.') }],
    ['gen_ai.user.message', { content: text('Warp count?') }],
    ['gen_ai.assistant.message', { content: text('Which loom?') }],
    ['gen_ai.user.message', { content: text('Warp count?') }],
    ['gen_ai.choice', { index: { intValue: 0 }, message: members({ content: text('Twelve.') }) }],
    ['gen_ai.choice', { index: { intValue: 1 }, message: members({ content: text('A dozen.') }) }],
  ]
  const records = events.map(([name, body], n) =>
    recordOf(
      { 'event.name': name, 'gen_ai.system': 'openai' },
      {
        ...inSpan,
        timeUnixNano: String(recordTime + BigInt(n)),
        body: members(body as Record<string, object>),
      },
    ),
  )
  const span = { body: exportOf([spanOf({})], resourceOf('by-message')), to: '/v1/traces' }
  const alone = records.map((record) => ({ body: logsOf([record], resourceOf('by-message')) }))
  const [system, ...others] = alone
  for (const request of [...others.slice(0, 3), span, system, ...others.slice(3), span, ...alone])
    assert.deepEqual(await send(request as Sent), [200, {}])
  const [call] = await callsOf('by-message')
  const named = (n: number, message: object) => ({ 'event.name': events[n]?.[0], ...message })
  assert.deepEqual(call?.inputs, {
    messages: [
      named(0, { content: 'Be short.' }),
      named(1, { content: 'Warp count?' }),
      named(2, { content: 'Which loom?' }),
      named(3, { content: 'Warp count?' }),
    ],
  })
  assert.deepEqual(call?.output, [
    named(4, { index: 0, message: { content: 'Twelve.' } }),
    named(5, { index: 1, message: { content: 'A dozen.' } }),
  ])
})

test('logs: the records of a call are bounded, and a deleted call stays deleted', async () => {
  const records = Array.from({ length: 250 }, (_, n) => recordOf({ 'event.name': 'shop.step', n }, inSpan))
  assert.deepEqual(await send({ body: logsOf(records, resourceOf('bounded')) }), [200, {}])
  const [call] = await callsOf('bounded')
  assert.equal(Object.keys(call?.attributes.otel_logs?.records ?? {}).length, 200)
  assert.equal(call?.attributes.otel_logs?.full, true)
  await post('/calls/delete', { project_id: 'acme/bounded', call_ids: [otlpSpanId] })
  assert.deepEqual(await send({ body: logsOf([recordOf({ late: 1 }, inSpan)], resourceOf('bounded')) }), [
    200,
    {},
  ])
  assert.deepEqual(await callsOf('bounded'), [])
})

const judged = {
  'gen_ai.evaluation.name': 'Relevance',
  'gen_ai.evaluation.score.value': 0.75,
  'gen_ai.evaluation.score.label': 'good',
  'gen_ai.evaluation.explanation': 'on topic',
}

test('an evaluation becomes feedback on its call, once, from a record or from an event of a span', async () => {
  const record = recordOf({ 'event.name': 'gen_ai.evaluation.result', ...judged }, inSpan)
  const event = {
    timeUnixNano: String(recordTime),
    name: 'gen_ai.evaluation.result',
    attributes: recordOf(judged).attributes,
  }
  const sent = {
    record: { body: logsOf([record], resourceOf('record')) },
    event: { body: exportOf([spanOf({}, { events: [event] })], resourceOf('event')), to: '/v1/traces' },
  }
  for (const [name, request] of Object.entries(sent)) {
    for (const _ of [1, 2]) assert.deepEqual(await send(request), [200, {}])
    const feedback = await feedbackOf(name)
    assert.deepEqual(
      feedback.map(({ feedback_type, weave_ref, payload }) => [feedback_type, weave_ref, payload]),
      [
        [
          'wandb.runnable.Relevance',
          `weave:///acme/${name}/call/${otlpSpanId}`,
          { output: { score: 0.75, label: 'good', explanation: 'on topic' } },
        ],
      ],
    )
  }
})

test('evaluations and annotations of OpenInference become feedback on their span', async () => {
  const flat = (list: string, index: number, fields: object) =>
    Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [`${list}s.${index}.${list}.${name}`, value]),
    )
  const span = spanOf({
    'openinference.span.kind': 'LLM',
    ...flat('evaluation', 0, { name: 'Relevance', score: 0.75, label: 'good', explanation: 'on topic' }),
    ...flat('evaluation', 1, { score: 1 }),
    ...flat('annotation', 0, { name: 'Tone', label: 'kind', annotator_kind: 'HUMAN' }),
    'trace.evaluations.0.evaluation.name': 'of the trace',
  })
  const request = { body: exportOf([span], resourceOf('flat')), to: '/v1/traces' }
  for (const _ of [1, 2]) assert.deepEqual(await send(request), [200, {}])
  const feedback = await feedbackOf('flat')
  const shown = feedback.map(({ feedback_type, payload }) => [feedback_type, payload])
  assert.deepEqual(
    new Map(shown as [string, unknown][]),
    new Map([
      ['wandb.runnable.Relevance', { output: { score: 0.75, label: 'good', explanation: 'on topic' } }],
      ['wandb.runnable.Tone', { output: { label: 'kind' } }],
    ]),
  )
  assert.equal(feedback.length, 2)
})

test('an evaluation of an answer that is not known stays a call, and the answer says so', async () => {
  const record = recordOf({
    'event.name': 'gen_ai.evaluation.result',
    ...judged,
    'gen_ai.response.id': 'chatcmpl-x',
  })
  const [status, body] = await send({ body: logsOf([record], resourceOf('unknown-answer')) })
  assert.deepEqual(
    [status, body.partialSuccess.errorMessage],
    [200, 'the judged call is not known: Relevance'],
  )
  assert.deepEqual(
    (await callsOf('unknown-answer')).map(({ op_name }) => op_name),
    ['gen_ai.evaluation.result'],
  )
  assert.deepEqual(await feedbackOf('unknown-answer'), [])
})

test('a key that may send calls but not judge them gets its evaluations reported, and the calls stored', async () => {
  const grants = [{ scope: 'acme', role: 'editor' }]
  const { json: user } = await post('/users', { name: 'sender', grants }, keys.root)
  const { json: limited } = await post('/keys', { scopes: ['write_calls'] }, user.key.key)
  const records = [
    recordOf({ 'event.name': 'gen_ai.evaluation.result', ...judged }, inSpan),
    recordOf({ 'event.name': 'shop.sold' }, inSpan),
  ]
  const headers = { 'content-type': 'application/json', authorization: basic(limited.key) }
  const [status, body] = await send({ body: logsOf(records, resourceOf('no-review')), headers })
  assert.deepEqual(
    [status, body.partialSuccess.errorMessage],
    [200, 'no feedback without the right review: Relevance'],
  )
  assert.deepEqual(await feedbackOf('no-review'), [])
  assert.equal((await callsOf('no-review')).length, 1)
})

test('records and the span of one call that arrive at once are all there', async () => {
  const requests = Array.from({ length: 12 }, (_, n) =>
    n === 6
      ? { body: exportOf([spanOf({ n })], resourceOf('at-once')), to: '/v1/traces' }
      : { body: logsOf([recordOf({ 'event.name': 'shop.step', n }, inSpan)], resourceOf('at-once')) },
  )
  for (const [status] of await Promise.all(requests.map(send))) assert.equal(status, 200)
  const [call] = await callsOf('at-once')
  assert.equal(call?.op_name, 'chat')
  assert.equal(Object.keys(call?.attributes.otel_logs?.records ?? {}).length, 11)
})
