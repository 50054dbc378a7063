import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conversationOf, type GivenMessage, MessageError, unreadMembers, wholeText } from '../conversation.ts'

const user = (content: GivenMessage['content']) => ({ role: 'user', content })

test('content is a text or a list of texts', () => {
  const contents: [given: GivenMessage['content'], shown: string | string[]][] = [
    ['Hi', 'Hi'],
    ['', ''],
    [null, ''],
    [undefined, ''],
    [[], []],
    [
      ['a', { type: 'text', text: 'b' }],
      ['a', 'b'],
    ],
    [
      [
        { type: 'input_text', text: 'a' },
        { type: 'output_text', text: 'b' },
      ],
      ['a', 'b'],
    ],
    [
      [
        { type: 'refusal', refusal: 'no' },
        { type: 'thinking', thinking: 'hm' },
      ],
      ['no', 'hm'],
    ],
    [[{ text: 'without a type' }], ['without a type']],
  ]
  for (const [given, shown] of contents) {
    assert.deepEqual(conversationOf([user(given)]), [{ role: 'user', content: shown }])
  }
})

test('a refusal is what the assistant said', () => {
  const refused = (content: GivenMessage['content']) => ({ role: 'assistant', content, refusal: 'No.' })
  for (const [content, shown] of [
    [null, 'No.'],
    ['', 'No.'],
    [[], 'No.'],
    ['Well.', ['Well.', 'No.']],
    [
      ['a', { type: 'text', text: 'b' }],
      ['a', 'b', 'No.'],
    ],
  ] as [GivenMessage['content'], string | string[]][]) {
    assert.deepEqual(conversationOf([refused(content)]), [{ role: 'assistant', content: shown }])
  }
  assert.deepEqual(conversationOf([{ ...refused('Yes.'), refusal: null }]), [
    { role: 'assistant', content: 'Yes.' },
  ])
  assert.equal(wholeText(refused('Well.'), 0), 'Well.\nNo.')
})

test('parts that the model cannot read are refused with their type and path', () => {
  for (const [part, message] of [
    [
      { type: 'image_url', image_url: { url: 'data:x' } },
      'messages.1.content.0.type: a part of type "image_url"',
    ],
    [{ image_url: 'https://example.com' }, 'messages.1.content.0.type: a part of type "image_url"'],
    [{ type: 'input_audio', text: 'x' }, 'messages.1.content.0.type: a part of type "input_audio"'],
    [{ type: 'toString' }, 'messages.1.content.0.type: a part of type "toString"'],
    [{}, 'messages.1.content.0.type: a part of type "none"'],
    [{ type: 'text' }, 'messages.1.content.0.text: nothing'],
    [{ type: 'text', text: null }, 'messages.1.content.0.text: nothing'],
  ] as const) {
    assert.throws(
      () => conversationOf([user('x'), user([part])]),
      (error) => error instanceof MessageError && error.message.startsWith(message),
      message,
    )
  }
})

test('names, tool calls and reasoning are passed on', () => {
  const call = { id: 'c1', type: 'function', function: { name: 'find', arguments: '{"a": [1]}' } }
  assert.deepEqual(
    conversationOf([
      { role: 'user', content: 'x', name: 'Ann' },
      { role: 'assistant', content: null, reasoning: 'hm', tool_calls: [call] },
      { role: 'tool', content: 'found', tool_call_id: 'c1' },
      { role: 'assistant', content: 'y', reasoning_content: 'so', tool_calls: [] },
      { role: 'narrator', content: 'z', name: null },
    ]),
    [
      { role: 'user', content: 'x', name: 'Ann' },
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'find', arguments: { a: [1] } } }],
        reasoning: 'hm',
        reasoning_content: 'hm',
        thinking: 'hm',
      },
      { role: 'tool', content: 'found', tool_call_id: 'c1' },
      { role: 'assistant', content: 'y', reasoning: 'so', reasoning_content: 'so', thinking: 'so' },
      { role: 'narrator', content: 'z' },
    ],
  )
})

test('the arguments of a call must be the text of an object', () => {
  const withArguments = (text: string | null | undefined, type?: string) =>
    conversationOf([
      {
        role: 'assistant',
        tool_calls: [{ ...(type && { type }), function: { name: 'f', arguments: text } }],
      },
    ])
  for (const text of ['', ' ', null, undefined, '{}']) {
    assert.deepEqual(withArguments(text)[0]?.tool_calls?.[0]?.function, { name: 'f', arguments: {} })
  }
  for (const text of ['{', '[]', '5', 'null', '"x"']) {
    assert.throws(() => withArguments(text), /messages\.0\.tool_calls\.0\.function\.arguments: not an object/)
  }
  assert.throws(() => withArguments('{}', 'custom'), /messages\.0\.tool_calls\.0\.type: "custom"/)
})

test('parts are joined to one text with a line each', () => {
  const texts = [user('a'), user(['a', { type: 'text', text: 'b' }])].map(wholeText)
  assert.deepEqual(texts, ['a', 'a\nb'])
  assert.throws(() => wholeText(user([{ type: 'image_url' }]), 3), /messages\.3\.content\.0\.type/)
})

test('members of parts that no template is shown are listed by their path', () => {
  const cached = { type: 'text', text: 'a', cache_control: { type: 'ephemeral' }, citations: null }
  const messages = [
    user('x'),
    user(['y', cached, { type: 'refusal', refusal: 'no', text: 'b' }, { text: 'c' }]),
  ]
  const paths = ['messages.1.content.1.cache_control', 'messages.1.content.2.text']
  assert.deepEqual(unreadMembers(messages, 9), paths)
  assert.deepEqual(unreadMembers(messages, 1), paths.slice(0, 1))
})
