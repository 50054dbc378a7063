import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chatMessagesOf, type Message, nothingBefore, turnOf } from '../index.ts'

const text = (words: string) => ({ kind: 'text' as const, text: words })

test('a turn with a tool is written as a request would have it', () => {
  const call = { id: 'k1', type: 'function', function: { name: 'count', arguments: '{"n":1.50}' } }
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'How many?' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'k1', content: '12' },
  ]
  const answer = { role: 'assistant', content: 'Twelve.', reasoning_content: 'n is 12' }
  const { asked, answered } = turnOf(
    {
      inputs: JSON.stringify({ messages }),
      output: JSON.stringify({ choices: [{ message: answer }] }),
      children: [],
    },
    nothingBefore,
  )
  assert.deepEqual(chatMessagesOf([...asked, ...answered]), [
    ...messages,
    { role: 'assistant', content: 'Twelve.' },
  ])
})

test('calls without ids get one each, and results without ids answer the call before', () => {
  const made = (name: string): Message => ({
    role: 'assistant',
    blocks: [text('Let me see.'), { kind: 'call', name, input: '{}' }],
  })
  const result: Message = { role: 'tool', blocks: [{ kind: 'result', content: [text('1')] }] }
  const written = chatMessagesOf([made('a'), result, made('b'), { role: 'tool', blocks: [text('2')] }])
  assert.deepEqual(
    written.map(({ role, content, tool_calls, tool_call_id }) => [
      ...[role, content, tool_calls?.[0]?.id ?? tool_call_id],
    ]),
    [
      ['assistant', 'Let me see.', 'call_1'],
      ['tool', '1', 'call_1'],
      ['assistant', 'Let me see.', 'call_2'],
      ['tool', '2', 'call_2'],
    ],
  )
})

test('pictures and files are parts; errors, thoughts and further choices are left out', () => {
  const data = 'data:application/pdf;base64,AA=='
  const image = { kind: 'image' as const, source: 'https://x.test/a.png' }
  const written = chatMessagesOf([
    { role: 'user', blocks: [text('Look.'), image, { kind: 'file', name: 'a.pdf', source: data }] },
    { role: 'user', blocks: [{ kind: 'file', name: 'b.pdf' }] },
    { role: 'user', blocks: [{ kind: 'stored', file: 'a', json: '{"files":{"content":"a"}}' }] },
    { role: 'error', blocks: [text('broke')] },
    { role: 'assistant', blocks: [{ kind: 'thought', text: 'Hm.' }] },
    { role: 'assistant', choice: 1, blocks: [text('One.')] },
    { role: 'assistant', choice: 2, blocks: [text('Two.')] },
    { role: 'output', blocks: [{ kind: 'data', json: '{"a":1.50}' }] },
  ])
  assert.deepEqual(written, [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look.' },
        { type: 'image_url', image_url: { url: image.source } },
        { type: 'file', file: { filename: 'a.pdf', file_data: data } },
      ],
    },
    { role: 'user', content: [{ type: 'text', text: '[file] b.pdf' }] },
    { role: 'user', content: [{ type: 'image_url', image_url: { url: { files: { content: 'a' } } } }] },
    { role: 'assistant', content: 'One.' },
    { role: 'assistant', content: '{"a":1.50}' },
  ])
})
