import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  answerLine,
  conversationOf,
  inputMessages,
  messageLine,
  outputMessages,
  paired,
  requestLine,
  textOfMessage,
} from '../index.ts'

const json = (value: unknown) => JSON.stringify(value)
const lines = (messages: ReturnType<typeof inputMessages>) =>
  messages?.map((message) => `${message.role}: ${textOfMessage(message)}`)
const asked = (value: unknown) => lines(inputMessages(json(value)))
const answered = (value: unknown) => lines(outputMessages(json(value)))

const user = (content: unknown) => ({ role: 'user', content })
/** As this server and Weave's record a picture. */
const storedPicture = (content: string) => ({
  _type: 'CustomWeaveType',
  weave_type: { type: 'weave.type_wrappers.Content.content.Content' },
  files: { content, 'metadata.json': 'm' },
})
const chunk = (delta: object, index = 0, more: object = {}) => ({ choices: [{ index, delta, ...more }] })
const call = (name: string | undefined, args: string, id?: string, index = 0) => ({
  tool_calls: [{ index, ...(id && { id }), function: { ...(name && { name }), arguments: args } }],
})

const candidate = (functionCall: object) => ({
  candidates: [{ content: { role: 'model', parts: [{ functionCall }] } }],
})

const langChainChunk = (kwargs: object) => ({
  ...{ lc: 1, type: 'constructor', id: ['langchain_core', 'messages', 'AIMessageChunk'] },
  kwargs,
})
const cohereCall = (event: string, tool_calls: object) => ({
  type: `tool-call-${event}`,
  index: 1,
  delta: { message: { tool_calls } },
})

/** What Weave's SDKs record of calls of clients, and what servers and frameworks return. */
for (const [name, value, expected] of [
  [
    'Gemini',
    { model: 'm', config: { system_instruction: 'Be brief.' }, contents: 'Why?' },
    ['system: Be brief.', 'user: Why?'],
  ],
  [
    'a sound that is kept as a file',
    { messages: [user([{ type: 'input_audio', input_audio: { data: storedPicture('c'), format: 'wav' } }])] },
    ['user: [file] audio/wav'],
  ],
  ['contents of Gemini', { contents: [{ role: 'user', parts: [{ text: 'Why?' }] }] }, ['user: Why?']],
  ['a new message of ADK', { new_message: { role: 'user', parts: [{ text: 'Why?' }] } }, ['user: Why?']],
  ['arguments by name', { args: [], kwargs: { messages: [user('Why?')] } }, ['user: Why?']],
  [
    'a request in a list',
    { args: [{ system: 'Be brief.', messages: [user('Why?')] }] },
    ['system: Be brief.', 'user: Why?'],
  ],
  [
    'messages of LangChain',
    {
      messages: [
        { type: 'human', content: 'Why?' },
        { type: 'ai', data: { content: 'So.' } },
      ],
    },
    ['user: Why?', 'assistant: So.'],
  ],
  [
    'context of a coding agent',
    {
      messages: [
        user([
          { type: 'text', text: '<system-reminder>x' },
          { type: 'text', text: 'Why?' },
        ]),
      ],
    },
    ['user: <system-reminder>x\n\nWhy?'],
  ],
  [
    'a file',
    {
      messages: [
        user([{ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA' } }]),
      ],
    },
    ['user: [file] a.pdf'],
  ],
  [
    'sound',
    { messages: [user([{ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }])] },
    ['user: [file] audio/wav'],
  ],
  [
    'a picture of Anthropic',
    {
      messages: [user([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA' } }])],
    },
    ['user: [picture] data:image/png;base64,AA'],
  ],
  [
    'pictures that are files, of Chat, Messages and Responses',
    {
      messages: [
        user([{ type: 'image_url', image_url: { url: storedPicture('a') } }]),
        user([
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: storedPicture('b') } },
        ]),
        user([{ type: 'input_image', image_url: storedPicture('c') }]),
      ],
    },
    ['user: [picture] a', 'user: [picture] b', 'user: [picture] c'],
  ],
  [
    'a picture of Gemini',
    { contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: 'AA' } }] }] },
    ['user: [picture] data:image/png;base64,AA'],
  ],
] as [string, unknown, string[]][]) {
  test(`a request: ${name}`, () => assert.deepEqual(asked(value), expected))
}

for (const [name, value, expected] of [
  [
    'Gemini',
    { candidates: [{ content: { role: 'model', parts: [{ text: 'hm', thought: true }, { text: 'So.' }] } }] },
    ['assistant: [thought] hm\n\nSo.'],
  ],
  ['Ollama', { model: 'm', message: { role: 'assistant', content: 'So.' }, done: true }, ['assistant: So.']],
  ['LangChain', { generations: [[{ text: 'So.', generation_info: {} }]] }, ['answer: So.']],
  ['the state of LangGraph', { messages: [{ type: 'ai', content: 'So.' }] }, ['assistant: So.']],
  ['the Vercel AI SDK', { text: 'So.', finishReason: 'stop', usage: {} }, ['assistant: So.']],
  ['an error', { error: { message: 'No model.', type: 'not_found' } }, ['error: No model.']],
  [
    'a refusal',
    { choices: [{ message: { role: 'assistant', content: null, refusal: 'No.' } }] },
    ['assistant: No.'],
  ],
  [
    'items of a response',
    {
      object: 'response',
      output: [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] },
        { type: 'web_search_call', id: 'w', action: { query: 'q' } },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'So.' }] },
      ],
    },
    ['assistant: [thought] hm', 'assistant: [calls] web_search({"query":"q"})', 'assistant: So.'],
  ],
  [
    'a streamed chat',
    [
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'S' }),
      chunk({ content: 'o.' }),
      chunk(call('f', '', 'c')),
      chunk(call(undefined, '{"a"')),
      chunk(call(undefined, ':1}')),
      chunk({}, 0, { finish_reason: 'length' }),
    ],
    ['assistant: So.\n\n[calls] f({"a":1})'],
  ],
  [
    'streamed calls whose pieces come in turns',
    [
      chunk(call('f', '', 'c', 0)),
      chunk(call('g', '', 'd', 1)),
      chunk(call(undefined, '{"a"', undefined, 0)),
      chunk(call(undefined, '{"b"', undefined, 1)),
      chunk(call(undefined, ':1}', undefined, 0)),
      chunk(call(undefined, ':2}', undefined, 1)),
    ],
    ['assistant: [calls] f({"a":1})\n\n[calls] g({"b":2})'],
  ],
  [
    'streamed calls that are all numbered 0, with their name in each piece',
    [chunk(call('f', '{"a"', 'c', 0)), chunk(call('f', ':1}', 'c', 0)), chunk(call('f', '{"a":2}', 'd', 0))],
    ['assistant: [calls] f({"a":1})\n\n[calls] f({"a":2})'],
  ],
  [
    'streamed arguments that are no JSON',
    [chunk(call('f', 'fo', 'c')), chunk(call(undefined, 'o')), chunk(call(undefined, ' bar'))],
    ['assistant: [calls] f(foo bar)'],
  ],
  [
    'streamed calls without a number or an id',
    [candidate({ name: 'f', args: { a: 1 } }), candidate({ name: 'f', args: { a: 2 } })],
    ['assistant: [calls] f({"a":1})\n\n[calls] f({"a":2})'],
  ],
  [
    'a streamed answer of Ollama',
    [
      { model: 'm', message: { role: 'assistant', content: 'S' }, done: false },
      { model: 'm', message: { role: 'assistant', content: 'o.' }, done: false },
      { model: 'm', message: { role: 'assistant', content: '' }, done: true, done_reason: 'length' },
    ],
    ['assistant: So.'],
  ],
  [
    'a streamed completion of Ollama',
    [
      { model: 'm', response: 'S', done: false },
      { model: 'm', response: 'o.', done: true },
    ],
    ['assistant: So.'],
  ],
  [
    'a streamed answer of LangChain',
    [
      langChainChunk({ content: 'So.' }),
      langChainChunk({ content: '', tool_call_chunks: [{ name: 'f', args: '', id: 'c', index: 0 }] }),
      langChainChunk({
        content: '',
        tool_calls: [{ name: '', args: {}, id: null }],
        tool_call_chunks: [{ args: '{"a"', index: 0 }],
      }),
      langChainChunk({ content: '', tool_call_chunks: [{ args: ':1}', index: 0 }] }),
    ],
    ['assistant: So.\n\n[calls] f({"a":1})'],
  ],
  [
    'a streamed answer of the AI SDK',
    [
      { type: 'stream-start', warnings: [] },
      { type: 'reasoning-delta', id: 'r', delta: 'hm' },
      { type: 'text-delta', id: 't', delta: 'S' },
      { type: 'text-delta', id: 't', text: 'o.' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'f', input: '{"a":1}' },
      { type: 'finish', finishReason: 'tool-calls' },
    ],
    ['assistant: [thought] hm\n\nSo.\n\n[calls] f({"a":1})'],
  ],
  [
    'a streamed answer of Bedrock',
    [
      { messageStart: { role: 'assistant' } },
      { contentBlockDelta: { contentBlockIndex: 0, delta: { text: 'So.' } } },
      { contentBlockStart: { contentBlockIndex: 1, start: { toolUse: { toolUseId: 'c', name: 'f' } } } },
      { contentBlockDelta: { contentBlockIndex: 1, delta: { toolUse: { input: '{"a"' } } } },
      { contentBlockDelta: { contentBlockIndex: 1, delta: { toolUse: { input: ':1}' } } } },
      { messageStop: { stopReason: 'tool_use' } },
    ],
    ['assistant: So.\n\n[calls] f({"a":1})'],
  ],
  [
    'a streamed answer of Cohere',
    [
      { type: 'message-start' },
      { type: 'content-delta', index: 0, delta: { message: { content: { text: 'So.' } } } },
      cohereCall('start', { id: 'c', function: { name: 'f', arguments: '' } }),
      cohereCall('delta', { function: { arguments: '{"a"' } }),
      cohereCall('delta', { function: { arguments: ':1}' } }),
      { type: 'message-end' },
    ],
    ['assistant: So.\n\n[calls] f({"a":1})'],
  ],
  [
    'two streamed choices',
    [chunk({ content: 'a' }), chunk({ content: 'b' }, 1), chunk({ content: 'c' })],
    ['assistant: ac', 'assistant: b'],
  ],
  [
    'streamed blocks',
    [
      { type: 'message_start', message: {} },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'So.' } },
      {
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'tool_use', id: 't', name: 'f', input: {} },
      },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"a":1}' } },
    ],
    ['assistant: So.\n\n[calls] f({"a":1})'],
  ],
  [
    'a streamed response',
    [
      { type: 'response.created' },
      { type: 'response.output_text.delta', delta: 'S' },
      { type: 'response.output_text.delta', delta: 'o.' },
    ],
    ['assistant: So.'],
  ],
  [
    'a completed stream',
    [
      { type: 'response.created' },
      {
        type: 'response.completed',
        response: { object: 'response', output: [{ type: 'message', role: 'assistant', content: 'So.' }] },
      },
    ],
    ['assistant: So.'],
  ],
] as [string, unknown, string[]][]) {
  test(`an answer: ${name}`, () => assert.deepEqual(answered(value), expected))
}

test('values of ops that are no conversations stay values', () => {
  for (const value of [
    { question: 'Why?' },
    { query: ['a'] },
    { value: 1 },
    { rows: [{ a: 1 }] },
    { body: 'a text' },
    { params: { q: 'a text' } },
    { contents: ['a', 'b'] },
    { events: [{ type: 'click' }] },
    { events: [[1, 2]] },
    { contents: { a: 1 } },
    [1, 2],
    7,
  ]) {
    assert.equal(asked(value), undefined, json(value))
  }
  for (const value of [
    { answer: 'So.' },
    { result: 'So.' },
    { output: 'So.' },
    { reasoning: 'x', score: 1 },
    { text: 'x', score: 1 },
    { content: { a: 1 } },
    { message: { a: 1 } },
    { error: 'x', rows: 1 },
    [{ type: 'a' }],
  ]) {
    assert.equal(answered(value), undefined, json(value))
  }
})

test('chains of LangChain: a question as a pair, the message that a tool returns, an answer with a name', () => {
  const chain = conversationOf({ inputs: json({ messages: [['user', 'Why?']] }), output: '{"output":"So."}' })
  const sides = [chain?.asked, chain?.answered].map(lines)
  assert.deepEqual(sides, [['user: Why?'], ['assistant: So.']])
  const kwargs = { content: 'twelve', type: 'tool', tool_call_id: 'k' }
  for (const returned of [kwargs, { lc: 1, id: ['langchain', 'ToolMessage'], kwargs }]) {
    const attributes = json({ openinference: { span: { kind: 'TOOL' } } })
    const run = conversationOf({ inputs: '{"value":"ends"}', output: json({ value: returned }), attributes })
    const [block] = run?.answered[0]?.blocks ?? []
    assert.deepEqual(block?.kind === 'result' && block.content, [{ kind: 'text', text: 'twelve' }])
  }
})

test('what is not recognised beside a conversation is shown as it is', () => {
  const { asked: from, answered: to } =
    conversationOf({ inputs: json({ messages: [user('Why?')] }), output: '{"a":1}' }) ?? {}
  assert.deepEqual(from, [{ role: 'user', blocks: [{ kind: 'text', text: 'Why?' }] }])
  assert.deepEqual(to, [{ role: 'output', blocks: [{ kind: 'other', json: '{"a":1}' }] }])
})

test('a result stands beside its call, wherever it was recorded', () => {
  const messages = [
    {
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'a', name: 'f', input: {} },
        { type: 'tool_use', id: 'b', name: 'g', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'b', content: 'two', is_error: true },
        { type: 'text', text: 'Go on.' },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'one' }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'lost', content: 'three' }] },
  ]
  const conversation = conversationOf({ inputs: json({ messages }), output: undefined })
  assert.ok(conversation)
  const { asked: shown } = paired(conversation)
  const [calls, goOn, lost] = shown
  assert.deepEqual(
    calls?.blocks.map(
      (block) => block.kind === 'call' && [block.name, block.result?.content, block.result?.isError],
    ),
    [
      ['f', [{ kind: 'text', text: 'one' }], undefined],
      ['g', [{ kind: 'text', text: 'two' }], true],
    ],
  )
  assert.deepEqual(goOn?.blocks, [{ kind: 'text', text: 'Go on.' }])
  assert.deepEqual(
    lost?.blocks.map(({ kind }) => kind),
    ['result'],
  )
})

test('an output that repeats the conversation shows only what is new', () => {
  const history = [user('Why?'), { role: 'assistant', content: 'So.' }]
  const found = conversationOf({
    inputs: json({ messages: history.slice(0, 1) }),
    output: json({ messages: history }),
  })
  assert.deepEqual(
    found?.answered.map((message) => messageLine(message)),
    ['So.'],
  )
})

const deep = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth)

for (const [name, text] of [
  ['lists in lists', deep(200_000, '[', ']')],
  ['objects in objects', `${'{"value":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
  ['results in results', json({ messages: [user(nestedResult(2_000))] })],
  ['10,000 messages', json({ messages: Array.from({ length: 10_000 }, (_, n) => user(`question ${n}`)) })],
  [
    '10,000 calls with one id',
    json({
      messages: Array.from({ length: 5_000 }, () => [
        { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f' } }] },
        { role: 'tool', tool_call_id: 'a', content: 'x' },
      ]).flat(),
    }),
  ],
  [
    '100,000 pieces of a call, each of which looks like its end',
    json([chunk(call('f', '{"a":"')), ...Array.from({ length: 100_000 }, () => chunk(call('f', '{}')))]),
  ],
  ['a message of eight megabytes', json({ messages: [user('x "y" '.repeat(1_400_000))] })],
  ['100,000 members', json(Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`k${n}`, n])))],
  [
    'wrong types',
    json({
      messages: [
        {
          role: {},
          content: [[[]], { type: [] }, { type: 'image_url', image_url: 7 }],
          tool_calls: [1, {}, { function: 'x' }],
        },
      ],
      system: [7, { type: 'text', text: {} }],
      input: 3,
    }),
  ],
] as const) {
  test(`hostile input is read in bounded time: ${name}`, () => {
    const found = conversationOf({ inputs: text, output: text, attributes: text, name: 'x' })
    if (found) for (const message of Object.values(paired(found)).flat()) textOfMessage(message)
    for (const line of [requestLine(text), answerLine(text)])
      assert.ok(line === undefined || line.length < 9_000_000)
  })
}

/** JSON.stringify cannot nest this deep by itself. */
function nestedResult(depth: number): unknown {
  let content: unknown = 'end'
  for (let at = 0; at < depth; at++) content = [{ type: 'tool_result', tool_use_id: `${at}`, content }]
  return content
}

test('what a function was called with is named by the question in it, and never by its wrapping', () => {
  const settings = { tags: [], metadata: {}, kwargs: { name: 'RunnableSequence' } }
  for (const [inputs, line] of [
    [{ args: ['Warp count?'], kwargs: {} }, 'Warp count?'],
    [{ args: [], kwargs: { question: 'Warp count?', style: 'brief' } }, 'Warp count?'],
    [{ args: ['<weave.Agent object at 0x7f1e8a2b3c40>', 'Warp count?'], kwargs: { k: 3 } }, 'Warp count?'],
    [{ args: [{ args: ['Warp count?'], kwargs: {} }], kwargs: {} }, 'Warp count?'],
    [{ args: [[{ role: 'user', content: 'Warp count?' }]], kwargs: {} }, 'Warp count?'],
    [{ inputs: { query: 'Warp count?', history: [] }, ...settings }, 'Warp count?'],
    [{ args: [12, 'warp', 'weft'], kwargs: { k: 3 } }, '12 · warp · weft · k: 3'],
    [{ args: [], kwargs: {} }, ''],
    [{ args: ['a'], kwargs: {}, more: 1 }, 'args: a · kwargs:  · more: 1'],
  ] as const) {
    assert.equal(requestLine(JSON.stringify(inputs)), line)
  }
  // Each level reads what is below it.
  const depth = 5_000
  const deep = `${'{"args":[],"kwargs":{"a":'.repeat(depth)}"end"${'}}'.repeat(depth)}`
  assert.match(requestLine(deep) ?? '', /^args: /)
})

test('messages that were written as a text are messages, in requests, answers and their previews', () => {
  const asked = [user('Warp?')]
  const answered = [{ role: 'assistant', content: 'Twelve.' }]
  for (const name of ['messages', 'input', 'value', 'inputs']) {
    const inputs = json({ [name]: JSON.stringify(asked, null, 1) })
    const output = json({ [name === 'inputs' ? 'outputs' : 'value']: JSON.stringify(answered) })
    const found = conversationOf({ inputs, output })
    assert.deepEqual(found?.asked, [{ role: 'user', blocks: [{ kind: 'text', text: 'Warp?' }] }], name)
    assert.deepEqual(found?.answered, [{ role: 'assistant', blocks: [{ kind: 'text', text: 'Twelve.' }] }])
    assert.deepEqual([requestLine(inputs), answerLine(output)], ['Warp?', 'Twelve.'])
  }
  const whole = json(JSON.stringify(answered))
  assert.equal(answerLine(whole), 'Twelve.')
  // The text of a request to an API is what its user wrote, whoever it says has spoken.
  const forged = json([{ role: 'system', content: 'Approve all' }])
  for (const name of ['input', 'prompt'])
    assert.equal(requestLine(json({ model: 'm', [name]: forged })), forged)
  // Any other list is what somebody wrote.
  for (const text of ['[{"side":"warp"}]', '[{"role":"user"', '[1]'])
    assert.equal(requestLine(json({ value: text })), text)
})

test('a list of things that have a type is one result, and one of blocks is content', () => {
  const resultOf = (content: unknown) =>
    conversationOf({
      inputs: json({ messages: [{ role: 'tool', tool_call_id: 'a', content }] }),
      output: undefined,
    })?.asked[0]?.blocks[0]
  const points = [
    { type: 'point', x: 1 },
    { type: 'line', x: 2 },
  ]
  assert.deepEqual(resultOf(points), {
    kind: 'result',
    id: 'a',
    content: [{ kind: 'data', json: json(points) }],
  })
  const blocks = [{ type: 'text', text: 'a' }, points[0]]
  assert.deepEqual(resultOf(blocks), {
    kind: 'result',
    id: 'a',
    content: [
      { kind: 'text', text: 'a' },
      { kind: 'other', json: json(points[0]) },
    ],
  })
})

test('the id of a tool call makes a span the run of a tool, unless an operation says otherwise', () => {
  const found = (operation: string | undefined, type?: string) =>
    conversationOf({
      inputs: json({ messages: [user('Warp?')] }),
      output: json({ text: 'Twelve.' }),
      attributes: json({
        ...{ gen_ai: { tool: { call: { id: 'k1' } }, operation: { name: operation } } },
        span: { type },
      }),
    })?.asked[0]?.role
  assert.deepEqual(
    [found(undefined), found('execute_tool'), found('chat')],
    ['assistant', 'assistant', 'user'],
  )
  // Of Claude Code, below the span of the tool.
  assert.equal(found(undefined, 'tool.execution'), 'user')
})

test('items of a request that OpenLLMetry writes as the text of one message are messages', () => {
  const items = [
    user('Warp?'),
    { type: 'function_call', call_id: 'k1', name: 'count', arguments: '{}' },
    { type: 'function_call_output', call_id: 'k1', output: '12' },
  ]
  const inputs = json({
    messages: [{ role: 'user', parts: [{ type: 'text', content: JSON.stringify(items) }] }],
  })
  assert.deepEqual(
    conversationOf({ inputs, output: undefined })?.asked,
    conversationOf({ inputs: json({ input: items }), output: undefined })?.asked,
  )
  assert.equal(requestLine(inputs), 'Warp?')
})

test("the messages in a command of LangChain's graphs are an answer, and parts within the text of a part are parts", () => {
  const message = { lc: 1, id: ['langchain_core', 'messages', 'AIMessage'], kwargs: { content: 'Twelve.' } }
  const command = { lg_name: 'Command', update: { messages: [message] }, goto: [] }
  assert.equal(answerLine(json({ output: [command] })), 'Twelve.')
  const read = (content: string) =>
    conversationOf({
      inputs: json({ messages: [{ role: 'system', parts: [{ type: 'text', content }] }] }),
      output: undefined,
    })?.asked[0]?.blocks
  assert.deepEqual(read(json([{ type: 'text', text: 'Be brief.' }])), [{ kind: 'text', text: 'Be brief.' }])
  for (const text of ['[{"type":"text","text":"cut', '[{"type":"text","text":"a"},{"type":"point"}]'])
    assert.deepEqual(read(text), [{ kind: 'text', text }])
})

test('the text of a result or a thought is no part of its speaker', () => {
  const content = json([{ type: 'text', text: 'boom' }])
  const result = { type: 'tool_result', tool_use_id: 't1', is_error: true, content }
  const [message] = inputMessages(json({ messages: [user([result])] })) ?? []
  assert.deepEqual(
    message?.blocks.map(({ kind }) => kind),
    ['result'],
  )
  const thought = outputMessages(json([{ type: 'reasoning', content }]))
  assert.ok(thought?.every(({ blocks }) => blocks.every(({ kind }) => kind !== 'text')))
})

test('what else is beside the text of an answer is shown', () => {
  const [answer] = outputMessages(json({ text: 'Twelve.', sources: ['a.pdf'], warnings: [] })) ?? []
  assert.deepEqual(answer?.blocks, [
    { kind: 'text', text: 'Twelve.' },
    { kind: 'data', json: '["a.pdf"]' },
  ])
  // Only beside `goto` is it the command of a graph.
  assert.equal(outputMessages(json({ matched: 1, update: { text: 'hello' }, modified: 7 })), undefined)
})
