import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { asking, chatUrl, choiceOf, eventsOf } from '../../support/chat.ts'
import {
  answerJson,
  blockOf,
  endOf,
  openBeforeAnthropic,
  spoken,
  startOf,
  streaming,
  textBlock,
} from '../../support/fake-anthropic.ts'
import { askingMessage, messageStreamOf, messagesUrl } from '../../support/messages.ts'

// What clients are answered from what a server with Anthropic's API says.

const { post, upstream } = await openBeforeAnthropic({ after })

const tools = [{ type: 'function', function: { name: 'weather' } }]
const ownTools = [{ name: 'weather', input_schema: { type: 'object' } }]
const json = (partial_json: string) => ({ type: 'input_json_delta', partial_json })
const toolBlock = (index: number, id: string, ...pieces: string[]) =>
  blockOf(index, { type: 'tool_use', id, name: 'weather', input: {} }, ...pieces.map(json))
const thoughtBlock = (index: number, thinking: string, signature: string) =>
  blockOf(
    index,
    { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking },
    { type: 'signature_delta', signature },
  )

const acting = [
  startOf({ input_tokens: 7, cache_read_input_tokens: 20, cache_creation_input_tokens: 3, output_tokens: 1 }),
  { type: 'some_event_of_tomorrow', x: 1 },
  ...thoughtBlock(0, 'Hm', 'sig-1'),
  ...blockOf(1, { type: 'redacted_thinking', data: 'sealed' }),
  ...thoughtBlock(2, 'So', 'sig-2'),
  ...textBlock(3, 'I look.'),
  ...toolBlock(4, 'toolu_1', '{"city":', '"Paris"}'),
  ...toolBlock(5, 'toolu_2'),
  ...endOf('tool_use', { output_tokens: 30, output_tokens_details: { thinking_tokens: 11 } }),
]
const usage = {
  prompt_tokens: 30,
  completion_tokens: 30,
  total_tokens: 60,
  prompt_tokens_details: { cached_tokens: 20 },
  completion_tokens_details: { reasoning_tokens: 11 },
}
const calls = [
  { id: 'toolu_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Paris"}' } },
  { id: 'toolu_2', type: 'function', function: { name: 'weather', arguments: '{}' } },
]

test('thoughts, text and calls reach a chat completion, whole and streamed', async () => {
  upstream.answer = streaming(...acting)
  const whole = await post(chatUrl, asking({ tools }))
  assert.equal(whole.status, 200, whole.text)
  const [choice] = whole.json.choices
  assert.equal(choice.finish_reason, 'tool_calls')
  assert.equal(choice.message.reasoning, 'HmSo')
  assert.equal(choice.message.content, 'I look.')
  assert.deepEqual(choice.message.tool_calls, calls)
  assert.deepEqual(whole.json.usage, usage)

  const { text } = await post(
    chatUrl,
    asking({ tools, stream: true, stream_options: { include_usage: true } }),
  )
  const { chunks, error } = eventsOf(text)
  assert.equal(error, undefined)
  const { content, finish_reason } = choiceOf(chunks, 0)
  assert.deepEqual([content, finish_reason, chunks.at(-1)?.usage], ['I look.', 'tool_calls', usage])
  const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta))
  assert.equal(deltas.map(({ reasoning }) => reasoning ?? '').join(''), 'HmSo')
  // A seal is not an empty thought.
  assert.ok(deltas.every(({ reasoning }) => reasoning !== ''))
})

const blocks = [
  { type: 'thinking', thinking: 'Hm', signature: 'sig-1' },
  { type: 'redacted_thinking', data: 'sealed' },
  { type: 'thinking', thinking: 'So', signature: 'sig-2' },
  { type: 'text', text: 'I look.' },
  { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Paris' }, caller: { type: 'direct' } },
  { type: 'tool_use', id: 'toolu_2', name: 'weather', input: {}, caller: { type: 'direct' } },
]

test('a message has the blocks as they were sealed, whole and streamed', async () => {
  upstream.answer = streaming(...acting)
  const thinking = { type: 'enabled', budget_tokens: 1_024 }
  const whole = await post(messagesUrl, askingMessage({ tools: ownTools, thinking }))
  assert.deepEqual(whole.json.content, blocks)
  assert.equal(whole.json.stop_reason, 'tool_use')
  const { input_tokens, cache_read_input_tokens, output_tokens } = whole.json.usage
  assert.deepEqual([input_tokens, cache_read_input_tokens, output_tokens], [10, 20, 30])
  const streamed = await post(messagesUrl, askingMessage({ tools: ownTools, thinking, stream: true }))
  const { message, inputs } = messageStreamOf(streamed.text)
  const named = message?.content.map((block) => (block.type === 'tool_use' ? { ...block, input: {} } : block))
  const bare = blocks.map((block) => ('input' in block ? { ...block, input: {} } : block))
  assert.deepEqual([named, inputs], [bare, ['{"city":"Paris"}', '{}']])
  const omitted = { ...thinking, display: 'omitted' }
  const hidden = await post(messagesUrl, askingMessage({ tools: ownTools, thinking: omitted }))
  assert.deepEqual(hidden.json.content[0], { type: 'thinking', thinking: '', signature: 'sig-1' })
})

test('Responses and Ollama have the thoughts, the text and the calls', async () => {
  upstream.answer = streaming(...acting)
  const own = [{ type: 'function', name: 'weather', parameters: { type: 'object' } }]
  const { json: response } = await post('/v1/responses', { input: 'Hi', tools: own })
  assert.deepEqual(
    response.output.map(({ type }: { type: string }) => type),
    ['reasoning', 'message', 'function_call', 'function_call'],
  )
  assert.deepEqual([response.output[0].content[0].text, response.status], ['HmSo', 'completed'])
  const messages = [{ role: 'user', content: 'Hi' }]
  const { json: line } = await post('/api/chat', { messages, tools, stream: false })
  assert.deepEqual([line.message.thinking, line.message.content], ['HmSo', 'I look.'])
  assert.deepEqual(line.message.tool_calls[0].function.arguments, { city: 'Paris' })
})

test('a server that does not stream answers with a whole message', async () => {
  const content = blocks.map(({ caller: _, ...block }) => block)
  const usage = { input_tokens: 1, output_tokens: 2 }
  upstream.answer = (response) =>
    answerJson(response, { type: 'message', role: 'assistant', content, stop_reason: 'tool_use', usage })
  const thinking = { type: 'adaptive' }
  const { json } = await post(messagesUrl, askingMessage({ tools: ownTools, thinking, stream: false }))
  assert.deepEqual(json.content, blocks)
  assert.deepEqual([json.usage.input_tokens, json.usage.output_tokens], [1, 2])
})

const ends: Record<string, [chat: unknown[], message: unknown[]]> = {
  end_turn: [
    ['stop', null],
    ['end_turn', null],
  ],
  max_tokens: [
    ['length', null],
    ['max_tokens', null],
  ],
  stop_sequence: [
    ['stop', 'END'],
    ['stop_sequence', 'END'],
  ],
  refusal: [
    ['content_filter', null],
    ['refusal', null],
  ],
  model_context_window_exceeded: [
    ['length', null],
    ['model_context_window_exceeded', null],
  ],
  pause_turn: [
    ['length', null],
    ['model_context_window_exceeded', null],
  ],
  reason_of_tomorrow: [
    ['stop', null],
    ['end_turn', null],
  ],
}

for (const [reason, [chat, message]] of Object.entries(ends)) {
  test(`the end ${reason} is told to clients in their words`, async () => {
    const output_tokens = reason === 'max_tokens' ? 100 : 5
    const stop = reason === 'stop_sequence' ? 'END' : null
    upstream.answer = streaming(startOf(), ...textBlock(0, 'Hi'), ...endOf(reason, { output_tokens }, stop))
    const [choice] = (await post(chatUrl, asking())).json.choices
    assert.deepEqual([choice.finish_reason, choice.stop_reason ?? null], chat)
    const { json } = await post(messagesUrl, askingMessage())
    assert.deepEqual([json.stop_reason, json.stop_sequence], message)
  })
}

test('a call that was cut off before its arguments has none', async () => {
  upstream.answer = streaming(startOf(), ...toolBlock(0, 'toolu_1'), ...endOf('max_tokens'))
  for (const stream of [false, true]) {
    const answer = await post(chatUrl, asking({ tools, stream }))
    assert.equal(answer.status, 200, answer.text)
    assert.doesNotMatch(answer.text, /"arguments":"\{\}"/)
    assert.match(answer.text, /"finish_reason":"length"/)
  }
})

test('a call that was cut off is no complete call', async () => {
  upstream.answer = streaming(startOf(), ...toolBlock(0, 'toolu_1', '{"city":"Pa'), ...endOf('max_tokens'))
  const { json } = await post(messagesUrl, askingMessage({ tools: ownTools }))
  assert.notEqual(json.stop_reason, 'tool_use')
  const chat = await post(chatUrl, asking({ tools }))
  assert.equal(chat.json.choices[0].finish_reason, 'length')
})

test('every answer is recorded with its usage', async () => {
  upstream.answer = streaming(...spoken)
  const { headers } = await post(
    messagesUrl,
    askingMessage({ messages: [{ role: 'user', content: 'Record me' }] }),
  )
  const id = String(headers['x-heddle-call-id'])
  const { json } = await post('/call/read', { project_id: 'acme/default', id })
  assert.equal(json.call.output.content[0].text, 'Hello')
  assert.deepEqual(json.call.summary.usage.far.prompt_tokens ?? json.call.summary.usage.far.input_tokens, 7)
})
