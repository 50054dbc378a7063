import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '../../../src/storage/database.ts'
import { openAppRecord } from '../../support/app-record.ts'
import { completeOf } from '../../support/calls.ts'
import { attributesOf } from '../../support/otlp.ts'
import { logsOf, recordOf } from '../otel/otlp-logs.ts'
import { calling, claudeBody, claudeHeaders, open, prompt, session } from './coding-agents.ts'

/* A coding agent that asks a model here and sends its telemetry here, too, in the words of Claude Code and Codex. */

const resource = {
  'wandb.entity': 'acme',
  'wandb.project': 'default',
  'service.name': 'claude-code',
  'service.version': '2.1.332',
}
const nanoseconds = (time: string) => BigInt(Date.parse(time)) * 1_000_000n

interface Asked {
  id: string
  request: string
  /** The call of a tool in its answer. */
  tool?: string | undefined
}

type Opened = Awaited<ReturnType<typeof open>>

/** Uses a tool, and answers. Returns the requests of one prompt. */
async function claudeTurn({ ask, answers, callOf }: Opened, history: object[], headers = {}) {
  answers.push(calling('a'), 'One file.')
  history.push(prompt('List it'))
  const asked: Asked[] = []
  for (const _ of [1, 2]) {
    const { json, ...known } = await ask(
      '/v1/messages',
      { ...claudeHeaders, ...headers },
      claudeBody(history),
    )
    asked.push({ ...known, tool: json.content[0].id })
    history.push({ role: 'assistant', content: json.content })
    const used = (json.content as Record<string, string>[]).filter(({ type }) => type === 'tool_use')
    const results = used.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'done' }))
    if (results.length > 0) history.push({ role: 'user', content: results })
  }
  await Promise.all(asked.map(({ id }) => callOf(id)))
  return asked
}

/** What Claude Code says of these requests. */
async function claudeRecords({ callOf }: Opened, asked: readonly Asked[]) {
  const { started_at } = await callOf(asked[0]?.id)
  const at = nanoseconds(started_at)
  const record = (event: string, index: number, attributes: object) =>
    recordOf(
      {
        'session.id': session,
        'prompt.id': 'p-1',
        'event.name': event,
        'event.sequence': index,
        ...attributes,
      },
      {
        timeUnixNano: String(at + BigInt(index) * 1_000_000n),
        body: { stringValue: `claude_code.${event}` },
      },
    )
  const requests = await Promise.all(
    asked.map(async ({ id, request }, index) => {
      const { summary } = await callOf(id)
      const [usage] = Object.values(summary.usage) as { prompt_tokens: number; completion_tokens: number }[]
      return record('api_request', 3 + index, {
        ...{ model: 'scripted', request_id: request, cost_usd: 1.5, duration_ms: 4 },
        ...{ input_tokens: usage?.prompt_tokens, output_tokens: usage?.completion_tokens },
      })
    }),
  )
  const tool = {
    ...{ tool_name: 'Bash', tool_use_id: asked[0]?.tool, success: 'true', duration_ms: '2' },
    tool_input: '{"command":"a"}',
  }
  const answer = { response: 'One file.', model: 'scripted', request_id: asked[1]?.request }
  return [
    record('user_prompt', 1, { prompt: 'List it' }),
    record('tool_result', 2, tool),
    ...requests,
    record('assistant_response', 9, answer),
  ]
}

/** What Claude Code asks of itself when an agent in the background has ended: a prompt of its own. */
const notified = {
  role: 'user',
  content: [
    {
      type: 'text',
      text: '<system-reminder>\n<task-notification>It is done.</task-notification>\n</system-reminder>',
    },
  ],
}

async function claudeNotified(opened: Opened, history: object[]): Promise<Asked> {
  opened.answers.push('Two files.')
  history.push(notified)
  const asked = await opened.ask('/v1/messages', claudeHeaders, claudeBody(history))
  await opened.callOf(asked.id)
  return asked
}

test('what is told of an answer before it is written waits for it, and is not a second one', async (t) => {
  const database = await openAppRecord()
  const released = Promise.withResolvers<void>()
  const write: Database['write'] = (name, ...rest) =>
    name === 'recordAnswers'
      ? released.promise.then(() => database.write(name, ...rest))
      : database.write(name, ...rest)
  const { ask, answers, post, callOf, threadOf } = await open(t, { database: { ...database, write } })
  answers.push('One file.')
  const { id, request } = await ask('/v1/messages', claudeHeaders, claudeBody([prompt('List it')]))
  const send = (event: string, attributes: object) =>
    post(
      '/v1/logs',
      logsOf([recordOf({ ...common, 'event.name': event, ...attributes }, toldAt(event))], resource),
    )
  const common = { 'session.id': session, 'prompt.id': 'p-1' }
  const toldAt = (event: string) => ({
    timeUnixNano: String(nanoseconds(new Date().toISOString())),
    body: { stringValue: `claude_code.${event}` },
  })
  const told = send('api_request', { model: 'scripted', request_id: request, cost_usd: 1.5 })
  // By the time this one is stored, the other would be.
  assert.equal((await send('user_prompt', { prompt: 'List it' })).status, 200)
  released.resolve()
  assert.equal((await told).status, 200)
  const call = await callOf(id)
  assert.equal((await callOf(call.turn_id)).op_name, 'claude_code.turn')
  const { turn_count, call_count, cost } = await threadOf(session)
  assert.deepEqual([turn_count, call_count, cost], [1, 2, 1.5])
})

/** Two servers on one record: what the first answers is written when this resolves. */
async function openTwo(t: Parameters<typeof open>[0], written: Promise<void>) {
  const database = await openAppRecord()
  const write: Database['write'] = (name, ...rest) =>
    name === 'recordAnswers'
      ? written.then(() => database.write(name, ...rest))
      : database.write(name, ...rest)
  const answering = await open(t, { database: { ...database, write } })
  const close = async () => undefined
  return { answering, told: await open(t, { database: { ...database, close } }) }
}

test('what is told to one server before another has written the answer is not a second call', async (t) => {
  const released = Promise.withResolvers<void>()
  const { answering, told } = await openTwo(t, released.promise)
  answering.answers.push('One file.')
  const asked = await answering.ask('/v1/messages', claudeHeaders, claudeBody([prompt('List it')]))
  const at = nanoseconds(new Date().toISOString())
  const record = (event: string, attributes: object) =>
    recordOf(
      { 'session.id': session, 'prompt.id': 'p-1', 'event.name': event, ...attributes },
      { timeUnixNano: String(at), body: { stringValue: `claude_code.${event}` } },
    )
  const tokens = { input_tokens: 5, output_tokens: 3 }
  const request = { model: 'scripted', request_id: asked.request }
  const records = [
    record('user_prompt', { prompt: 'List it' }),
    record('api_request', { ...request, ...tokens, cost_usd: 1.5 }),
    record('assistant_response', { ...request, response: 'One file.' }),
  ]
  const send = () => told.post('/v1/logs', logsOf(records, resource))
  assert.equal((await send()).status, 200)
  const early = await told.threadOf(session)
  assert.deepEqual([early.call_count, early.cost], [2, 1.5])
  released.resolve()
  const call = await answering.callOf(asked.id)
  assert.equal((await send()).status, 200)
  const all = await told.lines('/calls/stream_query', { filter: { thread_ids: [session] } })
  assert.deepEqual(all.map(({ op_name }) => op_name).sort(), ['claude_code.turn', 'heddle.messages'])
  assert.equal((await told.callOf(call.turn_id)).op_name, 'claude_code.turn')
  // The answer of the server, and what only its client knows.
  assert.equal(call.output.content[0].text, 'One file.')
  assert.equal(call.inputs.messages.length, 1)
  assert.equal(call.attributes.gen_ai.response.id, asked.request)
  assert.deepEqual(
    Object.values(call.attributes.otel_logs.records as Record<string, { body: string }>)
      .map(({ body }) => body)
      .sort(),
    ['claude_code.api_request', 'claude_code.assistant_response'],
  )
  const { turn_count, call_count, cost, input_tokens } = await told.threadOf(session)
  const [usage] = Object.values(call.summary.usage) as Record<string, number>[]
  assert.deepEqual([turn_count, call_count, cost, input_tokens], [1, 2, 1.5, usage?.prompt_tokens])
})

for (const [how, split] of [
  ['at once', false],
  ['one after the other', true],
] as const) {
  test(`answers of one of our turns are in those two that Claude Code tells of, ${how}`, async (t) => {
    const opened = await open(t)
    const { callOf, threadOf } = opened
    const history: object[] = []
    const asked = await claudeTurn(opened, history)
    const last = await claudeNotified(opened, history)
    const before = await threadOf(session)
    assert.equal((await callOf(last.id)).parent_id, (await callOf(asked[0]?.id)).parent_id)
    const first = await claudeRecords(opened, asked)
    const other = (await claudeRecords(opened, [last, last])).filter((_, index) => [0, 2, 4].includes(index))
    const second = JSON.parse(JSON.stringify(other).replaceAll('p-1', 'p-2'))
    for (const batch of split ? [first, second, first] : [[...first, ...second]])
      assert.equal((await opened.post('/v1/logs', logsOf(batch, resource))).status, 200)
    const [one, two] = [await callOf(asked[0]?.id), await callOf(last.id)]
    assert.notEqual(one.turn_id, two.turn_id)
    for (const { parent_id, turn_id } of [one, two]) {
      assert.equal(parent_id, turn_id)
      assert.equal((await callOf(turn_id)).op_name, 'claude_code.turn')
    }
    assert.equal((await callOf(asked[1]?.id)).turn_id, one.turn_id)
    const { turn_count, input_tokens, output_tokens } = await threadOf(session)
    assert.deepEqual(
      [turn_count, input_tokens, output_tokens],
      [2, before.input_tokens, before.output_tokens],
    )
  })
}

const without = ({ p50_turn_duration_ms: _, p99_turn_duration_ms: __, ...thread }: Record<string, unknown>) =>
  thread

test('a turn that Claude Code asks for here and tells of is one turn, with its tokens once', async (t) => {
  const opened = await open(t)
  const { post, callOf, threadOf, turnsOf, lines } = opened
  const history: object[] = []
  const asked = await claudeTurn(opened, history)
  const before = await threadOf(session)
  const records = await claudeRecords(opened, asked)
  for (const batch of [records.slice(0, 3), records, records])
    assert.equal((await post('/v1/logs', logsOf(batch, resource))).status, 200)
  const calls = await Promise.all(asked.map(({ id }) => callOf(id)))
  const turn = await callOf(calls[0].turn_id)
  assert.deepEqual([turn.op_name, turn.parent_id], ['claude_code.turn', null])
  for (const call of calls)
    assert.deepEqual([call.parent_id, call.turn_id, call.trace_id], [turn.id, turn.id, turn.trace_id])
  const all = await lines('/calls/stream_query', { filter: { thread_ids: [session] } })
  assert.deepEqual(all.map(({ op_name }) => op_name).sort(), [
    'claude_code.turn',
    'execute_tool Bash',
    'heddle.messages',
    'heddle.messages',
  ])
  const thread = await threadOf(session)
  assert.deepEqual(
    [thread.turn_count, thread.call_count, thread.input_tokens, thread.output_tokens, thread.cost],
    [1, 4, before.input_tokens, before.output_tokens, 3],
  )
  const range = { project_id: 'acme/default', include_costs: true }
  const { versions } = (await post('/agents/agent-versions/query', { ...range, agent_name: 'claude-code' }))
    .json
  assert.deepEqual(
    versions.map((version: Record<string, unknown>) => [version.agent_version, version.total_cost_usd]),
    [['2.1.332', 3]],
  )
  // A price wins over what the client states.
  const prices = { scripted: { prompt_token_cost: 1, completion_token_cost: 0 } }
  assert.equal((await post('/cost/create', { project_id: 'acme/default', costs: prices })).status, 200)
  assert.equal((await threadOf(session)).cost, thread.input_tokens)
  assert.deepEqual([thread.input_preview, thread.output_preview], ['List it', 'One file.'])
  assert.deepEqual(await turnsOf(session), [['user: List it', 'assistant: a: done', 'assistant: One file.']])
  // What telemetry does not tell of goes on with its turn.
  opened.answers.push('Two files.')
  history.push({
    role: 'user',
    content: [{ type: 'text', text: '<system-reminder>\nIt is done.\n</system-reminder>' }],
  })
  const { id } = await opened.ask('/v1/messages', claudeHeaders, claudeBody(history))
  assert.equal((await callOf(id)).parent_id, turn.id)
  assert.deepEqual(without(await threadOf(session)).turn_count, 1)
})

test('what people said of a turn stays when the telemetry of it arrives', async (t) => {
  const opened = await open(t)
  const asked = await claudeTurn(opened, [])
  const { turn_id } = await opened.callOf(asked[0]?.id)
  const feedback = { project_id: 'acme/default', feedback_type: 'wandb.note.1', payload: { note: 'Good' } }
  const weave_ref = `weave:///acme/default/call/${turn_id}`
  assert.equal((await opened.post('/feedback/create', { ...feedback, weave_ref })).status, 200)
  await opened.post('/v1/logs', logsOf(await claudeRecords(opened, asked), resource))
  const turn = await opened.callOf(turn_id)
  assert.equal(turn.op_name, 'heddle.turn')
  assert.equal((await opened.callOf(turn.parent_id)).op_name, 'claude_code.turn')
  assert.equal((await opened.threadOf(session)).turn_count, 1)
})

test('a turn with more than a thousand calls stays where it is', async (t) => {
  const opened = await open(t)
  const asked = await claudeTurn(opened, [])
  const { turn_id, trace_id } = await opened.callOf(asked[0]?.id)
  const batch = Array.from({ length: 1_000 }, () =>
    completeOf({ project_id: 'acme/default', trace_id, parent_id: turn_id }),
  )
  assert.equal((await opened.post('/v2/acme/default/calls/complete', { batch })).status, 200)
  await opened.post('/v1/logs', logsOf(await claudeRecords(opened, asked), resource))
  const turn = await opened.callOf(turn_id)
  assert.deepEqual([turn.op_name, turn.parent_id], ['heddle.turn', null])
  assert.equal((await opened.callOf(asked[0]?.id)).parent_id, turn_id)
})

const trace = '0af7651916cd43dd8448eb211c80319c'
const spanId = (index: number) => String(index).padStart(16, 'a')

function spans(
  project: string,
  list: readonly { name: string; below?: number; attributes?: object; at: bigint }[],
) {
  return {
    resourceSpans: [
      {
        resource: { attributes: attributesOf({ 'wandb.entity': 'acme', 'wandb.project': project }) },
        scopeSpans: [
          {
            spans: list.map(({ name, below, attributes = {}, at }, index) => ({
              ...{ traceId: trace, spanId: spanId(index), name, attributes: attributesOf({ ...attributes }) },
              ...(below !== undefined && { parentSpanId: spanId(below) }),
              ...{ startTimeUnixNano: String(at), endTimeUnixNano: String(at + 9_000_000n) },
            })),
          },
        ],
      },
    ],
  }
}

const tokensOf = async ({ callOf }: Opened, id: string) => {
  const [usage] = Object.values((await callOf(id)).summary.usage) as Record<string, number>[]
  return { input: usage?.prompt_tokens as number, output: usage?.completion_tokens as number }
}

test('a turn of which Claude Code sends spans has the answers below those of their requests', async (t) => {
  const opened = await open(t)
  const { post, callOf, threadOf } = opened
  const asked = await claudeTurn(opened, [])
  const before = await threadOf(session)
  const at = nanoseconds((await callOf(asked[0]?.id)).started_at)
  const common = { 'session.id': session, 'gen_ai.conversation.id': session }
  const requests = await Promise.all(
    asked.map(async ({ id, request }) => {
      const { input, output } = await tokensOf(opened, id)
      const usage = { 'gen_ai.usage.input_tokens': input, 'gen_ai.usage.output_tokens': output }
      const attributes = { ...common, ...usage, request_id: request, 'gen_ai.operation.name': 'chat' }
      return { name: 'claude_code.llm_request', below: 0, attributes, at }
    }),
  )
  const agent = { ...common, 'gen_ai.operation.name': 'invoke_agent', user_prompt: 'List it' }
  const whole = spans('default', [{ name: 'claude_code.interaction', attributes: agent, at }, ...requests])
  // Spans are sent when they end.
  const early = structuredClone(whole)
  early.resourceSpans[0]?.scopeSpans[0]?.spans.shift()
  for (const body of [early, whole, whole]) assert.equal((await post('/otel/v1/traces', body)).status, 200)
  const calls = await Promise.all(asked.map(({ id }) => callOf(id)))
  assert.deepEqual(
    calls.map(({ parent_id, trace_id, turn_id }) => [parent_id, trace_id, turn_id]),
    [1, 2].map((index) => [spanId(index), trace, null]),
  )
  const thread = await threadOf(session)
  assert.deepEqual(
    [thread.turn_count, thread.call_count, thread.input_tokens, thread.output_tokens],
    [1, 5, before.input_tokens, before.output_tokens],
  )
})

test('answers of one of our turns are below the spans of those two that Claude Code tells of', async (t) => {
  const opened = await open(t)
  const { callOf, threadOf } = opened
  const history: object[] = []
  const asked = await claudeTurn(opened, history)
  const last = await claudeNotified(opened, history)
  const before = await threadOf(session)
  const at = nanoseconds((await callOf(asked[0]?.id)).started_at)
  const common = { 'session.id': session, 'gen_ai.conversation.id': session }
  const turnOf = async (requests: readonly Asked[]) =>
    spans('default', [
      { name: 'claude_code.interaction', attributes: { ...common, user_prompt: 'List it' }, at },
      ...(await Promise.all(
        requests.map(async ({ id, request }) => {
          const { input, output } = await tokensOf(opened, id)
          const usage = { 'gen_ai.usage.input_tokens': input, 'gen_ai.usage.output_tokens': output }
          const attributes = { ...common, ...usage, request_id: request, 'gen_ai.operation.name': 'chat' }
          return { name: 'claude_code.llm_request', below: 0, attributes, at }
        }),
      )),
    ])
  const second = JSON.parse(
    JSON.stringify(await turnOf([last]))
      .replaceAll(trace, trace.replaceAll('0', '1'))
      .replaceAll('aaa', 'bbb'),
  )
  for (const body of [await turnOf(asked), second, second])
    assert.equal((await opened.post('/otel/v1/traces', body)).status, 200)
  assert.deepEqual(
    await Promise.all([asked[0], last].map(async (request) => (await callOf(request?.id)).parent_id)),
    [spanId(1), spanId(1).replaceAll('aaa', 'bbb')],
  )
  const { turn_count, input_tokens, output_tokens } = await threadOf(session)
  assert.deepEqual([turn_count, input_tokens, output_tokens], [2, before.input_tokens, before.output_tokens])
})

const thread = '0199b4a2-6d3c-7cc1-a2d4-3f5b6c7d8e9f'

/** As Codex asks: a tool, and an answer. */
async function codexTurn({ ask, answers, callOf }: Opened, headers: Record<string, string>) {
  answers.push(calling('a'), 'One file.')
  const input: object[] = [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'List it' }] },
  ]
  const ids: string[] = []
  for (const _ of [1, 2]) {
    const { id, json } = await ask(
      '/v1/responses',
      {
        ...{ 'user-agent': 'codex_exec/0.171.0 (linux)', 'x-heddle-record': 'on', 'thread-id': thread },
        'x-codex-turn-metadata': JSON.stringify({ thread_id: thread, turn_id: 'turn-1' }),
        ...headers,
      },
      { model: 'scripted', input, store: false, tools: [{ type: 'function', name: 'Bash', strict: false }] },
    )
    ids.push(id)
    input.push(...json.output.map(({ id: _id, status: _status, ...item }: Record<string, unknown>) => item))
    const [{ call_id, type }] = json.output
    if (type === 'function_call') input.push({ type: 'function_call_output', call_id, output: 'done' })
  }
  await Promise.all(ids.map(callOf))
  return ids
}

test('a turn that Codex asks for here and tells of in records is one turn, with its tokens once', async (t) => {
  const opened = await open(t)
  const { post, callOf, threadOf, lines } = opened
  const ids = await codexTurn(opened, {})
  const before = await threadOf(thread)
  const { started_at } = await callOf(ids[0] as string)
  const record = (event: string, at: bigint, attributes: object) =>
    recordOf(
      { 'event.name': `codex.${event}`, 'conversation.id': thread, model: 'scripted', ...attributes },
      { timeUnixNano: String(at) },
    )
  const requests = await Promise.all(
    ids.map(async (id) => {
      const { input, output } = await tokensOf(opened, id)
      const tokens = { input_token_count: String(input), output_token_count: String(output) }
      const at = nanoseconds((await callOf(id)).ended_at) + 2_000_000n
      return record('sse_event', at, { 'event.kind': 'response.completed', ...tokens })
    }),
  )
  const asked = record('user_prompt', nanoseconds(started_at) - 1_000_000n, { prompt: 'List it' })
  for (const batch of [[asked, ...requests.slice(0, 1)], [asked, ...requests], requests])
    assert.equal((await post('/v1/logs', logsOf(batch, resource))).status, 200)
  const calls = await Promise.all(ids.map(callOf))
  const turn = await callOf(calls[0].turn_id)
  assert.equal(turn.op_name, 'codex.turn')
  for (const call of calls)
    assert.deepEqual([call.parent_id, call.turn_id, call.trace_id], [turn.id, turn.id, turn.trace_id])
  const all = await lines('/calls/stream_query', { filter: { thread_ids: [thread] } })
  assert.deepEqual(all.map(({ op_name }) => op_name).sort(), [
    'codex.turn',
    'heddle.responses',
    'heddle.responses',
  ])
  const { turn_count, input_tokens, output_tokens } = await threadOf(thread)
  assert.deepEqual([turn_count, input_tokens, output_tokens], [1, before.input_tokens, before.output_tokens])
})

test('of many answers of a turn at once, one that is told of before it is written finds its turn', async (t) => {
  const released = Promise.withResolvers<void>()
  const { answering, told } = await openTwo(t, released.promise)
  const record = (event: string, attributes: object) =>
    recordOf(
      { 'session.id': session, 'prompt.id': 'p-1', 'event.name': event, ...attributes },
      {
        timeUnixNano: String(nanoseconds(new Date().toISOString())),
        body: { stringValue: `claude_code.${event}` },
      },
    )
  const send = async (...records: object[]) =>
    assert.equal((await told.post('/v1/logs', logsOf(records, resource))).status, 200)
  const body = claudeBody([prompt('List it')])
  await send(record('user_prompt', { prompt: 'List it' }))
  for (let n = 0; n < 25; n++) await told.ask('/v1/messages', claudeHeaders, body)
  const asked = await answering.ask('/v1/messages', claudeHeaders, body)
  await send(record('api_request', { model: 'scripted', request_id: asked.request }))
  released.resolve()
  assert.equal((await told.callOf((await answering.callOf(asked.id)).turn_id)).op_name, 'claude_code.turn')
  assert.equal((await told.threadOf(session)).call_count, 27)
})

test('answers of Codex that are written after their records are those calls, with equal tokens, too', async (t) => {
  const released = Promise.withResolvers<void>()
  const { answering, told } = await openTwo(t, released.promise)
  const record = (event: string, attributes: object) =>
    recordOf(
      { 'event.name': `codex.${event}`, 'conversation.id': thread, model: 'scripted', ...attributes },
      { timeUnixNano: String(nanoseconds(new Date().toISOString()) + BigInt(ids.length)) },
    )
  const ids: string[] = []
  const records = [record('user_prompt', { prompt: 'List it' })]
  let tokens = 0
  for (const answer of ['One file.', 'One file.']) {
    answering.answers.push(answer)
    const headers = {
      'user-agent': 'codex_exec/0.171.0 (linux)',
      'x-heddle-record': 'on',
      'thread-id': thread,
    }
    const body = { model: 'scripted', input: 'List it', store: false }
    const { id, json } = await answering.ask('/v1/responses', headers, body)
    ids.push(id)
    const { input_tokens, output_tokens } = json.usage
    tokens += input_tokens
    const usage = { input_token_count: `${input_tokens}`, output_token_count: `${output_tokens}` }
    records.push(record('sse_event', { 'event.kind': 'response.completed', ...usage }))
  }
  for (const batch of [records, records])
    assert.equal((await told.post('/v1/logs', logsOf(batch, resource))).status, 200)
  assert.equal((await told.threadOf(thread)).call_count, 3)
  released.resolve()
  for (const id of ids) {
    const { turn_id, attributes } = await answering.callOf(id)
    assert.equal((await told.callOf(turn_id)).op_name, 'codex.turn')
    assert.equal(Object.keys(attributes.otel_logs.records).length, 1)
  }
  assert.equal((await told.post('/v1/logs', logsOf(records, resource))).status, 200)
  const { turn_count, call_count, input_tokens } = await told.threadOf(thread)
  assert.deepEqual([turn_count, call_count, input_tokens], [1, 3, tokens])
})

test('answers in a trace of Codex are turns until its spans are here, and then below them', async (t) => {
  const opened = await open(t)
  const { post, callOf, threadOf } = opened
  const ids = await codexTurn(opened, { traceparent: `00-${trace}-${spanId(3)}-01` })
  const before = await threadOf(thread)
  const [turn, other] = await Promise.all(ids.map(async (id) => (await callOf(id)).turn_id))
  assert.equal(turn, other)
  assert.deepEqual(
    await callOf(turn).then(({ op_name, parent_id, trace_id }) => [op_name, parent_id, trace_id]),
    ['heddle.turn', null, trace],
  )
  assert.equal(before.turn_count, 1)
  const at = nanoseconds((await callOf(ids[0] as string)).started_at)
  const usages = await Promise.all(
    ids.map(async (id) => {
      const { input, output } = await tokensOf(opened, id)
      const attributes = {
        'gen_ai.usage.input_tokens': `${input}`,
        'gen_ai.usage.output_tokens': `${output}`,
      }
      return { name: 'handle_responses', below: 1, attributes, at }
    }),
  )
  const conversation = { 'conversation.id': thread, 'turn.id': 'turn-1', model: 'scripted' }
  const whole = spans('default', [
    { name: 'turn/start', at },
    { name: 'session_task.turn', below: 0, attributes: conversation, at },
    ...usages,
  ])
  const early = structuredClone(whole)
  early.resourceSpans[0]?.scopeSpans[0]?.spans.splice(0, 2)
  for (const body of [early, whole, whole]) assert.equal((await post('/otel/v1/traces', body)).status, 200)
  const parents = await Promise.all(ids.map(async (id) => (await callOf(id)).parent_id))
  assert.deepEqual(parents, [spanId(2), spanId(3)])
  const { turn_count, first_turn_id, input_tokens, output_tokens } = await threadOf(thread)
  assert.deepEqual(
    [turn_count, first_turn_id, input_tokens, output_tokens],
    [1, spanId(0), before.input_tokens, before.output_tokens],
  )
})
