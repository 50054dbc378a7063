import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerLine, inputMessages, messageLine, outputMessages } from '../index.ts'

const asked = (value: unknown) => inputMessages(JSON.stringify(value))
const said = (value: unknown) => outputMessages(JSON.stringify(value))

test('a conversation of the OpenAI API has text in parts, calls, results and thoughts', () => {
  assert.deepEqual(
    asked({
      messages: [
        { role: 'system', content: 'Be short.' },
        {
          role: 'user',
          name: 'ann',
          content: [
            { type: 'text', text: 'Look' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          reasoning: 'hm',
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'find', arguments: '{"a":1}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'found' },
      ],
    }),
    [
      { role: 'system', blocks: [{ kind: 'text', text: 'Be short.' }] },
      {
        role: 'user',
        name: 'ann',
        blocks: [
          { kind: 'text', text: 'Look' },
          { kind: 'image', source: 'data:image/png;base64,AA' },
        ],
      },
      {
        role: 'assistant',
        blocks: [
          { kind: 'thought', text: 'hm' },
          { kind: 'call', id: 'c1', name: 'find', input: '{"a":1}' },
        ],
      },
      { role: 'tool', blocks: [{ kind: 'result', id: 'c1', content: [{ kind: 'text', text: 'found' }] }] },
    ],
  )
})

test('a conversation of the Anthropic API', () => {
  assert.deepEqual(
    asked({
      system: [{ type: 'text', text: 'Be short.' }],
      messages: [
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm' },
            { type: 'tool_use', id: 't', name: 'find', input: { a: 1 } },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'found' }] },
      ],
    }),
    [
      { role: 'system', blocks: [{ kind: 'text', text: 'Be short.' }] },
      {
        role: 'assistant',
        blocks: [
          { kind: 'thought', text: 'hm' },
          { kind: 'call', id: 't', name: 'find', input: '{"a":1}' },
        ],
      },
      { role: 'user', blocks: [{ kind: 'result', id: 't', content: [{ kind: 'text', text: 'found' }] }] },
    ],
  )
})

test('items of the Responses API', () => {
  assert.deepEqual(
    asked({
      instructions: 'Be short.',
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
        { type: 'function_call', call_id: 'c', name: 'find', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: 'found' },
      ],
    }),
    [
      { role: 'system', blocks: [{ kind: 'text', text: 'Be short.' }] },
      { role: 'user', blocks: [{ kind: 'text', text: 'hi' }] },
      { role: 'assistant', blocks: [{ kind: 'call', id: 'c', name: 'find', input: '{}' }] },
      { role: 'tool', blocks: [{ kind: 'result', id: 'c', content: [{ kind: 'text', text: 'found' }] }] },
    ],
  )
  assert.deepEqual(
    said({
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'yes' }] }],
    }),
    [{ role: 'assistant', blocks: [{ kind: 'text', text: 'yes' }] }],
  )
})

test('calls that a server of models ran itself have what they returned', () => {
  const png = 'iVBORw0KGgo='
  const items = [
    { type: 'image_generation_call', id: 'i', result: png },
    { type: 'mcp_call', id: 'm', name: 'find', arguments: '{}', output: 'found', error: null },
    { type: 'mcp_call', id: 'e', name: 'find', arguments: '{}', output: null, error: 'no such tool' },
    { type: 'code_interpreter_call', id: 'p', code: '1+1', outputs: [{ type: 'logs', logs: '2' }] },
    { type: 'file_search_call', id: 's', queries: ['a'], results: null },
  ]
  const result = (id: string, name: string, content: object[], more = {}) => ({
    result: { kind: 'result', id, name, ...more, content },
  })
  const call = (id: string, name: string, input: string, more = {}) => ({
    role: 'assistant',
    blocks: [{ kind: 'call', id, name, input, ...more }],
  })
  const text = (words: string) => [{ kind: 'text', text: words }]
  assert.deepEqual(said({ object: 'response', output: items }), [
    call(
      'i',
      'image_generation',
      '',
      result('i', 'image_generation', [{ kind: 'image', source: `data:image/png;base64,${png}` }]),
    ),
    call('m', 'find', '{}', result('m', 'find', text('found'))),
    call('e', 'find', '{}', result('e', 'find', text('no such tool'), { isError: true })),
    call('p', 'code_interpreter', '1+1', result('p', 'code_interpreter', text('2'))),
    call('s', 'file_search', '["a"]'),
  ])
  const found = { type: 'web_search_result', url: 'https://x.test', title: 'Warp', encrypted_content: 'z' }
  const content = [{ type: 'web_search_tool_result', tool_use_id: 's', content: [found] }]
  assert.deepEqual(said({ role: 'assistant', content })?.[0]?.blocks, [
    { kind: 'result', id: 's', content: [{ kind: 'document', text: 'Warp', id: 'https://x.test' }] },
  ])
})

test('results that failed say so, in the words of each framework', () => {
  const output = { type: 'execution-denied', reason: 'not allowed' }
  const tool = (message: object) => asked({ messages: [message] })?.[0]?.blocks[0]
  const lc = {
    lc: 1,
    id: ['x', 'ToolMessage'],
    kwargs: { content: 'no', tool_call_id: 'k', status: 'error' },
  }
  const parts = [
    { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'k', toolName: 'f', output }] },
    {
      role: 'user',
      content: [{ toolResult: { toolUseId: 'k', status: 'error', content: [{ text: 'no' }] } }],
    },
    lc,
  ].map((message) => JSON.stringify(tool(message)))
  assert.deepEqual(
    parts.map((block) => block.includes('"isError":true') && /"text":"(not allowed|no)"/.test(block)),
    [true, true, true],
  )
})

test('a list shows the words of an answer, also where its calls come after them', () => {
  const words = {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'Let me see.' }],
  }
  const run = { type: 'function_call', call_id: 'c', name: 'find', arguments: '{}' }
  const lineOf = (...output: object[]) => answerLine(JSON.stringify({ object: 'response', output }))
  assert.equal(lineOf(words, run), 'Let me see.')
  assert.equal(lineOf(run), 'find({})')
  const messages = [
    { role: 'user', content: 'Why?' },
    { role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }] },
  ]
  assert.equal(answerLine(JSON.stringify({ messages })), 'f({})')
})

test('a picture that is the whole answer is a picture', () => {
  const file = { type: 'file', mediaType: 'image/png', data: 'iVBORw0KGgo=' }
  assert.deepEqual(said({ files: [file] }), [
    { role: 'assistant', blocks: [{ kind: 'image', source: 'data:image/png;base64,iVBORw0KGgo=' }] },
  ])
  assert.equal(said({ files: ['a.txt'] }), undefined)
})

test('answers may be several choices or plain texts, and other values are not conversations', () => {
  assert.deepEqual(said({ choices: [{ message: { role: 'assistant', content: 'a' } }, { text: 'b' }] }), [
    { role: 'assistant', blocks: [{ kind: 'text', text: 'a' }], choice: 1 },
    { role: 'answer', blocks: [{ kind: 'text', text: 'b' }], choice: 2 },
  ])
  for (const value of [null, 1, 'x', [], {}, { messages: 7 }, { choices: 'x' }]) {
    assert.equal(asked(value), undefined)
    assert.equal(said(value), undefined)
  }
})

test('malformed messages are shown without an error', () => {
  assert.deepEqual(
    asked({ messages: [null, 7, 'x', { role: 7, content: { deep: [1] } }, { content: [{ type: 'odd' }] }] }),
    [
      { role: 'unknown', blocks: [] },
      { role: 'unknown', blocks: [{ kind: 'other', json: '7' }] },
      { role: 'user', blocks: [{ kind: 'text', text: 'x' }] },
      { role: 'unknown', blocks: [{ kind: 'other', json: '{"deep":[1]}' }] },
      { role: 'unknown', blocks: [{ kind: 'other', json: '{"type":"odd"}' }] },
    ],
  )
})

test('a line of a message is its words, or else its calls', () => {
  const call = { kind: 'call', name: 'f', input: '{}' } as const
  assert.equal(messageLine({ role: 'user', blocks: [{ kind: 'text', text: 'two' }, call] }), 'two')
  assert.equal(messageLine({ role: 'user', blocks: [call] }), 'f({})')
})
