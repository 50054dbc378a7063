import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { agentAttributes, at, storedCalls } from '../../support/agents.ts'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { exportOf, otlpSpanId, spanOf } from '../../support/otlp.ts'

const url = '/agents/spans/query'
const { post } = await openApp({ after })

async function answerOf(body: object, key: string = keys.alice) {
  const { status, json, text } = await post(url, body, key)
  assert.equal(status, 200, text)
  return json
}

const equals = (field: string, value: unknown) => ({
  query: { $expr: { $eq: [{ $getField: field }, { $literal: value }] } },
})

test('agents/spans/query: refuses invalid requests, and what it cannot honour by its name', async (t) => {
  await assertCommonRefusals(t, url, { project_id: project })
  const group_by = [{ source: 'field', key: 'agent_name' }]
  const count = (alias: string) => ({ alias, aggregation: 'count' })
  const team = { source: 'custom_attrs_string', key: 'team' }
  for (const [body, status, code, field] of [
    [{ project_id: 'globex/qa' }, 403, 'entity_forbidden', 'project_id'],
    [
      { measures: [{ alias: 'x', aggregation: 'sum' }], group_by },
      422,
      'invalid_request',
      'measures.0.value',
    ],
    [{ measures: [count('x'), count('x')], group_by }, 400, 'invalid_value', 'measures.1.alias'],
    [{ measures: [count('metrics')], group_by }, 400, 'invalid_value', 'measures.0.alias'],
    [{ measures: [count('x')] }, 422, 'invalid_request', 'measures'],
    [{ group_filters: [{ measure: count('x') }], group_by }, 422, 'invalid_request', 'group_filters.0.min'],
    [
      { group_filters: [{ measure: count('x'), min: 1, group_by: [{ key: 'trace_id' }] }], group_by },
      ...[400, 'invalid_value', 'group_filters.0.group_by'],
    ],
    [{ group_distributions: [{}], group_by }, 422, 'invalid_request', 'group_distributions'],
    [{ insight_filters: [{}], group_by }, 422, 'invalid_request', 'insight_filters'],
    [{ signal_filters: { tags: ['late'] } }, 422, 'invalid_request', 'signal_filters'],
    [{ custom_attr_columns: [{ source: 'field', key: 'a' }] }, 422, 'invalid_request', 'custom_attr_columns'],
    [{ custom_attr_columns: [team], group_by }, 422, 'invalid_request', 'custom_attr_columns'],
    [{ include_details: true, limit: 201 }, 422, 'invalid_request', 'limit'],
    [{ include_details: true, group_by }, 422, 'invalid_request', 'include_details'],
    [{ limit: 10_001 }, 422, 'invalid_request', 'limit'],
    [{ group_by: [{ source: 'cluster', key: 'a' }] }, 422, 'invalid_request', 'group_by.0.source'],
    [{ group_by: [{ ...group_by[0], alias: 'span_count' }] }, 400, 'invalid_value', 'group_by.0.alias'],
    [{ group_by: [group_by[0], group_by[0]] }, 400, 'invalid_value', 'group_by.1.alias'],
    [{ group_by, sort_by: [{ field: 'price' }] }, 422, 'unknown_field', 'sort_by.0.field'],
    [{ query: { $expr: {} } }, 422, 'invalid_expression', 'query'],
  ] as const) {
    const answer = await post(url, { project_id: project, ...body })
    assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text)
    assert.ok(answer.text.includes(String(field)), answer.text)
  }
})

test('a span has its times, names, tokens and status', async () => {
  const [root, below] = [randomUUID(), randomUUID()]
  const project_id = await storedCalls(post, 'span', [
    {
      id: root,
      started_at: at(0),
      ended_at: at(2),
      thread_id: 't',
      attributes: agentAttributes('weaver', '2'),
    },
    {
      ...{
        id: below,
        trace_id: root,
        parent_id: root,
        started_at: at(1),
        ended_at: at(2),
        exception: 'broke',
      },
      ...{ op_name: 'ask', summary: { usage: { loom: { prompt_tokens: 5, completion_tokens: 1 } } } },
    },
  ])
  const { spans, groups, total_count } = await answerOf({ project_id })
  assert.deepEqual([groups, total_count], [[], 2])
  assert.deepEqual(spans[0], {
    ...{ span_id: below, trace_id: root, parent_span_id: root, span_name: 'ask' },
    ...{
      status_code: 'ERROR',
      status_message: 'broke',
      started_at: at(1),
      ended_at: at(2),
      duration_ms: 1000,
    },
    ...{ operation_name: null, agent_name: null, agent_version: null, conversation_id: 't' },
    ...{
      request_model: 'loom',
      response_model: 'loom',
      wb_user_id: 'alice',
      input_tokens: 5,
      output_tokens: 1,
    },
    ...{ cache_read_input_tokens: null, cache_creation_input_tokens: null, total_cost_usd: null },
    ...{ input_cost_usd: null, output_cost_usd: null },
  })
  const { span_id, agent_name, agent_version, operation_name, conversation_id } = spans[1]
  assert.deepEqual(
    [span_id, agent_name, agent_version, operation_name, conversation_id],
    [root, 'weaver', '2', 'invoke_agent', 't'],
  )
  const found = async (body: object) =>
    (await answerOf({ project_id, ...body })).spans.map((span: { span_id: string }) => span.span_id)
  assert.deepEqual(await found({ started_after: at(1) }), [below])
  assert.deepEqual(await found({ started_before: at(1) }), [root])
  for (const name of ['agent_name', 'gen_ai.agent.name', 'weave.agent_name']) {
    assert.deepEqual(await found(equals(name, 'weaver')), [root], name)
  }
  assert.deepEqual(await found(equals('gen_ai.usage.input_tokens', 5)), [below])
  assert.deepEqual(await found(equals('status_code', 'ERROR')), [below])
  assert.deepEqual(await found({ sort_by: [{ field: 'duration_ms' }] }), [root, below])
  assert.deepEqual(await found({ limit: 1, offset: 1 }), [root])
})

test('details are messages, the run of a tool, attributes and the span', async () => {
  const messages = [{ role: 'user', parts: [{ type: 'text', content: 'Warp count?' }] }]
  const answered = [{ role: 'assistant', parts: [{ type: 'text', content: 'Twelve.' }] }]
  const asked = spanOf({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'loomco',
    'gen_ai.input.messages': JSON.stringify(messages),
    'gen_ai.output.messages': JSON.stringify(answered),
  })
  const tool = spanOf(
    {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'count',
      'gen_ai.tool.call.arguments': '{"side":"warp"}',
      'gen_ai.tool.call.result': '{"n":12}',
    },
    { spanId: 'a'.repeat(16), startTimeUnixNano: '1767323045223456789' },
  )
  const body = exportOf([asked, tool], { 'wandb.entity': 'acme', 'wandb.project': 'details' })
  assert.equal((await post('/otel/v1/traces', body)).status, 200)
  const { spans } = await answerOf({ project_id: 'acme/details', include_details: true })
  const [run, model] = spans
  assert.deepEqual(
    [run.tool_name, run.tool_call_arguments, run.tool_call_result, run.input_messages],
    ['count', '{"side":"warp"}', '{"n":12}', []],
  )
  assert.equal(model.provider_name, 'loomco')
  assert.deepEqual(model.input_messages, [{ role: 'user', content: 'Warp count?', finish_reason: null }])
  assert.deepEqual(model.output_messages, [{ role: 'assistant', content: 'Twelve.', finish_reason: null }])
  assert.equal(model.custom_attrs.otel_span, undefined)
  assert.equal(model.raw_span_dump.name, 'chat')
  assert.equal(model.span_id, otlpSpanId)
})

test('details have what the request named, why it ended, its instructions and thoughts', async () => {
  const span = spanOf({
    'gen_ai.operation.name': 'chat',
    'gen_ai.agent.id': 'agent-1',
    'gen_ai.response.id': 'resp-1',
    'gen_ai.response.finish_reasons': { arrayValue: { values: [{ stringValue: 'length' }] } },
    'gen_ai.request.temperature': 0.5,
    'gen_ai.request.max_tokens': 7,
    'gen_ai.usage.reasoning.output_tokens': 3,
    'gen_ai.system_instructions': '[{"type":"text","content":"Be brief."}]',
    'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"Warp count?"}]}]',
    'gen_ai.output.messages':
      '[{"role":"assistant","parts":[{"type":"reasoning","content":"n is 12"},{"type":"text","content":"Twelve."}]}]',
    'error.type': 'timeout',
    'server.port': 443,
  })
  const body = exportOf([span], { 'wandb.entity': 'acme', 'wandb.project': 'more-details' })
  assert.equal((await post('/otel/v1/traces', body)).status, 200)
  const { spans } = await answerOf({ project_id: 'acme/more-details', include_details: true })
  const expected = {
    ...{ agent_id: 'agent-1', response_id: 'resp-1', finish_reasons: ['length'], tool_type: null },
    ...{ request_temperature: 0.5, request_max_tokens: 7, request_top_p: null, reasoning_tokens: 3 },
    ...{ system_instructions: ['Be brief.'], reasoning_content: 'n is 12', error_type: 'timeout' },
    ...{ server_port: 443, server_address: null },
  }
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, spans[0][name]])), expected)
  const [brief] = (await answerOf({ project_id: 'acme/more-details' })).spans
  assert.equal(brief.response_id, undefined)
})

test('groups by conversation and by attributes have sums, and pages count all of them', async () => {
  const call = (thread_id: string, second: number, team: string, fields: object = {}) => ({
    ...{ thread_id, started_at: at(second), ended_at: at(second + 1), attributes: { team } },
    ...{ summary: { usage: { loom: { prompt_tokens: 3, completion_tokens: 1 } } } },
    ...fields,
  })
  const project_id = await storedCalls(post, 'groups', [
    call('a', 0, 'blue'),
    call('a', 5, 'red', { exception: 'broke' }),
    call('b', 2, 'red'),
  ])
  const grouped = (source: string, key: string, more: object = {}) =>
    answerOf({ project_id, group_by: [{ source, key, ...more }] })
  const { groups, spans, total_count } = await grouped('field', 'conversation_id')
  assert.deepEqual([spans, total_count], [[], 2])
  assert.deepEqual(groups[0], {
    ...{ group_keys: { conversation_id: 'a' }, span_count: 2, invocation_count: 0, conversation_count: 1 },
    ...{ total_input_tokens: 6, total_output_tokens: 2, total_cache_read_input_tokens: 0 },
    ...{
      total_cache_creation_input_tokens: 0,
      total_duration_ms: 2000,
      error_count: 1,
      total_cost_usd: null,
      total_input_cost_usd: null,
      total_output_cost_usd: null,
    },
    ...{ first_seen: at(0), last_seen: at(6), agent_names: [], agent_versions: [], request_models: ['loom'] },
    metrics: {},
    ...{ total_reasoning_tokens: 0, provider_names: [], conversation_names: [] },
    first_message: { role: 'user_message', text: 'capital of Chad' },
    last_message: { role: 'assistant_message', text: "N'Djamena" },
  })
  const teams = await grouped('custom_attrs_string', 'team', { alias: 'crew' })
  assert.deepEqual(
    teams.groups.map((group: { group_keys: object; span_count: number }) => [
      group.group_keys,
      group.span_count,
    ]),
    [
      [{ crew: 'red' }, 2],
      [{ crew: 'blue' }, 1],
    ],
  )
  const group_by = [{ source: 'field', key: 'conversation_id' }]
  const page = await answerOf({
    project_id,
    group_by,
    sort_by: [{ field: 'span_count', direction: 'asc' }],
    limit: 1,
  })
  assert.deepEqual([page.groups[0].group_keys, page.total_count], [{ conversation_id: 'b' }, 2])
  const beyond = await answerOf({ project_id, group_by, offset: 9 })
  assert.deepEqual([beyond.groups, beyond.total_count], [[], 2])
})

test('a conversation has the calls below its turns, its agents and models, and what was asked and answered', async () => {
  const root = randomUUID()
  const below = { trace_id: root, parent_id: root }
  const usage = (input: number) => ({
    summary: { usage: { loom: { prompt_tokens: input, completion_tokens: 1 } } },
  })
  const project_id = await storedCalls(post, 'conversation-list', [
    {
      ...{ id: root, thread_id: 'c', started_at: at(0), ended_at: at(5), ...usage(7) },
      ...{
        attributes: agentAttributes('weaver', '2'),
        inputs: { messages: [{ role: 'user', content: 'Why?' }] },
      },
      output: { role: 'assistant', content: 'So.' },
    },
    { ...below, started_at: at(1), ended_at: at(2), attributes: agentAttributes('helper'), ...usage(3) },
    { ...below, started_at: at(2), ended_at: at(3), exception: 'broke', ...usage(4) },
    { started_at: at(9), ended_at: at(9) },
  ])
  const group_by = [{ source: 'field', key: 'gen_ai.conversation.id' }]
  const { groups, total_count } = await answerOf({ project_id, group_by })
  assert.equal(total_count, 2)
  const group = groups.find(({ group_keys }: { group_keys: object }) => Object.values(group_keys)[0] === 'c')
  assert.deepEqual([group.span_count, group.error_count, group.conversation_count], [3, 1, 1])
  // Groups add up all spans: the agent repeats what the calls below it used.
  assert.deepEqual([group.total_input_tokens, group.total_output_tokens], [14, 3])
  assert.deepEqual([group.agent_names, group.agent_versions], [['helper', 'weaver'], ['2']])
  assert.deepEqual(group.request_models, ['loom'])
  assert.deepEqual(group.first_message, { role: 'user_message', text: 'Why?' })
  assert.deepEqual(group.last_message, { role: 'assistant_message', text: 'So.' })
  const idsOf = async (name: string, query: object) => {
    const answer = await answerOf({ project_id, query: { $expr: query } })
    assert.equal(answer.total_count, answer.spans.length, name)
    return answer.spans.length
  }
  const field = { $getField: 'conversation_id' }
  const named = { $eq: [field, { $literal: 'c' }] }
  assert.equal(await idsOf('equal', named), 3)
  assert.equal(await idsOf('one of', { $in: [field, [{ $literal: 'c' }, { $literal: 'd' }]] }), 3)
  const failed = { $eq: [{ $getField: 'status_code' }, { $literal: 'ERROR' }] }
  assert.equal(await idsOf('and failed', { $and: [named, failed] }), 1)
  assert.equal(await idsOf('another', { $eq: [{ $literal: 'd' }, field] }), 0)
  const { spans } = await answerOf({ project_id })
  assert.deepEqual(
    spans.map(({ conversation_id }: { conversation_id: string | null }) => conversation_id),
    [null, 'c', 'c', 'c'],
  )
})
