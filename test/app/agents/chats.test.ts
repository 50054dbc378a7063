import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { agentAttributes, at, storedCalls } from '../../support/agents.ts'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { giveFeedback } from '../../support/feedback.ts'

const { post } = await openApp({ after })

async function answerOf(url: string, body: object, key: string = keys.alice) {
  const { status, json, text } = await post(url, body, key)
  assert.equal(status, 200, text)
  return json
}

test('the chats and spans of conversations: refuse invalid requests', async (t) => {
  const trace_id = randomUUID()
  await assertCommonRefusals(t, '/agents/traces/chat', { project_id: project, trace_id })
  await assertCommonRefusals(t, '/agents/conversations/chat', { project_id: project, conversation_id: 'a' })
  await assertCommonRefusals(t, '/agents/conversations/spans', { project_id: project, conversation_ids: [] })
  const tooMany = Array.from({ length: 10_001 }, (_, n) => `t${n}`)
  for (const [url, body, status, code] of [
    ['/agents/traces/chat', { project_id: 'globex/qa', trace_id }, 403, 'entity_forbidden'],
    ['/agents/traces/chat', { trace_id: 'x' }, 422, 'invalid_request'],
    ['/agents/traces/chat', { trace_id }, 400, 'invalid_value'],
    [
      '/agents/conversations/chat',
      { project_id: 'globex/qa', conversation_id: 'a' },
      403,
      'entity_forbidden',
    ],
    ['/agents/conversations/chat', { conversation_id: 'a', limit: 51 }, 422, 'invalid_request'],
    [
      '/agents/conversations/spans',
      { project_id: 'globex/qa', conversation_ids: [] },
      403,
      'entity_forbidden',
    ],
    ['/agents/conversations/spans', { conversation_ids: tooMany }, 400, 'invalid_value'],
  ] as const) {
    const answer = await post(url, { project_id: project, ...body })
    assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text)
  }
})

const usage = (input: number, output: number) => ({
  summary: { usage: { loom: { prompt_tokens: input, completion_tokens: output } } },
})
const attributesOf = (operation: string, more: object = {}) => ({
  attributes: { gen_ai: { operation: { name: operation }, ...more } },
})
const user = (content: string) => ({ role: 'user', content })
const answered = (content: string, more: object = {}) => ({
  output: { choices: [{ message: { role: 'assistant', content, ...more } }] },
})

/** A turn of an agent that asks a model twice, with a tool in between. The agent repeats the last answer. */
function turn(thread_id: string, second: number, question: string, answer: string) {
  const root = randomUUID()
  const below = { trace_id: root, parent_id: root }
  const call = { id: 'k1', type: 'function', function: { name: 'count', arguments: '{"side":"warp"}' } }
  return {
    root,
    calls: [
      {
        ...{ id: root, thread_id, started_at: at(second), ended_at: at(second + 5), op_name: 'run' },
        ...{ attributes: agentAttributes('weaver', '2'), ...usage(30, 4), ...answered(answer) },
        inputs: { messages: [{ role: 'system', content: 'Be brief.' }, user(question)] },
      },
      {
        ...{
          ...below,
          started_at: at(second + 1),
          ended_at: at(second + 2),
          ...attributesOf('chat'),
          ...usage(10, 1),
        },
        ...{ inputs: { model: 'loom', messages: [user(question)] }, ...answered('', { tool_calls: [call] }) },
      },
      {
        ...{ ...below, started_at: at(second + 2), ended_at: at(second + 3) },
        ...attributesOf('execute_tool', { tool: { name: 'count', call: { id: 'k1' } } }),
        ...{ inputs: { arguments: { side: 'warp' } }, output: { n: 12 }, op_name: 'execute_tool count' },
      },
      {
        ...{
          ...below,
          started_at: at(second + 3),
          ended_at: at(second + 4),
          ...attributesOf('chat'),
          ...usage(20, 3),
        },
        ...{ inputs: { model: 'loom', messages: [user(question)] }, ...answered(answer) },
      },
    ],
  }
}

interface Message {
  type: string
  agent_name: string | null
  [payload: string]: unknown
}

test('a trace is a chat: one question, the agent, its tools and each answer once', async () => {
  const { root, calls } = turn('a', 0, 'Warp count?', 'Twelve.')
  const project_id = await storedCalls(post, 'trace', calls)
  const chat = await answerOf('/agents/traces/chat', { project_id, trace_id: root })
  const shown = chat.messages.map((message: Message) => [
    message.type,
    message.agent_name,
    message[message.type],
  ])
  assert.deepEqual(shown, [
    ['user_message', null, { text: 'Warp count?', content_refs: [] }],
    ['agent_start', 'weaver', { model: 'loom', system_instructions: ['Be brief.'], status: 'OK' }],
    [
      'tool_call',
      'weaver',
      {
        ...{ tool_name: 'count', tool_arguments: '{"side":"warp"}', tool_result: '{"n":12}' },
        ...{ duration_ms: 1000, status: 'OK' },
      },
    ],
    [
      'assistant_message',
      'weaver',
      {
        ...{ text: 'Twelve.', model: 'loom', reasoning_content: null, input_tokens: 20, output_tokens: 3 },
        ...{ total_cost_usd: null, input_cost_usd: null, output_cost_usd: null },
        ...{ duration_ms: 1000, status: 'OK' },
      },
    ],
  ])
  const { messages, ...turnOfTrace } = chat
  assert.deepEqual(turnOfTrace, {
    ...{ trace_id: root, root_span_name: 'run', agent_name: 'weaver', agent_version: '2', status_code: 'OK' },
    ...{ started_at: at(0), ended_at: at(5), wb_user_id: 'alice', total_duration_ms: 5000 },
    ...{ total_cost_usd: null, total_input_tokens: 30, total_output_tokens: 4, feedback: [] },
  })
})

test('a chat has the sides of costs, the contents of a question, and where its context was made shorter', async () => {
  const { root, calls } = turn('a', 0, 'Warp count?', 'Twelve.')
  const weave = {
    content_refs: ['weave-content:///warp'],
    compaction: { summary: 'Warp has 12 ends.', items_before: 9, items_after: 2 },
  }
  const [first, ...others] = calls as { attributes?: object }[]
  const project_id = await storedCalls(post, 'facts', [
    { ...first, attributes: { ...first?.attributes, weave } },
    ...others,
  ])
  const price = {
    ...{ prompt_token_cost: 2, completion_token_cost: 3, cache_read_input_token_cost: 0 },
    cache_creation_input_token_cost: 0,
  }
  assert.equal((await post('/cost/create', { project_id, costs: { loom: price } })).status, 200)
  const { messages } = await answerOf('/agents/traces/chat', { project_id, trace_id: root })
  const payloads = (type: string) =>
    messages.flatMap((message: Message) => (message.type === type ? [message[type]] : []))
  assert.deepEqual(payloads('user_message'), [{ text: 'Warp count?', content_refs: weave.content_refs }])
  const { summary, ...items } = weave.compaction
  assert.deepEqual(payloads('context_compacted'), [{ compaction_summary: summary, ...items }])
  assert.equal(messages.at(-1).type, 'context_compacted')
  const [{ total_cost_usd, input_cost_usd, output_cost_usd }] = payloads('assistant_message')
  assert.deepEqual([total_cost_usd, input_cost_usd, output_cost_usd], [49, 40, 9])
  const asked = { project_id, include_costs: true }
  const { spans } = await answerOf('/agents/spans/query', {
    ...{ ...asked, include_details: true },
    query: { $expr: { $gt: [{ $getField: 'input_cost_usd' }, { $literal: 0 }] } },
    sort_by: [{ field: 'output_cost_usd', direction: 'desc' }],
  })
  assert.deepEqual([spans[0].total_cost_usd, spans[0].input_cost_usd, spans[0].output_cost_usd], [72, 60, 12])
  const { groups } = await answerOf('/agents/spans/query', {
    ...asked,
    group_by: [{ key: 'request_model' }],
    sort_by: [{ field: 'total_input_cost_usd', direction: 'desc' }],
  })
  const [group] = groups
  assert.equal(group.total_cost_usd, group.total_input_cost_usd + group.total_output_cost_usd)
  const compacted = await answerOf('/agents/spans/query', {
    ...{ project_id, include_details: true },
    query: { $expr: { $eq: [{ $getField: 'weave.compaction.items_after' }, { $literal: 2 }] } },
  })
  assert.deepEqual(
    compacted.spans.map((span: Record<string, unknown>) => [span.compaction_summary, span.content_refs]),
    [[summary, weave.content_refs]],
  )
})

test('an agent that answers otherwise than the calls below it is shown with both', async () => {
  const { root, calls } = turn('a', 0, 'Warp count?', 'Twelve.')
  const [agent, ...below] = calls as [object, ...object[]]
  const finished = {
    ...agent,
    output: { choices: [{ message: { role: 'assistant', content: 'Twelve, checked.' } }] },
  }
  const project_id = await storedCalls(post, 'checked', [finished, ...below])
  const { messages } = await answerOf('/agents/traces/chat', { project_id, trace_id: root })
  const answers = messages.filter(({ type }: Message) => type === 'assistant_message')
  assert.deepEqual(
    answers.map((message: { assistant_message: { text: string } }) => message.assistant_message.text),
    ['Twelve.', 'Twelve, checked.'],
  )
})

test('a graph that returns its messages, and a tool told by a record below its span, are shown once', async () => {
  const { root, calls } = turn('a', 0, 'Warp count?', 'Twelve.')
  const [agent, asks, tool, ends] = calls as [object, object, object, object]
  const state = { messages: [user('Warp count?'), { role: 'assistant', content: 'Twelve.' }] }
  const graph = { ...agent, inputs: { question: 'Warp count?' }, output: state }
  const span = randomUUID()
  const named = { attributes: { tool_name: 'count', call_id: 'k1' }, inputs: {}, output: null }
  const outer = { ...tool, id: span, ...named, op_name: 'count' }
  const [between, seen] = [randomUUID(), randomUUID()]
  const inner = {
    ...tool,
    id: between,
    parent_id: span,
    attributes: {},
    inputs: {},
    output: null,
    op_name: 'spawn',
  }
  const observed = { ...tool, id: seen, parent_id: between, ...named, op_name: 'observation' }
  const project_id = await storedCalls(post, 'graph', [
    graph,
    asks,
    outer,
    inner,
    observed,
    { ...tool, parent_id: between, op_name: 'execute_tool count' },
    ends,
  ])
  const { messages } = await answerOf('/agents/traces/chat', { project_id, trace_id: root })
  const shown = messages.map((message: Message) => {
    const { text, tool_result } = message[message.type] as Record<string, unknown>
    return text ?? tool_result ?? null
  })
  assert.deepEqual(shown, ['Warp count?', null, '{"n":12}', 'Twelve.'])
})

/** What a trace with these calls answers: the text of each answer, and the tokens that it took. */
async function answersOf(name: string, root: string, calls: object[]) {
  const project_id = await storedCalls(post, name, calls)
  const { messages } = await answerOf('/agents/traces/chat', { project_id, trace_id: root })
  return messages.flatMap(({ assistant_message: answer }: { assistant_message?: Record<string, unknown> }) =>
    answer === undefined ? [] : [[answer.text, answer.input_tokens]],
  )
}

test('a step that is handed an answer, to choose the next one, does not answer', async () => {
  const { root, calls } = turn('a', 0, 'Warp count?', 'Twelve.')
  const messages = [user('Warp count?'), { role: 'assistant', content: 'Twelve.' }]
  const step = { trace_id: root, parent_id: root, started_at: at(4), ended_at: at(5), op_name: 'route' }
  const route = { ...step, inputs: { messages }, output: '__end__' }
  assert.deepEqual(await answersOf('routed', root, [...calls, route]), [['Twelve.', 20]])
})

test('an answer that a call with tokens repeats is that of this call', async () => {
  const root = randomUUID()
  const asked = { started_at: at(0), ended_at: at(1), inputs: { messages: [user('Warp count?')] } }
  const outer = { ...asked, id: root, op_name: 'chat', ...attributesOf('chat'), ...usage(20, 3) }
  const inner = { ...asked, op_name: 'step', trace_id: root, parent_id: root, ...attributesOf('agent_step') }
  const calls = [outer, inner].map((call) => ({ ...call, ...answered('Twelve.') }))
  assert.deepEqual(await answersOf('enclosed', root, calls), [['Twelve.', 20]])
})

test('an answer that is an object is shown as its JSON', async () => {
  const id = randomUUID()
  const asked = { started_at: at(0), ended_at: at(1), inputs: { messages: [user('Warp count?')] } }
  const call = { ...asked, id, op_name: 'chat', ...attributesOf('chat'), ...usage(20, 3), output: { n: 12 } }
  assert.deepEqual(await answersOf('object', id, [call]), [['{"n":12}', 20]])
})

test('tools that a model asked for and no span ran are shown on request', async () => {
  const { root, calls } = turn('a', 0, 'Warp count?', 'Twelve.')
  const project_id = await storedCalls(
    post,
    'asked',
    calls.filter((_, index) => index !== 2),
  )
  const toolsOf = async (include_model_tool_calls: boolean) => {
    const body = { project_id, trace_id: root, include_model_tool_calls }
    const { messages } = await answerOf('/agents/traces/chat', body)
    return messages.flatMap((message: Message) => message.tool_call ?? [])
  }
  assert.deepEqual(await toolsOf(false), [])
  const [tool, ...others] = await toolsOf(true)
  assert.deepEqual(
    [tool.tool_name, tool.tool_arguments, tool.tool_result],
    ['count', '{"side":"warp"}', null],
  )
  assert.deepEqual(others, [])
})

test('calls whose callers are missing or form a circle are shown, too', async () => {
  const [trace_id, a, b] = [randomUUID(), randomUUID(), randomUUID()]
  const asked = (question: string, answer: string) => ({
    inputs: { messages: [user(question)] },
    ...answered(answer),
  })
  const project_id = await storedCalls(post, 'circle', [
    { id: a, trace_id, parent_id: b, started_at: at(1), ...attributesOf('chat'), ...asked('A?', 'a') },
    { id: b, trace_id, parent_id: a, started_at: at(2), ...attributesOf('chat'), ...asked('B?', 'b') },
    { trace_id, parent_id: randomUUID(), started_at: at(3), ...attributesOf('chat'), ...asked('C?', 'c') },
  ])
  const { messages } = await answerOf('/agents/traces/chat', { project_id, trace_id })
  const texts = messages.map((message: Message) => (message[message.type] as { text: string }).text)
  assert.deepEqual(texts, ['A?', 'c', 'b', 'a'])
})

test('a conversation has pages of its newest turns, the oldest first, with feedback', async () => {
  const turns = [0, 10, 20].map((second) => turn('t', second, `Question ${second}?`, `Answer ${second}.`))
  const project_id = await storedCalls(
    post,
    'pages',
    turns.flatMap(({ calls }) => calls),
  )
  const [, , last] = turns
  await giveFeedback(post, {
    ...{ project_id, svc_ref: `weave:///${project_id}/call/${last?.root}` },
    payload: { output: 0.5, tags: ['late'] },
  })
  const pageOf = (body: object) =>
    answerOf('/agents/conversations/chat', { project_id, conversation_id: 't', ...body })
  const page = await pageOf({ limit: 2, include_feedback: true })
  assert.deepEqual(
    page.turns.map((one: { trace_id: string }) => one.trace_id),
    turns.slice(1).map(({ root }) => root),
  )
  assert.deepEqual([page.total_turns, page.has_more, page.limit, page.offset], [3, true, 2, 0])
  assert.deepEqual(page.turns[1].feedback, [
    {
      ...{ trace_id: last?.root, feedback_type: 'thumbs', tags: ['late'] },
      ratings: [{ name: '_rating_', value: 0.5, reason: null, confidence: null }],
    },
  ])
  const older = await pageOf({ limit: 2, offset: 2 })
  assert.deepEqual([older.turns.length, older.has_more], [1, false])
  const none = await answerOf('/agents/conversations/chat', { project_id, conversation_id: 'nobody' })
  assert.deepEqual([none.turns, none.total_turns, none.has_more], [[], 0, false])
})

test('the spans of conversations are listed in brief', async () => {
  const { root, calls } = turn('t', 0, 'Question?', 'Answer.')
  const project_id = await storedCalls(post, 'brief', [...calls, { thread_id: 'u', started_at: at(9) }])
  await giveFeedback(post, { project_id, svc_ref: `weave:///${project_id}/call/${root}` })
  const spansOf = async (body: object) =>
    (await answerOf('/agents/conversations/spans', { project_id, ...body })).conversations
  const [{ spans, ...conversation }, ...others] = await spansOf({ conversation_ids: ['t', 'nobody'] })
  assert.deepEqual(others, [])
  assert.deepEqual(conversation, {
    conversation_id: 't',
    spans_feedback: [{ trace_id: root, feedback_type: 'thumbs', tags: [], ratings: [] }],
  })
  const first = {
    operation_name: 'invoke_agent',
    trace_id: root,
    span_id: root,
    status: 'OK',
    duration_ms: 5000,
  }
  assert.deepEqual(spans[0], first)
  // Only the root names the conversation.
  const operationsOf = (rows: { operation_name: string }[]) => rows.map(({ operation_name: name }) => name)
  assert.deepEqual(operationsOf(spans), ['invoke_agent', 'chat', 'execute_tool', 'chat'])
  const [later] = await spansOf({ conversation_ids: ['t'], started_after: at(2) })
  assert.deepEqual(operationsOf(later.spans), ['execute_tool', 'chat'])
  assert.deepEqual(await spansOf({ conversation_ids: [] }), [])
  assert.deepEqual(await spansOf({ conversation_ids: ['t'], started_after: at(6) }), [])
  assert.equal((await spansOf({ conversation_ids: ['t', 'u'] })).length, 2)
  const many = ['u', ...Array.from({ length: 1_200 }, (_, n) => `x${n}`), 't']
  const both = await spansOf({ conversation_ids: many })
  assert.deepEqual(
    both.map((each: { conversation_id: string }) => each.conversation_id),
    ['t', 'u'],
  )
})

test('a reason is shown once, with the rating that it is for', async () => {
  const { root, calls } = turn('t', 0, 'Question?', 'Answer.')
  const project_id = await storedCalls(post, 'reasons', calls)
  const svc_ref = `weave:///${project_id}/call/${root}`
  await giveFeedback(post, { project_id, svc_ref, payload: { output: 0.5, reason: 'r'.repeat(5_000) } })
  await giveFeedback(post, {
    project_id,
    svc_ref,
    payload: { output: { a: 1, constructor: 0 }, reason: 'both' },
  })
  const { conversations } = await answerOf('/agents/conversations/spans', {
    project_id,
    conversation_ids: ['t'],
  })
  const ratings = conversations[0].spans_feedback.map((one: { ratings: object[] }) => one.ratings)
  const confidence = null
  assert.deepEqual(ratings, [
    [{ name: '_rating_', value: 0.5, reason: 'r'.repeat(2_000), confidence }],
    [
      { name: 'a', value: 1, reason: null, confidence },
      { name: 'constructor', value: 0, reason: null, confidence },
    ],
  ])
})
