import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inputMessages, messageLine, outputMessages } from '../index.ts'

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
