import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Part } from '../../../packages/chat-format/index.ts'
import { openApp } from '../../support/app.ts'
import { askingMessage, messageStreamOf, messagesUrl } from '../../support/messages.ts'
import { partsModel } from '../../support/parts-model.ts'

const model = partsModel()
const { post } = await openApp({ after }, { model })

const text = (said: string): Part => ({ kind: 'content', text: said })
const thought = (said: string): Part => ({ kind: 'reasoning', text: said })
const call = (index: number, name: string, ...pieces: string[]): Part[] => [
  { kind: 'call', index, id: `call_${index}`, name },
  ...pieces.map((piece): Part => ({ kind: 'arguments', index, text: piece })),
]
const end = (index: number): Part => ({ kind: 'callEnd', index })

const toolUse = (index: number, name: string, input: object) => ({
  type: 'tool_use',
  id: `call_${index}`,
  name,
  input,
  caller: { type: 'direct' },
})
const textBlock = (said: string) => ({ type: 'text', text: said })

interface Case {
  parts: Part[]
  content: object[]
  stop?: [reason: string, sequence?: string]
  finish?: typeof model.finish
  fields?: Record<string, unknown>
  thinking?: number
}

const tools = [
  { name: 'weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } },
  { name: 'now', input_schema: { type: 'object' } },
]

const cases: Record<string, Case> = {
  'a text': { parts: [text('Hel'), text('lo')], content: [textBlock('Hello')] },
  'an empty answer': { parts: [], content: [] },
  'a call': {
    parts: [...call(0, 'weather', '{"city"', ': "Par', 'is"}'), end(0)],
    content: [toolUse(0, 'weather', { city: 'Paris' })],
    stop: ['tool_use'],
    fields: { tools },
  },
  'a text, and two calls, one without arguments': {
    parts: [
      text('I look.'),
      ...call(0, 'now', '{}'),
      end(0),
      ...call(1, 'weather', '{"city":"Rome"}'),
      end(1),
    ],
    content: [textBlock('I look.'), toolUse(0, 'now', {}), toolUse(1, 'weather', { city: 'Rome' })],
    stop: ['tool_use'],
    fields: { tools },
  },
  'text between calls': {
    parts: [...call(0, 'now', '{}'), end(0), text('And '), text('also'), ...call(1, 'now', '{}'), end(1)],
    content: [toolUse(0, 'now', {}), textBlock('And also'), toolUse(1, 'now', {})],
    stop: ['tool_use'],
    fields: { tools },
  },
  'a thought, a text and a call': {
    parts: [thought('Hm, '), thought('yes.'), text('Well.'), ...call(0, 'now', '{', '}'), end(0)],
    content: [
      {
        type: 'thinking',
        thinking: 'Hm, yes.',
        signature: 'heddle-thought-oE1o9CIEV40qt9s_PnJ-gX8fcyyCkqAFfPayT43qsx4',
      },
      textBlock('Well.'),
      toolUse(0, 'now', {}),
    ],
    stop: ['tool_use'],
    fields: { tools, thinking: { type: 'enabled', budget_tokens: 50 } },
    thinking: 2,
  },
  'a thought that is left out': {
    parts: [thought('Hm, '), thought('é.'), text('Well.')],
    content: [
      {
        type: 'thinking',
        thinking: '',
        signature: `heddle-omitted-${Buffer.from('Hm, é.').toString('base64url')}`,
      },
      textBlock('Well.'),
    ],
    fields: { thinking: { type: 'adaptive', display: 'omitted' } },
    thinking: 2,
  },
  'a thought that is cut off': {
    parts: [thought('Hm')],
    content: [
      {
        type: 'thinking',
        thinking: 'Hm',
        signature: 'heddle-thought-2xHbHlw0sik78jH4OyBrSz1PrWsGPGPYzooeiRMGfSQ',
      },
    ],
    finish: { reason: 'length', stop: null },
    fields: { max_tokens: 1 },
    stop: ['max_tokens'],
    thinking: 1,
  },
  'a call that is cut off': {
    parts: [...call(0, 'weather', '{"city": "Paris", "days": [1, 2', '3')],
    content: [toolUse(0, 'weather', { city: 'Paris', days: [1] })],
    finish: { reason: 'length', stop: null },
    fields: { tools, max_tokens: 3 },
    stop: ['max_tokens'],
  },
  'a call that is cut off before its arguments': {
    parts: [...call(0, 'weather')],
    content: [toolUse(0, 'weather', {})],
    finish: { reason: 'length', stop: null },
    fields: { tools, max_tokens: 1 },
    stop: ['max_tokens'],
  },
  'a context that is full': {
    parts: [text('Hello')],
    content: [textBlock('Hello')],
    finish: { reason: 'length', stop: null },
    stop: ['model_context_window_exceeded'],
  },
  'a stop sequence': {
    parts: [text('Hello')],
    content: [textBlock('Hello')],
    finish: { reason: 'stop', stop: '###' },
    fields: { stop_sequences: ['###'] },
    stop: ['stop_sequence', '###'],
  },
  'an edited context': {
    parts: [text('Hello')],
    content: [textBlock('Hello')],
    fields: { context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] } },
  },
}

for (const [
  what,
  { parts, content, stop = ['end_turn'], finish, fields = {}, thinking = 0 },
] of Object.entries(cases)) {
  test(`${what}: the same whole and streamed`, async () => {
    model.parts = parts
    model.finish = finish ?? { reason: 'stop', stop: null }
    const whole = await post(messagesUrl, askingMessage(fields))
    assert.equal(whole.status, 200, whole.text)
    const { id, ...message } = whole.json
    assert.match(id, /^msg_[0-9a-f]{32}$/)
    assert.deepEqual(message, {
      type: 'message',
      role: 'assistant',
      model: 'scripted',
      content,
      stop_reason: stop[0],
      stop_sequence: stop[1] ?? null,
      stop_details: null,
      container: null,
      usage: {
        input_tokens: 7,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 3,
        output_tokens: parts.length,
        output_tokens_details: { thinking_tokens: thinking },
        service_tier: 'standard',
      },
      ...(fields.context_management !== undefined && { context_management: { applied_edits: [] } }),
    })
    const answer = await post(messagesUrl, askingMessage({ ...fields, stream: true }))
    assert.equal(answer.headers['content-type'], 'text/event-stream; charset=utf-8')
    const { message: streamed, inputs, error } = messageStreamOf(answer.text)
    assert.equal(error, undefined)
    const written = parts.map((part) => (part.kind === 'arguments' ? part.text : '')).join('')
    assert.equal(inputs.join(''), written)
    // A stream has the arguments as text, complete or not.
    const calls = content.map((block) => ('input' in block ? { ...block, input: {} } : block))
    assert.deepEqual({ ...streamed, id: '' }, { ...whole.json, id: '', content: calls })
  })
}

test('a stream is exactly these events', async () => {
  model.parts = [thought('Hm'), text('Hi'), ...call(0, 'now', '{}'), end(0)]
  model.finish = { reason: 'stop', stop: null }
  const { text: sent } = await post(messagesUrl, askingMessage({ stream: true, tools }))
  const { events } = messageStreamOf(sent)
  const usage = {
    input_tokens: 7,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 3,
    output_tokens: 5,
    output_tokens_details: { thinking_tokens: 1 },
    service_tier: 'standard',
  }
  const signature = 'heddle-thought-2xHbHlw0sik78jH4OyBrSz1PrWsGPGPYzooeiRMGfSQ'
  const ended = { stop_sequence: null, stop_details: null, container: null }
  assert.deepEqual(events.slice(1), [
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'thinking', thinking: '', signature: '' },
    },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: textBlock('') },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Hi' } },
    { type: 'content_block_stop', index: 1 },
    { type: 'content_block_start', index: 2, content_block: toolUse(0, 'now', {}) },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{}' } },
    { type: 'content_block_stop', index: 2 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use', ...ended }, usage },
    { type: 'message_stop' },
  ])
})

test('numbers in arguments keep their digits', async () => {
  model.parts = [...call(0, 'weather', '{"id":9007199254740993,"x":1.0}'), end(0)]
  const { text: answer } = await post(messagesUrl, askingMessage({ tools }))
  assert.ok(answer.includes('"input":{"id":9007199254740993,"x":1.0}'), answer)
})

test('the settings of tools and thoughts reach the model', async () => {
  model.parts = [text('Hi')]
  const [weather] = tools
  for (const [fields, turn] of [
    [{}, { calls: undefined, thinkingBudget: undefined }],
    [{ tools }, { choice: 'auto', isParallel: true, names: ['weather', 'now'] }],
    [
      { tools, tool_choice: { type: 'auto' } },
      { choice: 'auto', isParallel: true, names: ['weather', 'now'] },
    ],
    [
      { tools, tool_choice: { type: 'any', disable_parallel_tool_use: true } },
      { choice: 'required', isParallel: false, names: ['weather', 'now'] },
    ],
    [
      { tools, tool_choice: { type: 'tool', name: 'now' } },
      { choice: { name: 'now' }, isParallel: true, names: ['now'] },
    ],
    [{ tools, tool_choice: { type: 'none' } }, { calls: undefined }],
    [{ tools: [{ type: 'custom', ...weather, strict: true }] }, { choice: 'auto', names: ['weather'] }],
    [
      { thinking: { type: 'enabled', budget_tokens: 2000 } },
      { thinkingBudget: { tokens: 2000, field: 'thinking.budget_tokens', isOptional: true } },
    ],
  ] as const) {
    const { status, text: answer } = await post(messagesUrl, askingMessage(fields))
    assert.equal(status, 200, answer)
    const asked = model.asked.at(-1)
    const { calls, thinkingBudget } = asked?.turn ?? {}
    const seen = {
      calls,
      ...calls,
      thinkingBudget,
      names: calls?.tools.map(({ function: { name } }) => name),
    }
    for (const [name, value] of Object.entries(turn)) {
      assert.deepEqual(seen[name as keyof typeof seen], value, `${name} of ${JSON.stringify(fields)}`)
    }
    // The prompt has the tools even if none may be called, so that its prefix can be reused.
    const [input] = asked?.inputs ?? []
    assert.ok(input && 'conversation' in input)
    assert.equal(input.conversation.tools?.length ?? 0, 'tools' in fields ? fields.tools.length : 0)
  }
})

test('tools without a schema are left out, and named', async () => {
  model.parts = [text('Hi')]
  const others = [
    { type: 'web_search_20250305', name: 'web_search', max_uses: 5 },
    { type: 'bash_20250124', name: 'bash' },
  ]
  for (const [fields, offered] of [
    [{ tools: [...others, ...tools] }, 2],
    [{ tools: others }, undefined],
    [{ tools: others, tool_choice: { type: 'auto' } }, undefined],
  ] as const) {
    const { status, headers } = await post(messagesUrl, askingMessage(fields))
    assert.deepEqual([status, headers['x-heddle-skipped-tools']], [200, 'web_search, bash'])
    assert.equal(model.asked.at(-1)?.turn?.calls?.tools.length, offered)
  }
  const { headers } = await post(messagesUrl, askingMessage({ tools, stream: true }))
  assert.equal(headers['x-heddle-skipped-tools'], undefined)
  // Any type is escaped so that a header can contain it.
  const odd = await post(messagesUrl, askingMessage({ tools: [{ type: 'a\ud800\r\nb' }] }))
  assert.deepEqual([odd.status, odd.headers['x-heddle-skipped-tools']], [200, 'a%EF%BF%BD%0D%0Ab'])
})

test('widened parts of a schema are named', async () => {
  model.parts = [text('Hi')]
  model.widened = ['weather#/properties/city format']
  for (const stream of [false, true]) {
    const { headers } = await post(messagesUrl, askingMessage({ tools, stream }))
    assert.equal(headers['x-heddle-widened'], 'weather%23%2Fproperties%2Fcity%20format')
  }
  model.widened = []
})

test('the id of a request is the one of its message and of its headers', async () => {
  model.parts = [text('Hi')]
  const { json, headers } = await post(messagesUrl, askingMessage())
  assert.equal(headers['request-id'], headers['x-request-id'])
  assert.match(json.id, /^msg_/)
})
