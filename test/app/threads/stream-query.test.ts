import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { parseExpressionText } from '../../../src/domain/expressions/parse.ts'
import { now } from '../../../src/domain/time.ts'
import { boundTo, type LongReader } from '../../../src/storage/transaction.ts'
import { streamThreads } from '../../../src/storage/views/threads.ts'
import type { ThreadsView } from '../../../src/storage/views/threads-view.ts'
import { keys, openApp } from '../../support/app.ts'
import { startedAt, startPart } from '../../support/call-parts.ts'
import { completeOf, project, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { exportOf, otlpSpanId, spanOf } from '../../support/otlp.ts'

const url = '/threads/stream_query'
const { post, database } = await openApp({ after })

const at = (second: number, ms = 0) => new Date(Date.UTC(2026, 0, 2, 3, 0, second, ms)).toISOString()

/** A turn that began at this second and took so many milliseconds. */
function turn(thread_id: string, second: number, ms: number, fields: object = {}) {
  return completeOf({ thread_id, started_at: at(second), ended_at: at(second, ms), ...fields })
}

async function stored(name: string, batch: object[]): Promise<string> {
  const project_id = `acme/${name}`
  const own = batch.map((call) => ({ ...call, project_id }))
  assert.equal((await post(`/v2/${project_id}/calls/complete`, { batch: own })).status, 200)
  return project_id
}

async function threadsOf(project_id: string, body: object = {}, key: string = keys.alice) {
  const { status, text } = await post(url, { project_id, ...body }, key)
  assert.equal(status, 200, text)
  const lines = text.split('\n')
  assert.equal(lines.pop(), '')
  return lines.map((line) => JSON.parse(line))
}

const namesOf = (threads: { thread_id: string }[]) => threads.map(({ thread_id }) => thread_id)

test('threads/stream_query: refuses invalid requests', async (t) => {
  await assertCommonRefusals(t, url, { project_id: project })
  const tooMany = Array.from({ length: 1001 }, (_, n) => `t${n}`)
  for (const [body, status, code] of [
    [{ filter: { thread_ids: tooMany } }, 400, 'invalid_value'],
    [{ project_id: 'globex/qa' }, 403, 'entity_forbidden'],
    [{ project_id: 'acme' }, 422, 'invalid_request'],
    [{ sort_by: [{ field: 'price', direction: 'asc' }] }, 422, 'invalid_request'],
    [{ sort_by: [{ field: 'turn_count', direction: 'up' }] }, 422, 'invalid_request'],
    [{ filter: { after_datetime: 'yesterday' } }, 422, 'invalid_request'],
    [{ filter: { thread: 'a' } }, 422, 'invalid_request'],
    [{ filter: { thread_ids: ['a\0'] } }, 422, 'invalid_request'],
    [{ limit: -1 }, 422, 'invalid_request'],
    [{ offset: -1 }, 422, 'invalid_request'],
    [{ query: { $expr: {} } }, 422, 'invalid_expression'],
    [{ include_details: 'yes' }, 422, 'invalid_request'],
  ] as const) {
    const answer = await post(url, { project_id: project, ...body })
    assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text)
  }
})

test('a thread has its turns, their times and their percentiles', async () => {
  const ids = [randomUUID(), randomUUID(), randomUUID()] as const
  const project_id = await stored('times', [
    turn('a', 1, 900, { id: ids[0] }),
    turn('a', 2, 100, { id: ids[1] }),
    turn('a', 3, 200, { id: ids[2] }),
    turn('b', 0, 100),
  ])
  const [first, second, ...others] = await threadsOf(project_id)
  assert.deepEqual(others, [])
  assert.deepEqual(first, {
    ...{ thread_id: 'a', turn_count: 3, start_time: at(1).replace('.000', ''), last_updated: at(3, 200) },
    ...{ first_turn_id: ids[0], last_turn_id: ids[2] },
    ...{ p50_turn_duration_ms: 200, p99_turn_duration_ms: 886 },
  })
  assert.deepEqual(
    [second.thread_id, second.p50_turn_duration_ms, second.p99_turn_duration_ms],
    ['b', 100, 100],
  )
})

test('turns are calls with their own id as turn, and root calls with a thread', async () => {
  const [root, own] = [randomUUID(), randomUUID()]
  const project_id = await stored('turns', [
    turn('a', 1, 10, { id: root }),
    turn('a', 2, 10, { trace_id: root, parent_id: root }),
    turn('a', 3, 10, { trace_id: root, parent_id: root, turn_id: root }),
    turn('a', 4, 10, { id: own, trace_id: root, parent_id: root, turn_id: own }),
    turn('', 5, 10),
    completeOf(),
  ])
  const threads = await threadsOf(project_id)
  assert.equal(threads.length, 1)
  const { thread_id, turn_count, first_turn_id, last_turn_id } = threads[0]
  assert.deepEqual([thread_id, turn_count, first_turn_id, last_turn_id], ['a', 2, root, own])
})

test('a running turn counts by its start and has no duration; deleted turns do not count', async () => {
  const project_id = 'acme/running'
  const start = startOf({ project_id, thread_id: 'a', started_at: at(9) })
  assert.equal((await post('/call/start', { start })).status, 200)
  const [running] = await threadsOf(project_id)
  assert.deepEqual(
    [running.turn_count, running.last_updated, running.last_turn_id, running.p50_turn_duration_ms],
    [1, at(9).replace('.000', ''), start.id, null],
  )
  assert.equal((await post('/calls/delete', { project_id, call_ids: [start.id] })).status, 200)
  assert.deepEqual(await threadsOf(project_id), [])
})

test('threads are filtered by name and by the start of their turns, without those at the bounds', async () => {
  const project_id = await stored('filtered', [
    turn('a', 1, 10),
    turn('a', 2, 10),
    turn('b', 2, 10),
    turn('c', 3, 10),
  ])
  const named = await threadsOf(project_id, { filter: { thread_ids: ['a', 'c', 'nobody'] } })
  assert.deepEqual(namesOf(named), ['c', 'a'])
  assert.deepEqual(await threadsOf(project_id, { filter: { thread_ids: [] } }), [])
  const within = { after_datetime: at(1), before_datetime: at(3) }
  const threads = await threadsOf(project_id, { filter: within })
  assert.deepEqual(
    threads.map(({ thread_id, turn_count, start_time }) => [thread_id, turn_count, start_time]),
    [
      ['a', 1, at(2).replace('.000', '')],
      ['b', 1, at(2).replace('.000', '')],
    ],
  )
})

test('every field sorts in both directions, and pages neither overlap nor skip', async () => {
  const project_id = await stored(
    'sorted',
    ['a', 'b', 'c'].flatMap((name, n) =>
      Array.from({ length: n + 1 }, (_, at) => turn(name, 3 * n + at, 10 + n)),
    ),
  )
  for (const field of [
    'thread_id',
    'turn_count',
    'start_time',
    'last_updated',
    'p50_turn_duration_ms',
    'p99_turn_duration_ms',
  ]) {
    for (const [direction, expected] of [
      ['asc', ['a', 'b', 'c']],
      ['desc', ['c', 'b', 'a']],
    ] as const) {
      const sort_by = [{ field, direction }]
      assert.deepEqual(namesOf(await threadsOf(project_id, { sort_by })), expected, `${field} ${direction}`)
      const pages = await Promise.all(
        [0, 1, 2, 3].map((offset) => threadsOf(project_id, { sort_by, offset, limit: 1 })),
      )
      assert.deepEqual(namesOf(pages.flat()), expected)
    }
  }
  assert.deepEqual(await threadsOf(project_id, { limit: 0 }), [])
})

test('a span with a conversation is a turn where it is a root', async () => {
  const named = { 'gen_ai.conversation.id': 'c-7' }
  const inner = { spanId: '00f067aa0ba902b7', parentSpanId: otlpSpanId }
  const body = exportOf([spanOf(named), spanOf(named, inner)], {
    'wandb.entity': 'acme',
    'wandb.project': 'spans',
  })
  const { status, text } = await post('/otel/v1/traces', body)
  assert.equal(status, 200, text)
  const threads = await threadsOf('acme/spans')
  assert.deepEqual(
    threads.map(({ thread_id, turn_count, first_turn_id }) => [thread_id, turn_count, first_turn_id]),
    [['c-7', 1, otlpSpanId]],
  )
})

test('nothing of other tenants is in the list, also under the same name', async () => {
  const project_id = 'globex/qa'
  const call = { ...turn('shared', 1, 10), project_id }
  assert.equal((await post('/v2/globex/qa/calls/complete', { batch: [call] }, keys.bob)).status, 200)
  const own = await stored('tenant', [turn('shared', 1, 20), turn('shared', 2, 20)])
  const filter = { thread_ids: ['shared'] }
  assert.deepEqual(
    (await threadsOf(own, { filter })).map(({ turn_count }) => turn_count),
    [2],
  )
  assert.deepEqual(
    (await threadsOf(project_id, { filter }, keys.bob)).map(({ turn_count }) => turn_count),
    [1],
  )
  assert.equal((await post(url, { project_id, filter })).status, 403)
})

test('details: sums over the turns and everything below them, names, previews and feedback', async () => {
  const project_id = 'acme/details'
  const price = { prompt_token_cost: 0.5, completion_token_cost: 2 }
  const priced = await post('/cost/create', { project_id, costs: { m1: price } })
  assert.equal(priced.status, 200, priced.text)
  const usage = { m1: { prompt_tokens: 4, completion_tokens: 3 } }
  const [root, chat, tool, own] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
  await stored('details', [
    // An agent repeats what its model used; the calls below it do not name the thread.
    turn('a', 1, 900, {
      ...{ id: root, op_name: 'agent', inputs: { question: 'how many?' }, output: 'Twelve.' },
      summary: { usage },
    }),
    turn('', 1, 500, { id: chat, trace_id: root, parent_id: root, thread_id: null, summary: { usage } }),
    turn('', 1, 100, {
      ...{ id: tool, trace_id: root, parent_id: root, thread_id: null, output: null },
      exception: 'no such table',
    }),
    // A turn within a trace of its own thread, and one within a trace that no thread has.
    turn('a', 2, 10, { trace_id: root, parent_id: root, turn_id: root, summary: { usage } }),
    turn('b', 3, 10, {
      id: own,
      turn_id: own,
      parent_id: tool,
      trace_id: 'f'.repeat(32),
      summary: { usage },
    }),
    turn('', 3, 10, { trace_id: 'f'.repeat(32), thread_id: null, summary: { usage } }),
  ])
  const reaction = { weave_ref: `weave:///${project_id}/call/${chat}`, feedback_type: 'wandb.reaction.1' }
  const feedback = await post('/feedback/create', { project_id, ...reaction, payload: { emoji: '👍' } })
  assert.equal(feedback.status, 200, feedback.text)
  const [b, a] = await threadsOf(project_id, { include_details: true, limit: 10 })
  const { start_time, last_updated, p50_turn_duration_ms, p99_turn_duration_ms, ...rest } = a
  assert.deepEqual(rest, {
    ...{ thread_id: 'a', turn_count: 1, first_turn_id: root, last_turn_id: root },
    ...{ call_count: 4, error_count: 1, input_tokens: 8, output_tokens: 6, cost: 16 },
    ...{ users: ['alice'], models: ['m1'], ops: ['agent'] },
    ...{ input_preview: 'how many?', output_preview: 'Twelve.', exception: null, status: 'descendant_error' },
    feedback: [{ feedback_type: 'wandb.reaction.1', emoji: '👍', count: 1 }],
  })
  assert.deepEqual(
    [b.thread_id, b.call_count, b.cost, b.error_count, b.ops, b.feedback],
    ['b', 1, 8, 0, ['answer'], []],
  )
  for (const [field, expected] of [
    ['cost', ['a', 'b']],
    ['error_count', ['a', 'b']],
  ] as const) {
    const desc = await threadsOf(project_id, { sort_by: [{ field, direction: 'desc' }] })
    assert.deepEqual(namesOf(desc), expected)
    const asc = await threadsOf(project_id, { sort_by: [{ field, direction: 'asc' }] })
    assert.deepEqual(namesOf(asc), expected.toReversed())
  }
})

test('details are of a bounded number of conversations', async () => {
  const { status, json } = await post(url, { project_id: project, include_details: true, limit: 1001 })
  assert.deepEqual([status, json.code], [422, 'invalid_request'])
  assert.match(json.reason, /limit: expected a number up to 1000 with include_details/)
  const project_id = await stored('bounded', [turn('a', 1, 10)])
  const [thread] = await threadsOf(project_id, { include_details: true, limit: null })
  assert.equal(thread.call_count, 1)
})

test('a query chooses the conversations with a call that it holds for, and all their turns count', async () => {
  const inner = { parent_id: randomUUID(), trace_id: randomUUID() }
  const project_id = await stored('queried', [
    turn('a', 1, 10),
    turn('a', 2, 10, { inputs: { question: 'a refund' } }),
    turn('b', 3, 10),
    turn('b', 3, 10, { ...inner, exception: 'no' }),
    turn('', 4, 10, { inputs: { question: 'a refund' } }),
  ])
  const found = async ($expr: object) =>
    (await threadsOf(project_id, { query: { $expr } })).map(({ thread_id, turn_count }) => [
      thread_id,
      turn_count,
    ])
  const inputs = { $getField: 'inputs' }
  assert.deepEqual(await found({ $contains: { input: inputs, substr: { $literal: 'refund' } } }), [['a', 2]])
  const status = { $getField: 'summary.weave.status' }
  assert.deepEqual(await found({ $eq: [status, { $literal: 'error' }] }), [['b', 1]])
  const unknown = await post(url, { project_id, query: { $expr: { $eq: [{ $getField: 'nothing' }, 1] } } })
  assert.deepEqual([unknown.status, unknown.json.code], [422, 'invalid_expression'])
})

test('of many turns the newest calls show the latest conversations, unless an older one may have gone on', async () => {
  const batch = Array.from({ length: 180 }, (_, n) =>
    turn(`t${n % 60}-${Math.floor(n / 90)}`, n * 60, 2_000, { op_name: n % 3 === 0 ? 'third' : 'other' }),
  )
  const project_id = await stored('many', batch)
  const slow = await stored('slow', [...batch, turn('slow', 30, 11_000_000)])
  let pages: string[] = []
  const watched: LongReader = {
    ...database,
    stream(query, options) {
      if (/turn_count/.test(query.text)) pages.push(query.text)
      return database.stream(query, options)
    },
  }
  const windows = { manyTurns: 50, calls: [20, 45], maxThreads: 60 }
  const { signal } = new AbortController()
  const read = async (view: ThreadsView) => {
    const found = []
    for await (const rows of streamThreads(boundTo(watched, signal), view, now(), windows))
      found.push(...rows)
    return found
  }
  const all = { threads: undefined, after: undefined, before: undefined, sort: [], limit: 5, offset: 0 }
  const of = (fields: object) => ({ ...all, project: project_id, ...fields })
  const third = parseExpressionText('{"$expr":{"$eq":[{"$getField":"op_name"},{"$literal":"third"}]}}')
  const after = Date.parse(at(170 * 60)) * 1000
  // How often a page is read: from the newest calls, from more of them, from all.
  for (const [view, count] of [
    [of({}), 1],
    [of({ offset: 10 }), 1],
    [of({ query: third }), 1],
    [of({ limit: 30 }), 1],
    [of({ limit: 30, query: third }), 2],
    [of({ after, limit: 30 }), 1],
    [of({ project: slow }), 3],
  ] as const) {
    pages = []
    const found = await read(view)
    assert.equal(pages.length, count, JSON.stringify(view))
    const sort = [
      { field: 'last_updated', direction: 'desc' },
      { field: 'thread_id', direction: 'asc' },
    ] as const
    assert.deepEqual(found, await read({ ...view, sort }))
  }
})

test('the newest calls may be of more conversations than a filter may name', async () => {
  const project_id = 'acme/wide'
  const parts = Array.from({ length: 4_100 }, (_, n) =>
    startPart(project_id, `wide-${n}`, { started_at: startedAt + n, thread_id: `t${n}` }),
  )
  for (let from = 0; from < parts.length; from += 500)
    await database.write('upsertCalls', parts.slice(from, from + 500))
  const view = { threads: undefined, after: undefined, before: undefined, sort: [], limit: 2, offset: 0 }
  const windows = { manyTurns: 50, calls: [1_020], maxThreads: 1_020 }
  const { signal } = new AbortController()
  const found = []
  for await (const rows of streamThreads(
    boundTo(database, signal),
    { ...view, project: project_id },
    now(),
    windows,
  ))
    found.push(...rows)
  assert.deepEqual(namesOf(found), ['t4099', 't4098'])
})

const trace = (n: number) => String(n).padStart(32, '7')
const spanId = (n: number, index: number) => `${String(n).padStart(8, '7')}${String(index).padStart(8, '0')}`

/** Span `index` of trace `n`, below the one at `parent`; spans begin in the order of their indexes. */
const spanIn = (n: number, index: number, parent: number | undefined, attributes: object = {}) =>
  spanOf(
    { ...attributes },
    {
      ...{ traceId: trace(n), spanId: spanId(n, index), name: `span ${index}` },
      ...(parent !== undefined && { parentSpanId: spanId(n, parent) }),
      startTimeUnixNano: String(1767323045000000000n + BigInt(index)),
    },
  )

/** The thread, its turns and its calls. */
async function countsOf(project_id: string) {
  const threads = await threadsOf(project_id, { include_details: true })
  return threads.map((thread) => [
    thread.thread_id,
    thread.turn_count,
    thread.call_count,
    thread.first_turn_id,
  ])
}

const sendSpans = async (name: string, ...spans: object[]) =>
  assert.equal(
    (await post('/otel/v1/traces', exportOf(spans, { 'wandb.entity': 'acme', 'wandb.project': name })))
      .status,
    200,
  )

test('the root of a trace is a turn of the conversation that a call below it names, whichever comes first', async () => {
  const root = spanIn(1, 0, undefined)
  const agent = spanIn(1, 1, 0, { 'gen_ai.conversation.id': 'c-7' })
  const model = spanIn(1, 2, 1, { 'gcp.vertex.agent.session_id': 'c-7' })
  const orders = [
    [[root, agent, model]],
    [[root], [agent], [model]],
    [[model], [agent], [root]],
    [[agent], [root], [model], [root]],
  ]
  for (const [index, batches] of orders.entries()) {
    const name = `below-${index}`
    for (const spans of batches) await sendSpans(name, ...spans)
    assert.deepEqual(await countsOf(`acme/${name}`), [['c-7', 1, 3, spanId(1, 0)]])
    const { call } = (await post('/call/read', { project_id: `acme/${name}`, id: spanId(1, 0) })).json
    assert.equal(call.turn_id, spanId(1, 0))
  }
})

test('a trace in which a call below is a turn, or that names no conversation, adds no other', async () => {
  const root = spanIn(2, 0, undefined)
  const named = spanIn(2, 1, 0, { 'session.id': 's-3' })
  const turn = spanIn(2, 2, 0, { 'session.id': 's-3', 'wandb.is_turn': true })
  const orders = [[[root, named, turn]], [[turn], [named], [root]], [[named], [root], [turn]]]
  for (const [index, batches] of orders.entries()) {
    const name = `turn-below-${index}`
    for (const spans of batches) await sendSpans(name, ...spans)
    assert.deepEqual(await countsOf(`acme/${name}`), [['s-3', 1, 1, spanId(2, 2)]])
  }
  await sendSpans('nameless', spanIn(3, 0, undefined), spanIn(3, 1, 0))
  assert.deepEqual(await countsOf('acme/nameless'), [])
})

test('roots and the calls below them that are written at once see each other', async () => {
  const traces = Array.from({ length: 12 }, (_, n) => n + 10)
  await Promise.all(
    traces.flatMap((n) => [
      sendSpans('at-once', spanIn(n, 0, undefined)),
      sendSpans('at-once', spanIn(n, 1, 0, { 'session.id': 's-4' })),
    ]),
  )
  assert.deepEqual(
    (await countsOf('acme/at-once')).map((counts) => counts.slice(0, 3)),
    [['s-4', 12, 24]],
  )
})

test('a conversation whose turn has no input is named after what its agents and models were asked', async () => {
  const asked = (content: string) => ({
    'gen_ai.operation.name': 'chat',
    'gen_ai.input.messages': JSON.stringify([{ role: 'user', content }]),
  })
  await sendSpans(
    'asked-below',
    spanIn(4, 0, undefined),
    spanIn(4, 1, 0, { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.call.arguments': '{"a":1}' }),
    spanIn(4, 2, 0, { 'session.id': 's-5', ...asked('Warp count?') }),
    spanIn(4, 3, 0, asked('And the weft?')),
    spanIn(5, 0, undefined, { 'session.id': 's-6', 'input.value': 'of its own' }),
    spanIn(5, 1, 0, asked('Warp count?')),
  )
  const threads = await threadsOf('acme/asked-below', { include_details: true })
  assert.deepEqual(
    new Map(threads.map(({ thread_id, input_preview }) => [thread_id, input_preview])),
    new Map([
      ['s-5', 'Warp count?'],
      ['s-6', 'of its own'],
    ]),
  )
})

test('a conversation whose last turn has no output shows what its agents and models answered last', async () => {
  const answered = (content: string) => ({
    'gen_ai.operation.name': 'chat',
    'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', content }]),
  })
  await sendSpans(
    'answered-below',
    spanIn(6, 0, undefined, { 'session.id': 's-7' }),
    spanIn(6, 1, 0, answered('Let me see.')),
    spanIn(6, 2, 0, answered('Twelve.')),
    spanIn(6, 3, 0, { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.call.result': '12' }),
    spanIn(7, 0, undefined, { 'session.id': 's-8', 'output.value': 'of its own' }),
    spanIn(7, 1, 0, answered('Twelve.')),
    { ...spanIn(8, 0, undefined, { 'session.id': 's-9' }), status: { code: 2, message: 'broke' } },
    spanIn(8, 1, 0, answered('Let me see.')),
  )
  const threads = await threadsOf('acme/answered-below', { include_details: true })
  assert.deepEqual(
    new Map(threads.map(({ thread_id, output_preview }) => [thread_id, output_preview])),
    new Map([
      ['s-9', null],
      ['s-8', 'of its own'],
      ['s-7', 'Twelve.'],
    ]),
  )
})
