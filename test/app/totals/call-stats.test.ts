import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { keys, openApp } from '../../support/app.ts'
import { completeOf, project, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { pricesOf } from '../../support/prices.ts'

const url = '/calls/stats'
const { post } = await openApp({ after })
const range = { start: '2026-01-02T00:00:00Z', end: '2026-01-02T06:00:00Z', granularity: 3600 }

function call(hour: number, ms: number, usage: object, fields: object = {}) {
  const started_at = `2026-01-02T0${hour}:30:00Z`
  const ended_at = new Date(Date.parse(started_at) + ms).toISOString()
  return completeOf({ started_at, ended_at, summary: { usage }, ...fields })
}

const tokens = (input: number, output: number, more: object = {}) => ({
  prompt_tokens: input,
  completion_tokens: output,
  ...more,
})

async function stored(name: string, batch: object[]): Promise<string> {
  const project_id = `acme/${name}`
  const own = batch.map((one) => ({ ...one, project_id }))
  const { status, text } = await post(`/v2/${project_id}/calls/complete`, { batch: own })
  assert.equal(status, 200, text)
  return project_id
}

async function statsOf(project_id: string, body: object, key: string = keys.alice) {
  const { status, json, text } = await post(url, { project_id, ...range, ...body }, key)
  assert.equal(status, 200, text)
  return json
}

const everything = ['sum', 'avg', 'min', 'max', 'count', 'count_true', 'count_false']

test('calls/stats: refuses invalid requests', async (t) => {
  await assertCommonRefusals(t, url, { project_id: project, ...range })
  for (const [body, status, code] of [
    [{ project_id: 'globex/qa' }, 403, 'entity_forbidden'],
    [{ start: undefined }, 422, 'invalid_request'],
    [{ end: range.start }, 422, 'invalid_request'],
    [{ end: '2026-02-03T00:00:00Z' }, 422, 'invalid_request'],
    [{ end: null }, 422, 'invalid_request'],
    [{ granularity: 0 }, 422, 'invalid_request'],
    [{ granularity: 1.5 }, 422, 'invalid_request'],
    [{ timezone: 'Mars/Olympus' }, 422, 'invalid_request'],
    [{ timezone: "UTC'; DROP TABLE calls" }, 422, 'invalid_request'],
    [{ usage_metrics: [{ metric: 'latency_ms' }] }, 422, 'invalid_request'],
    [{ call_metrics: [{ metric: 'total_cost' }] }, 422, 'invalid_request'],
    [{ call_metrics: [{ metric: 'latency_ms', percentiles: [101] }] }, 422, 'invalid_request'],
    [{ call_metrics: [{ metric: 'latency_ms', aggregations: ['median'] }] }, 422, 'invalid_request'],
    [
      { filter: { call_ids: Array(1001).fill('x') }, call_metrics: [{ metric: 'call_count' }] },
      400,
      'invalid_value',
    ],
    [{ filter: { op: 'x' }, call_metrics: [] }, 422, 'invalid_request'],
  ] as const) {
    const answer = await post(url, { project_id: project, ...range, ...body })
    assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text)
  }
})

test('times, counts and errors have every aggregation and percentile', async () => {
  const project_id = await stored('times', [
    call(1, 100, {}),
    call(1, 300, {}, { exception: 'boom' }),
    call(3, 50, {}),
    call(7, 50, {}),
  ])
  const start = startOf({ project_id, started_at: '2026-01-02T03:00:00Z' })
  assert.equal((await post('/call/start', { start })).status, 200)
  const call_metrics = [
    { metric: 'latency_ms', aggregations: everything, percentiles: [0, 50, 99.5] },
    { metric: 'call_count' },
    { metric: 'error_count', aggregations: ['sum', 'count_true', 'count_false'] },
  ]
  const json = await statsOf(project_id, { call_metrics })
  assert.deepEqual(
    [json.start, json.end, json.granularity, json.timezone],
    [range.start, range.end, 3600, 'UTC'],
  )
  assert.deepEqual(json.usage_buckets, [])
  assert.deepEqual(json.call_buckets, [
    {
      timestamp: '2026-01-02T01:00:00Z',
      ...{ sum_latency_ms: 400, avg_latency_ms: 200, min_latency_ms: 100, max_latency_ms: 300 },
      ...{ count_latency_ms: 2, count_true_latency_ms: 2, count_false_latency_ms: 0 },
      ...{ p0_latency_ms: 100, p50_latency_ms: 200, 'p99.5_latency_ms': 299 },
      ...{ sum_call_count: 2, sum_error_count: 1, count_true_error_count: 1, count_false_error_count: 1 },
    },
    {
      timestamp: '2026-01-02T03:00:00Z',
      ...{ sum_latency_ms: 50, avg_latency_ms: 50, min_latency_ms: 50, max_latency_ms: 50 },
      ...{ count_latency_ms: 1, count_true_latency_ms: 1, count_false_latency_ms: 0 },
      ...{ p0_latency_ms: 50, p50_latency_ms: 50, 'p99.5_latency_ms': 50 },
      ...{ sum_call_count: 2, sum_error_count: 0, count_true_error_count: 0, count_false_error_count: 2 },
    },
  ])
})

test('tokens are added up by model, and costs have the price at the start of each call', async () => {
  const cached = { cache_read_input_tokens: 4, cache_creation_input_tokens: 2 }
  const project_id = await stored('costs', [
    call(1, 10, { small: tokens(10, 5) }),
    call(1, 10, { small: tokens(10, 5, cached) }),
    call(1, 10, { unknown: tokens(7, 1) }),
    call(3, 10, { small: { input_tokens: 10, output_tokens: 1 } }),
    call(4, 10, { a: tokens(1, 1), b: tokens(2, 2) }),
  ])
  for (const fields of [
    { prompt_token_cost: 1, completion_token_cost: 2, effective_date: '2026-01-01T00:00:00Z' },
    { prompt_token_cost: 10, completion_token_cost: 20, effective_date: '2026-01-02T03:00:00Z' },
  ]) {
    const small = { ...fields, cache_read_input_token_cost: 0.5, cache_creation_input_token_cost: 3 }
    assert.equal((await post('/cost/create', pricesOf({ small }, project_id))).status, 200)
  }
  const names = ['input_tokens', 'output_tokens', 'total_tokens', 'cache_read_input_tokens', 'total_cost']
  const { usage_buckets } = await statsOf(project_id, {
    usage_metrics: names.map((metric) => ({ metric })),
  })
  const rows = usage_buckets.map((row: Record<string, unknown>) => [
    ...[String(row.timestamp).slice(11, 13), row.model],
    ...names.map((name) => row[`sum_${name}`]),
  ])
  assert.deepEqual(rows, [
    ['01', 'small', 20, 10, 30, 4, 20 + (4 + 4 * 0.5 + 2 * 3 + 10)],
    ['01', 'unknown', 7, 1, 8, null, null],
    ['03', 'small', 10, 1, 11, null, 120],
    ['04', 'a, b', 3, 3, 6, null, null],
  ])
  const [{ max_input_cost, p50_output_cost }] = (
    await statsOf(project_id, {
      usage_metrics: [
        { metric: 'input_cost', aggregations: ['max'] },
        { metric: 'output_cost', percentiles: [50] },
      ],
    })
  ).usage_buckets
  assert.deepEqual([max_input_cost, p50_output_cost], [12, 10])
})

test('what agents and wrappers repeat of the calls below them counts once', async () => {
  const usage_metrics = [{ metric: 'total_tokens' }]
  const totalOf = async (name: string, batch: object[], filter: object = {}) => {
    const { usage_buckets } = await statsOf(await stored(name, batch), { usage_metrics, filter })
    return usage_buckets.reduce(
      (sum: number, row: Record<string, number>) => sum + (row.sum_total_tokens ?? 0),
      0,
    )
  }
  const [root, middle] = [randomUUID(), randomUUID()]
  const small = (count: number) => ({ small: tokens(count, 0) })
  const chat = { attributes: { gen_ai: { operation: { name: 'chat' } } } }
  const trace = { trace_id: root }
  const agent = call(1, 10, small(30), { id: root, op_name: 'agent' })
  const chain = call(1, 10, {}, { id: middle, ...trace, parent_id: root })
  const leaves = [10, 20].map((count) =>
    call(2, 10, small(count), { ...trace, parent_id: middle, op_name: 'ask' }),
  )
  assert.equal(await totalOf('agent', [agent, chain, ...leaves]), 30)
  assert.equal(await totalOf('selected', [agent, chain, ...leaves], { op_names: ['agent'] }), 30)
  // A model that calls an agent as a tool used tokens besides it; one that repeats its child did not.
  const asking = call(1, 10, small(5), { id: root, ...chat })
  assert.equal(await totalOf('tool', [asking, chain, ...leaves]), 35)
  const repeated = call(1, 10, small(5), { ...trace, parent_id: root, ...chat })
  assert.equal(await totalOf('wrapper', [asking, repeated]), 5)
  const itself = call(1, 10, small(5), { id: root, parent_id: root })
  assert.equal(await totalOf('itself', [itself]), 5)
})

test('a call whose repetition is deleted or not selected counts itself', async () => {
  const [asking, wrapper] = [randomUUID(), randomUUID()]
  const chat = { attributes: { gen_ai: { operation: { name: 'chat' } } }, trace_id: asking }
  const small = (count: number) => ({ small: tokens(count, 0) })
  const project_id = await stored('repetition', [
    call(1, 10, small(5), { id: asking, op_name: 'ask', ...chat }),
    call(1, 10, small(5), { id: wrapper, op_name: 'wrapper', ...chat, parent_id: asking }),
    call(1, 10, small(3), { op_name: 'ask', ...chat, parent_id: asking }),
  ])
  const total = async (filter: object) => {
    const body = { usage_metrics: [{ metric: 'total_tokens' }], filter }
    return (await statsOf(project_id, body)).usage_buckets[0].sum_total_tokens
  }
  assert.deepEqual([await total({}), await total({ op_names: ['ask'] })], [8, 8])
  assert.equal((await post('/calls/delete', { project_id, call_ids: [wrapper] })).status, 200)
  const { call_usage } = (await post('/calls/usage', { project_id, call_ids: [asking] })).json
  assert.deepEqual([await total({}), call_usage[asking].small.total_tokens], [8, 8])
})

test('buckets follow the range, and days begin at midnight of the time zone', async () => {
  const project_id = await stored('zones', [
    completeOf({ started_at: '2026-03-28T22:59:00Z' }),
    completeOf({ started_at: '2026-03-28T23:01:00Z' }),
    completeOf({ started_at: '2026-03-29T21:59:00Z' }),
    completeOf({ started_at: '2026-03-29T22:01:00Z' }),
    completeOf({ started_at: '2026-09-06T03:59:00Z' }),
    completeOf({ started_at: '2026-09-06T04:01:00Z' }),
    completeOf({ started_at: '2021-10-28T20:59:00Z' }),
    completeOf({ started_at: '2021-10-28T21:01:00Z' }),
  ])
  const call_metrics = [{ metric: 'call_count' }]
  const days = { start: '2026-03-28T00:00:00Z', end: '2026-03-31T00:00:00Z', granularity: 86_400 }
  const berlin = await statsOf(project_id, { ...days, timezone: 'Europe/Berlin', call_metrics })
  assert.deepEqual(
    berlin.call_buckets.map((bucket: Record<string, unknown>) => [bucket.timestamp, bucket.sum_call_count]),
    [
      ['2026-03-27T23:00:00Z', 1],
      ['2026-03-28T23:00:00Z', 2],
      ['2026-03-29T22:00:00Z', 1],
    ],
  )
  // Clocks go from midnight to one, or from one back to midnight: the day begins when they show it first.
  for (const [timezone, start, end, first, second] of [
    ['America/Santiago', '2026-09-05T12:00Z', '2026-09-07T12:00Z', '2026-09-05T04', '2026-09-06T04'],
    ['Asia/Amman', '2021-10-28T12:00Z', '2021-10-30T12:00Z', '2021-10-27T21', '2021-10-28T21'],
  ]) {
    const { call_buckets } = await statsOf(project_id, { ...days, start, end, timezone, call_metrics })
    assert.deepEqual(
      call_buckets.map((bucket: Record<string, unknown>) => [bucket.timestamp, bucket.sum_call_count]),
      [first, second].map((hour) => [`${hour}:00:00Z`, 1]),
    )
  }
  for (const [hours, granularity] of [
    [2, 300],
    [12, 3_600],
    [72, 21_600],
    [14 * 24, 43_200],
    [31 * 24, 86_400],
  ] as const) {
    const end = new Date(Date.parse(range.start) + hours * 3_600_000).toISOString()
    assert.equal((await statsOf(project_id, { end, granularity: null })).granularity, granularity)
  }
  const finest = await statsOf(project_id, { end: '2026-02-01T00:00:00Z', granularity: 1, call_metrics })
  assert.equal(finest.granularity, 260)
})

test('nothing of other tenants is counted', async () => {
  const theirs = { ...call(1, 10, { small: tokens(99, 1) }), project_id: 'globex/qa' }
  assert.equal((await post('/v2/globex/qa/calls/complete', { batch: [theirs] }, keys.bob)).status, 200)
  const own = await stored('tenant', [call(1, 10, { small: tokens(1, 1) }, { parent_id: theirs.id })])
  const body = { usage_metrics: [{ metric: 'total_tokens' }], filter: { call_ids: [theirs.id] } }
  assert.deepEqual((await statsOf(own, body)).usage_buckets, [])
  const [bucket] = (await statsOf(own, { ...body, filter: null })).usage_buckets
  assert.equal(bucket.sum_total_tokens, 2)
  assert.equal((await post(url, { project_id: 'globex/qa', ...range, ...body })).status, 403)
})
