import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { completeOf, project, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { pricesOf } from '../../support/prices.ts'

const after = '2026-01-02T00:00:00Z'
const before = '2026-01-02T06:00:00Z'
const range = { project_id: project, after, before, step_seconds: 3600 }

const call = (hour: number, ms: number, model: string, fields: object = {}) => {
  const started_at = `2026-01-02T0${hour}:30:00Z`
  return completeOf({
    started_at,
    ended_at: new Date(Date.parse(started_at) + ms).toISOString(),
    op_name: `weave:///${project}/op/answer:v${ms}`,
    summary: { usage: { [model]: { prompt_tokens: 10, completion_tokens: 5 } } },
    ...fields,
  })
}

async function stored(t: { after(close: () => Promise<void>): void }) {
  const { post } = await openApp(t)
  const batch = [
    call(1, 100, 'small'),
    call(1, 100, 'small'),
    call(1, 1000, 'large', { exception: 'boom' }),
    call(3, 10, 'small', { summary: { heddle: { first_token_ms: 4 } } }),
    call(7, 10, 'small'),
  ]
  assert.equal((await post('/v2/acme/qa/calls/complete', { batch })).status, 200)
  await post('/call/start', { start: startOf({ started_at: '2026-01-02T03:00:00Z', op_name: 'wait' }) })
  return post
}

test('views/buckets and views/facets: refuse invalid requests', async (t) => {
  await assertCommonRefusals(t, '/views/buckets', range)
  await assertCommonRefusals(t, '/views/facets', { project_id: project })
  const { post } = await openApp(t)
  for (const [url, body, status, code] of [
    ['/views/buckets', { step_seconds: 1 }, 400, 'invalid_value'],
    ['/views/buckets', { before: '2026-01-01T00:00:00Z' }, 400, 'invalid_value'],
    ['/views/buckets', { by: 'mood' }, 422, 'invalid_request'],
    ['/views/buckets', { project_id: 'globex/qa' }, 403, 'entity_forbidden'],
    ['/views/facets', { fields: [] }, 422, 'invalid_request'],
    ['/views/facets', { project_id: 'globex/qa' }, 403, 'entity_forbidden'],
  ] as const) {
    const given = url === '/views/buckets' ? { ...range, ...body } : { project_id: project, ...body }
    const answer = await post(url, given)
    assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text)
  }
})

test('calls are counted and timed in the bucket of their start', async (t) => {
  const post = await stored(t)
  const { json } = await post('/views/buckets', { ...range, timed: 'latency' })
  assert.deepEqual(json.groups, [{ value: null, is_others: false }])
  const [first, second, ...others] = json.buckets
  assert.deepEqual(others, [])
  const { times, ...sums } = first
  assert.deepEqual(sums, {
    ...{ started_at: '2026-01-02T01:00:00Z', group: 0, count: 3, errors: 1, ended: 3 },
    ...{ input_tokens: 30, output_tokens: 15 },
  })
  assert.deepEqual([times.count, times.mean_ms], [3, 400])
  assert.ok(Math.abs(times.p50_ms - 100) < 9 && Math.abs(times.p95_ms - 1000) < 90, JSON.stringify(times))
  assert.deepEqual(
    times.histogram.map(([, count]: [number, number]) => count),
    [2, 1],
  )
  assert.deepEqual([second.started_at, second.count, second.ended], ['2026-01-02T03:00:00Z', 2, 1])
  const firstToken = (await post('/views/buckets', { ...range, timed: 'first_token' })).json.buckets
  assert.deepEqual(
    firstToken.map(({ times }: { times: { mean_ms: number } | null }) => times?.mean_ms),
    [undefined, 4],
  )
})

test('buckets can be grouped and filtered', async (t) => {
  const post = await stored(t)
  const { json } = await post('/views/buckets', { ...range, by: 'model' })
  assert.deepEqual(json.groups, [
    { value: 'small', is_others: false },
    { value: null, is_others: false },
    { value: 'large', is_others: false },
    { value: null, is_others: true },
  ])
  assert.deepEqual(
    json.buckets.map(({ group, count }: { group: number; count: number }) => [group, count]),
    [
      [0, 2],
      [2, 1],
      [1, 2],
    ],
  )
  const failed = {
    query: { $expr: { $eq: [{ $getField: 'summary.weave.status' }, { $literal: 'error' }] } },
  }
  assert.deepEqual(
    (await post('/views/buckets', { ...range, ...failed })).json.buckets.map(
      (one: { count: number }) => one.count,
    ),
    [1],
  )
})

test('facets count values, and a filter can select all versions of an op', async (t) => {
  const post = await stored(t)
  const { json } = await post('/views/facets', { project_id: project })
  const op = `weave:///${project}/op/answer:*`
  assert.deepEqual(json.facets, [
    {
      field: 'op',
      values: [
        { value: op, count: 5 },
        { value: 'wait', count: 1 },
      ],
      others: 0,
      sampled: null,
    },
    {
      field: 'model',
      values: [
        { value: 'small', count: 3 },
        { value: null, count: 2 },
        { value: 'large', count: 1 },
      ],
      others: 0,
      sampled: null,
    },
    {
      field: 'status',
      values: [
        { value: 'success', count: 4 },
        { value: 'error', count: 1 },
        { value: 'running', count: 1 },
      ],
      others: 0,
      sampled: null,
    },
    { field: 'user', values: [{ value: 'alice', count: 6 }], others: 0, sampled: null },
  ])
  const filtered = await post('/views/facets', {
    project_id: project,
    filter: { op_names: [op] },
    fields: ['status'],
  })
  assert.deepEqual(
    filtered.json.facets[0].values.map(({ count }: { count: number }) => count),
    [4, 1],
  )
})

test('values beyond the bound of a facet or of the groups are counted together', async (t) => {
  const { post } = await openApp(t)
  const batch = Array.from({ length: 60 }, (_, n) => call(1, 10, `model ${n}`))
  await post('/v2/acme/qa/calls/complete', { batch })
  const [facet] = (await post('/views/facets', { project_id: project, fields: ['model'] })).json.facets
  assert.deepEqual([facet.values.length, facet.others], [50, 10])
  const { json } = await post('/views/buckets', { ...range, by: 'model' })
  assert.deepEqual(json.groups.length, 21)
  assert.deepEqual(json.buckets.at(-1).group, 20)
  assert.deepEqual(json.buckets.at(-1).count, 40)
})

test('groups are those that had most calls, errors or costs in the range', async (t) => {
  const { post } = await openApp(t)
  await post('/cost/create', pricesOf({ dear: { prompt_token_cost: 100, completion_token_cost: 100 } }))
  const op = (name: string, n: number, fields: object = {}) =>
    Array.from({ length: n }, () => call(1, 10, 'free', { op_name: name, ...fields }))
  const batch = [
    ...Array.from({ length: 30 }, (_, n) => op(`common ${n}`, 3)).flat(),
    ...op('rare', 1, { summary: { usage: { dear: { prompt_tokens: 1, completion_tokens: 1 } } } }),
    ...op('failing', 1, { exception: 'Error: no' }),
    ...op('earlier', 9, { started_at: '2025-01-01T00:00:00Z', ended_at: '2025-01-01T00:00:01Z' }),
  ]
  assert.equal((await post('/v2/acme/qa/calls/complete', { batch })).status, 200)
  const { json } = await post('/views/buckets', { ...range, by: 'op', costs: true })
  const values = json.groups.map(({ value }: { value: string }) => value)
  assert.ok(values.includes('rare') && values.includes('failing'), values.join(', '))
  assert.ok(!values.includes('earlier'))
})

test('costs use the prices at the start of each call, and calls without a price are counted', async (t) => {
  const { post } = await openApp(t)
  const prices = async (fields: object): Promise<string> => {
    const given = { small: { prompt_token_cost: 1, completion_token_cost: 2, ...fields } }
    return (await post('/cost/create', pricesOf(given))).json.ids[0][0]
  }
  const ids = [
    await prices({ effective_date: '2026-01-01T00:00:00Z' }),
    await prices({ prompt_token_cost: 10, effective_date: '2026-01-02T03:00:00Z' }),
  ]
  const used = (models: object) => ({ summary: { usage: models } })
  const tokens = { prompt_tokens: 10, completion_tokens: 5 }
  const batch = [
    call(1, 100, 'small'),
    call(1, 100, 'small', used({ small: { ...tokens, cache_read_input_tokens: 4 } })),
    call(1, 100, 'unknown'),
    call(1, 100, 'small', used({})),
    call(1, 100, 'small', used({ small: tokens, unknown: tokens })),
    call(3, 100, 'small'),
  ]
  assert.equal((await post('/v2/acme/qa/calls/complete', { batch })).status, 200)
  type Told = { group: number; cost: number | null; unpriced: number; count: number }
  const { json } = await post('/views/buckets', { ...range, costs: true })
  assert.deepEqual(
    json.buckets.map(({ cost, unpriced, count }: Told) => [count, cost, unpriced]),
    [
      [5, 36, 2],
      [1, 110, 0],
    ],
  )
  const grouped = (await post('/views/buckets', { ...range, costs: true, by: 'op' })).json
  const sum = grouped.buckets.reduce((all: number, { cost }: Told) => all + (cost ?? 0), 0)
  assert.equal(sum, 146)
  // Costs are absent unless requested. Without prices, every call that used tokens counts as unpriced.
  const [plain] = (await post('/views/buckets', range)).json.buckets
  assert.ok(!('cost' in plain) && !('unpriced' in plain), JSON.stringify(plain))
  await post('/cost/purge', {
    project_id: project,
    query: { $expr: { $in: [{ $getField: 'id' }, ids.map((id) => ({ $literal: id }))] } },
  })
  const without = (await post('/views/buckets', { ...range, costs: true })).json.buckets
  assert.deepEqual(
    without.map(({ cost, unpriced }: Told) => [cost, unpriced]),
    [
      [null, 4],
      [null, 1],
    ],
  )
})
