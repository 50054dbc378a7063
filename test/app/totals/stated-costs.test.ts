import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { agentAttributes } from '../../support/agents.ts'
import { openApp } from '../../support/app.ts'
import { completeOf, startOf } from '../../support/calls.ts'
import { exportOf, spanOf } from '../../support/otlp.ts'
import { pricesOf } from '../../support/prices.ts'

const { post } = await openApp({ after })

interface Given {
  id?: string
  trace_id?: string
  parent_id?: string | null
  thread_id?: string
  usage: object
  attributes?: object
}

async function stored(name: string, calls: readonly Given[]): Promise<string> {
  const project_id = `acme/${name}`
  const batch = calls.map(({ usage, ...fields }) => completeOf({ ...fields, project_id, summary: { usage } }))
  const { status, text } = await post(`/v2/${project_id}/calls/complete`, { batch })
  assert.equal(status, 200, text)
  return project_id
}

/** What each place says that all calls of a project cost. */
async function costsIn(project_id: string) {
  const range = { after: '2026-01-02T00:00:00Z', before: '2026-01-03T00:00:00Z', step_seconds: 86_400 }
  const charts = await post('/views/buckets', { project_id, ...range, costs: true })
  const [bucket] = charts.json.buckets as { cost: number | null; unpriced: number }[]
  const list = await post('/views/calls', { project_id, limit: 100 })
  const stats = await post('/calls/stats', {
    ...{ project_id, start: range.after, end: range.before },
    usage_metrics: [{ metric: 'total_cost' }],
  })
  const sum = (costs: readonly (number | null | undefined)[]) =>
    costs.reduce<number>((all, cost) => all + (cost ?? 0), 0)
  return {
    chart: bucket?.cost ?? null,
    unpriced: bucket?.unpriced ?? 0,
    list: sum(list.json.calls.map(({ cost }: { cost: number | null }) => cost)),
    stats: sum(stats.json.usage_buckets.map((row: Record<string, number>) => row.sum_total_cost)),
  }
}

test('a cost that is stated counts everywhere, unless the project has a price', async () => {
  const used = { input_tokens: 10, output_tokens: 5, total_cost: 0.25 }
  const project_id = await stored('stated', [{ usage: { small: used } }, { usage: { large: used } }])
  assert.deepEqual(await costsIn(project_id), { chart: 0.5, unpriced: 0, list: 0.5, stats: 0.5 })
  const price = { prompt_token_cost: 0.5, completion_token_cost: 1, effective_date: '2030-01-01T00:00:00Z' }
  const created = await post('/cost/create', pricesOf({ small: price }, project_id))
  assert.equal(created.status, 200, created.text)
  assert.deepEqual(await costsIn(project_id), { chart: 10.25, unpriced: 0, list: 10.25, stats: 10.25 })
})

for (const total_cost of [-0.1, '0.25', null, 1_000_001, true, { usd: 1 }]) {
  test(`a stated cost of ${JSON.stringify(total_cost)} is none`, async () => {
    const name = `none${JSON.stringify(total_cost).replace(/\W/g, '')}`
    const used = { input_tokens: 10, total_cost }
    const project_id = await stored(name, [
      { usage: { small: used } },
      { usage: { small: used, large: used } },
    ])
    assert.deepEqual(await costsIn(project_id), { chart: null, unpriced: 2, list: 0, stats: 0 })
  })
}

test('a stated cost without tokens is none, because costs count where tokens do', async () => {
  const project_id = await stored('tokenless', [{ usage: { small: { total_cost: 0.25 } } }])
  assert.deepEqual(await costsIn(project_id), { chart: null, unpriced: 0, list: 0, stats: 0 })
})

test('of several models, each has its own', async () => {
  const usage = {
    small: { input_tokens: 10, output_tokens: 1 },
    large: { prompt_tokens: 1, total_cost: 0.1234567894 },
    huge: { prompt_tokens: 1, total_cost: 7 },
    other: { total_cost: 3 },
  }
  const project_id = await stored('several', [{ usage }])
  const costs = pricesOf({ huge: { prompt_token_cost: 2, completion_token_cost: 0 } }, project_id)
  assert.equal((await post('/cost/create', costs)).status, 200)
  const read = await post('/calls/stream_query', { project_id, include_costs: true })
  const { large, huge, ...others } = JSON.parse(read.text).summary.weave.costs
  assert.deepEqual(
    [large.stated_total_cost, large.prompt_tokens_total_cost, huge.prompt_tokens_total_cost, others],
    [0.123456789, undefined, 2, {}],
  )
  assert.equal('stated_total_cost' in huge, false)
  const all = await costsIn(project_id)
  assert.equal(all.list, 2.123456789)
  const query = { $expr: { $gt: [{ $getField: 'cost' }, { $literal: 2.12345678 }] } }
  const above = await post('/calls/query_stats', { project_id, query })
  assert.equal(above.json.count, 1)
})

test('what a call states of those below it is not counted twice', async () => {
  const trace_id = randomUUID()
  const [root, child] = [randomUUID(), randomUUID()]
  const [below, sum] = [
    { input_tokens: 10, total_cost: 0.25 },
    { input_tokens: 20, total_cost: 0.5 },
  ]
  const thread_id = 'one'
  const project_id = await stored('agents', [
    { id: root, trace_id, thread_id, usage: { small: sum }, attributes: agentAttributes('weaver') },
    { id: child, trace_id, parent_id: root, usage: { small: below } },
    { trace_id, parent_id: root, usage: { small: below } },
  ])
  const usage = await post('/calls/usage', { project_id, call_ids: [root], include_costs: true })
  assert.equal(usage.json.call_usage[root].small.stated_total_cost, 0.5)
  assert.equal((await costsIn(project_id)).stats, 0.5)
  const threads = await post('/threads/stream_query', { project_id, include_details: true })
  assert.equal(JSON.parse(threads.text).cost, 0.5)
  const agents = await post('/agents/query', { project_id, include_costs: true })
  assert.equal(agents.json.agents[0].total_cost_usd, 0.5)
  const spans = await post('/agents/spans/query', { project_id, include_costs: true })
  assert.deepEqual(
    spans.json.spans.map(({ total_cost_usd }: { total_cost_usd: number }) => total_cost_usd).sort(),
    [0.25, 0.25, 0.5],
  )
  const { status } = await post('/calls/delete', { project_id, call_ids: [child] })
  assert.equal(status, 200)
  assert.equal((await costsIn(project_id)).stats, 0.25)
})

test('a cost counts when the end of its call arrives', async () => {
  const project_id = 'acme/late'
  const start = startOf({ project_id })
  assert.equal((await post('/call/start', { start })).status, 200)
  assert.equal((await costsIn(project_id)).list, 0)
  const usage = { small: { output_tokens: 5, total_cost: 0.125 } }
  const end = { project_id, id: start.id, ended_at: '2026-01-02T23:00:00Z', summary: { usage } }
  assert.equal((await post('/call/end', { end })).status, 200)
  assert.deepEqual(await costsIn(project_id), { chart: 0.125, unpriced: 0, list: 0.125, stats: 0.125 })
})

for (const [attributes, cost] of [
  [{ 'gen_ai.usage.cost': 0.25 }, 0.25],
  [{ 'gen_ai.usage.cost': '1e-3' }, 0.001],
  [{ 'llm.cost.total': 0.25, 'llm.cost.prompt': 0.125 }, 0.25],
  [{ 'langfuse.observation.cost_details': '{"input":0.125,"total":0.25}' }, 0.25],
  [{ 'mlflow.llm.cost': '{"input_cost":0.125,"output_cost":0.125,"total_cost":0.25}' }, 0.25],
  [{ 'gen_ai.usage.cost': -1, 'llm.cost.total': 0.5 }, 0.5],
  [{ 'gen_ai.usage.cost': 'much' }, undefined],
  [{ 'gen_ai.usage.cost': 2_000_000 }, undefined],
] as const) {
  test(`a span states its cost: ${JSON.stringify(attributes)}`, async (t) => {
    const { post } = await openApp(t)
    const own = { 'gen_ai.request.model': 'small', 'gen_ai.usage.input_tokens': 4, ...attributes }
    const sent = await post('/otel/v1/traces', exportOf([spanOf(own)]))
    assert.equal(sent.status, 200, sent.text)
    const read = await post('/calls/stream_query', { project_id: 'acme/qa', include_costs: true })
    assert.equal(JSON.parse(read.text).summary.weave.costs?.small?.stated_total_cost, cost)
  })
}
