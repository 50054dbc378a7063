import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { agentAttributes, at, storedCalls } from '../../support/agents.ts'
import { keys, openApp } from '../../support/app.ts'
import { completeOf, project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { exportOf, spanOf } from '../../support/otlp.ts'
import { pricesOf } from '../../support/prices.ts'

const { post } = await openApp({ after })

async function answerOf(url: string, body: object, key: string = keys.alice) {
  const { status, json, text } = await post(url, body, key)
  assert.equal(status, 200, text)
  return json
}

test('agents/query and agents/agent-versions/query: refuse invalid requests', async (t) => {
  await assertCommonRefusals(t, '/agents/query', { project_id: project })
  await assertCommonRefusals(t, '/agents/agent-versions/query', { project_id: project, agent_name: 'a' })
  for (const [url, body, status, code] of [
    ['/agents/query', { project_id: 'globex/qa' }, 403, 'entity_forbidden'],
    ['/agents/agent-versions/query', { project_id: 'globex/qa', agent_name: 'a' }, 403, 'entity_forbidden'],
    ['/agents/agent-versions/query', { agent_name: '' }, 422, 'invalid_request'],
    ['/agents/agent-versions/query', {}, 422, 'invalid_request'],
    ['/agents/query', { limit: 1_001 }, 422, 'invalid_request'],
    ['/agents/query', { sort_by: [{ field: 'price' }] }, 422, 'invalid_request'],
    ['/agents/query', { filters: { version: '1' } }, 422, 'invalid_request'],
    ['/agents/query', { filters: { agent_name: 'a\0' } }, 422, 'invalid_request'],
  ] as const) {
    const answer = await post(url, { project_id: project, ...body })
    assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text)
  }
})

test('an agent has the calls that name it and those below, and each token counts once', async () => {
  const [root, tool, other] = [randomUUID(), randomUUID(), randomUUID()]
  const below = (parent_id: string) => ({ trace_id: root, parent_id })
  const usage = (input: number, output: number) => ({
    summary: { usage: { loom: { prompt_tokens: input, completion_tokens: output } } },
  })
  const project_id = await storedCalls(post, 'sums', [
    {
      ...{ id: root, started_at: at(0), ended_at: at(4), attributes: agentAttributes('weaver', '2') },
      ...usage(30, 5),
    },
    { ...below(root), started_at: at(1), ended_at: at(2), ...usage(10, 2) },
    { ...below(root), id: tool, started_at: at(1), ended_at: at(3), exception: 'broke' },
    {
      ...{ ...below(tool), id: other, started_at: at(2), ended_at: at(3) },
      ...{ attributes: agentAttributes('dyer', '1'), ...usage(20, 3) },
    },
    { started_at: at(9), ended_at: at(10), attributes: agentAttributes('weaver', '3') },
    { started_at: at(20), ended_at: at(21) },
  ])
  const prices = pricesOf({ loom: { prompt_token_cost: 2, completion_token_cost: 1 } })
  assert.equal((await post('/cost/create', { project_id, costs: prices.costs })).status, 200)
  const { agents, total_count } = await answerOf('/agents/query', { project_id, include_costs: true })
  assert.equal(total_count, 2)
  assert.deepEqual(agents, [
    {
      ...{ agent_name: 'weaver', invocation_count: 2, span_count: 4, error_count: 1 },
      ...{ total_input_tokens: 10, total_output_tokens: 2, total_duration_ms: 5000, total_cost_usd: 22 },
      ...{ first_seen: at(0), last_seen: at(10) },
    },
    {
      ...{ agent_name: 'dyer', invocation_count: 1, span_count: 1, error_count: 0 },
      ...{ total_input_tokens: 20, total_output_tokens: 3, total_duration_ms: 1000, total_cost_usd: 43 },
      ...{ first_seen: at(2), last_seen: at(3) },
    },
  ])
  const { versions } = await answerOf('/agents/agent-versions/query', {
    project_id,
    agent_name: 'weaver',
    sort_by: [{ field: 'agent_version', direction: 'asc' }],
  })
  assert.deepEqual(
    versions.map((row: Record<string, unknown>) => [row.agent_version, row.span_count, row.total_cost_usd]),
    [
      ['2', 3, undefined],
      ['3', 1, undefined],
    ],
  )
  const named = await answerOf('/agents/query', { project_id, filters: { agent_name: 'dyer' } })
  assert.equal(named.agents.length, 1)
  const beyond = await answerOf('/agents/query', { project_id, offset: 5 })
  assert.deepEqual([beyond.agents, beyond.total_count], [[], 2])
})

test('an agent whose clock went back while it ran is listed', async () => {
  const project_id = await storedCalls(post, 'clock', [
    { started_at: at(2), ended_at: at(1), attributes: agentAttributes('weaver', '1') },
  ])
  const body = { project_id, include_details: true }
  const { agents } = await answerOf('/agents/query', body)
  const { versions } = await answerOf('/agents/agent-versions/query', { ...body, agent_name: 'weaver' })
  for (const [row] of [agents, versions])
    assert.deepEqual([row.total_duration_ms, row.p50_duration_ms], [-1000, -1000])
})

test('agents are known by each convention', async () => {
  const spans = [
    { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'otel', 'gen_ai.agent.version': '7' },
    { 'openinference.span.kind': 'AGENT' },
    { 'openinference.span.kind': 'LLM', 'agent.name': 'openinference' },
    { 'traceloop.span.kind': 'agent', 'traceloop.entity.name': 'traceloop' },
    { 'langfuse.observation.type': 'agent' },
    { 'gen_ai.operation.name': 'chat', agent_name: 'pydantic' },
    { 'gen_ai.operation.name': 'invoke_workflow' },
    { 'http.route': '/' },
  ].map((attributes, n) => {
    const id = (length: number) => String(n + 1).padStart(length, '0')
    return spanOf(attributes, { traceId: id(32), spanId: id(16), name: n === 1 ? 'oi root' : `span ${n}` })
  })
  const coding = spanOf(
    { 'gen_ai.operation.name': 'invoke_agent' },
    { traceId: 'c'.repeat(32), spanId: 'c'.repeat(16), name: 'claude_code.interaction' },
  )
  const body = exportOf([...spans, coding], { 'wandb.entity': 'acme', 'wandb.project': 'conventions' })
  assert.equal((await post('/otel/v1/traces', body)).status, 200)
  const { agents } = await answerOf('/agents/query', {
    project_id: 'acme/conventions',
    sort_by: [{ field: 'agent_name', direction: 'asc' }],
  })
  assert.deepEqual(
    agents.map((row: Record<string, unknown>) => [row.agent_name, row.invocation_count]),
    [
      ['claude-code', 1],
      ['oi root', 1],
      ['openinference', 0],
      ['otel', 1],
      ['pydantic', 0],
      ['span 4', 1],
      ['traceloop', 1],
    ],
  )
})

test('Weave calls of the kind agent are agents by the names of their ops', async () => {
  const project_id = await storedCalls(post, 'weave', [
    { op_name: 'weave:///acme/weave/op/plan:abc', attributes: { weave: { kind: 'agent' } } },
  ])
  const { agents } = await answerOf('/agents/query', { project_id })
  assert.deepEqual([agents[0].agent_name, agents[0].invocation_count], ['plan', 1])
})

test('deleted calls and those of other tenants are of no agent', async () => {
  const id = randomUUID()
  const project_id = await storedCalls(post, 'gone', [{ id, attributes: agentAttributes('weaver') }])
  const other = await post('/agents/query', { project_id }, keys.bob)
  assert.equal(other.status, 403)
  assert.equal((await post('/calls/delete', { project_id, call_ids: [id] })).status, 200)
  assert.deepEqual(await answerOf('/agents/query', { project_id }), { agents: [], total_count: 0 })
})

test('calls are queried by agent', async () => {
  const project_id = await storedCalls(post, 'queried', [
    { attributes: agentAttributes('weaver') },
    completeOf(),
  ])
  const asked = { $eq: [{ $getField: 'agent' }, { $literal: 'weaver' }] }
  const { json } = await post('/calls/query_stats', { project_id, query: { $expr: asked } })
  assert.equal(json.count, 1)
})

test('a range leaves out calls that began at another time, and details have percentiles of durations', async () => {
  const took = (second: number, seconds: number) => ({
    ...{ started_at: at(second), ended_at: at(second + seconds) },
    attributes: agentAttributes('weaver', '1'),
  })
  const root = { ...took(10, 9), id: randomUUID() }
  const project_id = await storedCalls(post, 'range', [
    took(0, 30),
    root,
    // Below a call of the same agent, so no duration of its own.
    { ...took(11, 1), trace_id: root.id, parent_id: root.id },
    took(12, 1),
    took(40, 5),
  ])
  const body = { project_id, include_details: true }
  const figures = ({ agents: [row] }: Awaited<ReturnType<typeof answerOf>>) =>
    row && [row.span_count, row.p50_duration_ms, Math.round(row.p95_duration_ms), row.first_seen]
  const all = await answerOf('/agents/query', body)
  assert.deepEqual(figures(all), [5, 7000, 26_850, at(0)])
  const within = { ...body, started_after: at(10), started_before: at(40) }
  const some = await answerOf('/agents/query', within)
  assert.deepEqual(figures(some), [3, 5000, 8600, at(10)])
  const { versions } = await answerOf('/agents/agent-versions/query', { ...within, agent_name: 'weaver' })
  assert.deepEqual(figures({ agents: versions }), figures(some))
  assert.deepEqual(await answerOf('/agents/query', { project_id, started_after: at(41) }), {
    ...{ agents: [], total_count: 0 },
  })
  const plain = await answerOf('/agents/query', { project_id })
  assert.equal('p50_duration_ms' in plain.agents[0], false)
})

test('the duration of an agent is that of its outermost calls, however far below another runs', async () => {
  const [root, chain, inner] = [randomUUID(), randomUUID(), randomUUID()]
  const weaver = { attributes: agentAttributes('weaver', '2') }
  const project_id = await storedCalls(post, 'nested', [
    { id: root, started_at: at(0), ended_at: at(9), ...weaver },
    { id: chain, trace_id: root, parent_id: root, started_at: at(1), ended_at: at(8) },
    {
      ...{ id: inner, trace_id: root, parent_id: chain, started_at: at(2), ended_at: at(7) },
      attributes: agentAttributes('dyer', '1'),
    },
    { trace_id: root, parent_id: inner, started_at: at(3), ended_at: at(6), ...weaver },
  ])
  const { agents } = await answerOf('/agents/query', { project_id, include_details: true })
  const took = agents.map((agent: Record<string, unknown>) => [
    agent.agent_name,
    agent.total_duration_ms,
    agent.p50_duration_ms,
  ])
  assert.deepEqual(took.sort(), [
    ['dyer', 5000, 5000],
    ['weaver', 9000, 9000],
  ])
})
