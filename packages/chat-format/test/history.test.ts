import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnswerFormat } from '../answer-format.ts'
import { hermes } from '../call-format.ts'
import type { Message } from '../conversation.ts'
import { adaptConversation } from '../template/history.ts'

const proven: AnswerFormat = { calls: hermes, proof: 'proven' }
const generic: AnswerFormat = { calls: hermes, proof: 'generic' }

const user = (content: string): Message => ({ role: 'user', content })
const call = (id: string, name: string) => ({
  id,
  type: 'function' as const,
  function: { name, arguments: { city: 'Rome' } },
})
const result = (id: string, content: string): Message => ({ role: 'tool', content, tool_call_id: id })
const calling = (...calls: ReturnType<typeof call>[]): Message => ({
  role: 'assistant',
  content: '',
  tool_calls: calls,
})

const conversation = [
  user('Where?'),
  calling(call('a', 'first'), call('b', 'second')),
  result('b', 'two'),
  result('a', 'one'),
]
const tools = ['{"name":"first"}']

test('a conversation without tools is unchanged', () => {
  const plain: Message[] = [
    { role: 'system', content: 'Be kind.' },
    user('Hi'),
    { role: 'assistant', content: 'Hi' },
  ]
  for (const format of [proven, generic]) {
    assert.deepEqual(adaptConversation(format, plain, []), { messages: plain, takesTools: true })
  }
})

test('results have the names and the order of their calls', () => {
  const { messages, takesTools } = adaptConversation(proven, conversation, tools)
  assert.equal(takesTools, true)
  assert.deepEqual(
    messages.slice(2).map(({ name, content }) => [name, content]),
    [
      ['first', 'one'],
      ['second', 'two'],
    ],
  )
})

test('calls that the template does not show are written as text in the form of the model', () => {
  const format: AnswerFormat = {
    calls: {
      open: ['<|call|>['],
      mid: ['('],
      arguments: { kind: 'python', words: 'python' },
      gap: ['), '],
      close: [')]'],
      ids: 'any',
      isAnchored: false,
    },
    proof: 'own',
    history: { showsTools: true, showsCalls: false, arguments: 'object', systemMessages: 'many' },
  }
  const given = { text: "it's", on: true, none: null, list: [1, { a: false }] }
  const asked = calling(call('a', 'first'), {
    ...call('b', 'second'),
    function: { name: 'second', arguments: given as never },
  })
  const { messages, takesTools } = adaptConversation(
    format,
    [user('Where?'), asked, result('a', 'one')],
    tools,
  )
  assert.equal(takesTools, true)
  assert.equal(
    messages[1]?.content,
    '<|call|>[first(city="Rome"), second(text="it\'s", on=True, none=None, list=[1, {"a": False}])]',
  )
  assert.equal(messages[1]?.tool_calls, undefined)
  assert.equal(messages[2]?.role, 'tool')
})

test('results of unknown calls keep their order and their given names', () => {
  const { messages } = adaptConversation(
    proven,
    [
      calling(call('a', 'first'), call('b', 'second')),
      { ...result('x', 'two'), name: 'own' },
      result('y', 'one'),
    ],
    [],
  )
  assert.deepEqual(
    messages.slice(1).map(({ name, content }) => [name, content]),
    [
      ['own', 'two'],
      ['second', 'one'],
    ],
  )
})

test('ids have nine characters where the template requires that, the same in call and result', () => {
  const nine: AnswerFormat = { ...proven, calls: { ...hermes, ids: 'nine' } }
  const own = 'chatcmpl-tool-0123456789abcdef0123456789abcdef'
  const { messages } = adaptConversation(
    nine,
    [calling(call(own, 'first'), call('AbCdEf012', 'second')), result(own, 'one')],
    [],
  )
  const [made, kept] = messages[0]?.tool_calls?.map(({ id }) => id) ?? []
  assert.match(made ?? '', /^[a-zA-Z0-9]{9}$/)
  assert.equal(kept, 'AbCdEf012')
  assert.equal(messages[1]?.tool_call_id, made)
})

test('arguments are text where the template accepts nothing else', () => {
  const text: AnswerFormat = {
    ...proven,
    history: { showsTools: true, arguments: 'text', systemMessages: 'many' },
  }
  const [message] = adaptConversation(text, [calling(call('a', 'first'))], []).messages
  assert.equal(message?.tool_calls?.[0]?.function.arguments, '{"city":"Rome"}')
})

test('several system messages are joined only where the template refuses them', () => {
  const given: Message[] = [
    { role: 'system', content: 'One.' },
    user('Hi'),
    { role: 'developer', content: ['Two.', 'Three.'] },
  ]
  const one: AnswerFormat = {
    ...proven,
    history: { showsTools: true, arguments: 'object', systemMessages: 'one' },
  }
  assert.deepEqual(adaptConversation(one, given, []).messages, [
    { role: 'system', content: 'One.\n\nTwo.\nThree.' },
    user('Hi'),
  ])
  assert.deepEqual(adaptConversation(proven, given, []).messages, given)
})

test('a template without tools gets tools in the system message, calls as text and results as user messages', () => {
  const { messages, takesTools } = adaptConversation(
    generic,
    [{ role: 'system', content: 'Be kind.' }, ...conversation],
    tools,
  )
  assert.equal(takesTools, false)
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['system', 'user', 'assistant', 'user'],
  )
  assert.match(String(messages[0]?.content), /^Be kind\.\n\n.*<tools>\n\{"name":"first"\}\n<\/tools>/s)
  assert.equal(
    messages[2]?.content,
    '<tool_call>\n{"name": "first", "arguments": {"city":"Rome"}}\n</tool_call>\n' +
      '<tool_call>\n{"name": "second", "arguments": {"city":"Rome"}}\n</tool_call>',
  )
  assert.equal(
    messages[3]?.content,
    '<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response>',
  )
  assert.equal(messages[2]?.tool_calls, undefined)
})

test('where the template accepts no system message, the first user message has the tools', () => {
  const format: AnswerFormat = {
    ...generic,
    history: { showsTools: false, arguments: 'object', systemMessages: 'none' },
  }
  const { messages } = adaptConversation(format, [{ role: 'system', content: 'Be kind.' }, user('Hi')], tools)
  assert.equal(messages.length, 1)
  assert.match(String(messages[0]?.content), /^Be kind\.\n\n.*\n\nHi$/s)
})

test('where the template shows calls but no tools, the system message describes both in its form', () => {
  const format: AnswerFormat = {
    proof: 'proven',
    calls: {
      ...hermes,
      open: ['<call>'],
      mid: [':', { hole: 'counter' }, ' '],
      close: ['</call>'],
      counter: { from: 0, over: 'turn' },
    },
    history: { showsTools: false, arguments: 'object', systemMessages: 'many' },
  }
  const { messages, takesTools } = adaptConversation(format, conversation, tools)
  assert.equal(takesTools, false)
  assert.match(String(messages[0]?.content), /\{"name":"first"\}.*<call>NAME:0 \{"KEY": "VALUE"\}<\/call>/s)
  assert.equal(messages[2]?.tool_calls?.length, 2)
})
