import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { GivenMessage } from '../../../packages/chat-format/index.ts'
import type { CountTokensBody } from '../../../src/operations/messages/contract.ts'
import { conversationOf as toConversation } from '../../../src/operations/messages/conversation.ts'
import { openApp } from '../../support/app.ts'
import { askingMessage, messagesUrl } from '../../support/messages.ts'
import { partsModel } from '../../support/parts-model.ts'
import { scriptedBackend, scriptedModel, scriptOf } from '../../support/scripted-backend.ts'

const model = partsModel({ kind: 'content', text: 'Hi' })
const { post } = await openApp({ after }, { model })

async function conversationOf(fields: Record<string, unknown>) {
  const { status, text } = await post(messagesUrl, askingMessage(fields))
  assert.equal(status, 200, text)
  const [input] = model.asked.at(-1)?.inputs ?? []
  assert.ok(input && 'conversation' in input)
  assert.equal(input.addSpecial, false)
  return input.conversation
}

/** As a template sees them. */
const withoutBlocks = (messages: readonly GivenMessage[]) =>
  messages.map(({ blocks: _, ...message }) => message)

const ephemeral = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const say = (text: string) => ({ type: 'text', text, ...ephemeral })
const use = (id: string, input: object = {}) => ({ type: 'tool_use', id, name: 'look', input })
const result = (id: string, fields: object = {}) => ({ type: 'tool_result', tool_use_id: id, ...fields })
const called = (id: string, given = '{}') => ({
  id,
  type: 'function',
  function: { name: 'look', arguments: given },
})

const conversations: Record<string, [given: Record<string, unknown>, messages: object[]]> = {
  'a text': [{ messages: [{ role: 'user', content: 'Hi' }] }, [{ role: 'user', content: 'Hi' }]],
  'a system text': [
    { system: 'Be short.' },
    [
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'Hi' },
    ],
  ],
  'system blocks': [
    { system: [say('Be short.'), say(''), say('And kind.')] },
    [
      { role: 'system', content: ['Be short.', 'And kind.'] },
      { role: 'user', content: 'Hi' },
    ],
  ],
  'no system text': [{ system: [] }, [{ role: 'user', content: 'Hi' }]],
  'turns of one role': [
    {
      messages: [
        { role: 'user', content: 'one' },
        { role: 'user', content: [say('two'), say('three')] },
        { role: 'assistant', content: 'four' },
        { role: 'assistant', content: [use('a')] },
        { role: 'user', content: [result('a', { content: 'five' })] },
      ],
    },
    [
      { role: 'user', content: ['one', 'two', 'three'] },
      { role: 'assistant', content: 'four', tool_calls: [called('a')] },
      { role: 'tool', tool_call_id: 'a', content: 'five' },
    ],
  ],
  'a system message in between': [
    {
      messages: [
        { role: 'user', content: 'one' },
        { role: 'system', content: [say('Now in French.')] },
        { role: 'user', content: 'two' },
      ],
    },
    [
      { role: 'user', content: 'one' },
      { role: 'system', content: 'Now in French.' },
      { role: 'user', content: 'two' },
    ],
  ],
  'calls and their results': [
    {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: [say('I look.'), use('a', { n: 1.5 }), use('b', { x: ['y'] })] },
        {
          role: 'user',
          content: [
            say('Thanks.'),
            result('a', { content: 'found' }),
            result('b', { content: [say('one'), say('two')] }),
          ],
        },
      ],
    },
    [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [called('a', '{"n":1.5}'), called('b', '{"x":["y"]}')],
      },
      { role: 'tool', tool_call_id: 'a', content: 'found' },
      { role: 'tool', tool_call_id: 'b', content: ['one', 'two'] },
      { role: 'user', content: 'Thanks.' },
    ],
  ],
  'results that are empty or errors': [
    {
      messages: [
        {
          role: 'user',
          content: [
            result('a'),
            result('b', { content: '', is_error: false }),
            result('c', { content: 'no such file', is_error: true }),
            result('d', { content: [say('Error: no')], is_error: true }),
            result('e', { content: '<tool_use_error>no</tool_use_error>', is_error: true }),
            result('f', { is_error: true }),
          ],
        },
      ],
    },
    [
      { role: 'tool', tool_call_id: 'a', content: '' },
      { role: 'tool', tool_call_id: 'b', content: '' },
      { role: 'tool', tool_call_id: 'c', content: 'Error: no such file' },
      { role: 'tool', tool_call_id: 'd', content: 'Error: no' },
      { role: 'tool', tool_call_id: 'e', content: '<tool_use_error>no</tool_use_error>' },
      { role: 'tool', tool_call_id: 'f', content: 'Error: ' },
    ],
  ],
  thoughts: [
    {
      messages: [
        { role: 'user', content: 'Hi' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Of another server.', signature: 'EqQBCkYIARgCIkDx' },
            { type: 'redacted_thinking', data: 'sealed' },
            { type: 'thinking', thinking: 'And more.' },
            say('Hello.'),
          ],
        },
        { role: 'user', content: 'Bye' },
      ],
    },
    [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: 'Hello.',
        reasoning: 'Of another server.\nAnd more.',
      },
      { role: 'user', content: 'Bye' },
    ],
  ],
}

for (const [what, [given, messages]] of Object.entries(conversations)) {
  test(`${what}: converted to the messages of the template`, async () => {
    const conversation = await conversationOf(given)
    assert.deepEqual(withoutBlocks(conversation.messages), messages)
    assert.deepEqual([conversation.addGenerationPrompt, conversation.continueFinal], [true, false])
  })
}

test('a last message of the assistant is continued', async () => {
  const conversation = await conversationOf({
    messages: [
      { role: 'user', content: 'Name a city.' },
      { role: 'assistant', content: 'Par' },
    ],
  })
  assert.deepEqual([conversation.addGenerationPrompt, conversation.continueFinal], [false, true])
})

test('the header line of Claude Code, which differs each time, is removed', async () => {
  const line = 'x-anthropic-billing-header: cc_version=2.1.101.e51; cc_entrypoint=cli; cch=a5145;'
  for (const system of [
    [{ type: 'text', text: line }, say('You are Claude Code.')],
    `${line}You are Claude Code.`,
    `${line}\nYou are Claude Code.`,
    'x-anthropic-billing-header: cch=1\nYou are Claude Code.',
    [say('You are Claude Code.')],
  ]) {
    const [first] = withoutBlocks((await conversationOf({ system })).messages)
    assert.deepEqual(first, { role: 'system', content: 'You are Claude Code.' }, JSON.stringify(system))
  }
  const elsewhere = `The header is called\n${line}`
  assert.equal((await conversationOf({ system: elsewhere })).messages[0]?.content, elsewhere)
})

test('a thought that is sent back reaches the template unchanged, shown or omitted', async () => {
  for (const display of ['summarized', 'updates', 'omitted', null]) {
    const thinking = { type: 'adaptive', display }
    model.parts = [
      { kind: 'reasoning', text: 'First é, ' },
      { kind: 'reasoning', text: 'then.' },
      { kind: 'content', text: 'Hi' },
    ]
    const first = await post(messagesUrl, askingMessage({ thinking }))
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: first.json.content },
      { role: 'user', content: 'Bye' },
    ]
    const conversation = await conversationOf({ thinking, messages })
    assert.equal(conversation.messages[1]?.reasoning, 'First é, then.')
    const [block] = first.json.content
    const changed = [{ ...block, thinking: 'Another.' }, ...first.json.content.slice(1)]
    const refused = await post(
      messagesUrl,
      askingMessage({ messages: [messages[0], { role: 'assistant', content: changed }, messages[2]] }),
    )
    assert.equal(refused.status, 400)
    assert.match(refused.json.error.message, /^messages\.1\.content\.0\.signature: /)
  }
})

test('the prompt is rendered by the template of the model', async (t) => {
  const backend = scriptedBackend()
  const { post } = await openApp(t, { backend })
  const { json } = await post(
    messagesUrl,
    askingMessage({ system: 'Be short.', messages: [{ role: 'user', content: [say('one'), say('two')] }] }),
  )
  const prompt = '<s><|system|>Be short.<|end|><|user|>one\ntwo<|end|><|assistant|>'
  assert.deepEqual(backend.asked[0]?.prompt, { text: prompt, special: true, add: false })
  assert.equal(json.content[0].text, 'Hello')
  const counted = await post('/v1/messages/count_tokens', {
    system: 'Be short.',
    messages: [{ role: 'user', content: [say('one'), say('two')] }],
  })
  assert.deepEqual([counted.status, counted.json], [200, { input_tokens: prompt.length }])
})

/** A template as of many models: thinking is off unless switched on, and has an effort. */
const thinkingTemplate = `{% for message in messages %}<|{{ message.role }}|>{% if message.reasoning_content %}<think>
{{ message.reasoning_content }}
</think>

{% endif %}{{ message.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% if reasoning_effort %}({{ reasoning_effort }}){% endif %}{% if enable_thinking is defined and enable_thinking %}<think>
{% else %}<think>

</think>

{% endif %}{% endif %}`

test('a model thinks only when requested', async (t) => {
  const backend = scriptedBackend()
  backend.served = { ...scriptedModel, template: thinkingTemplate }
  const { post } = await openApp(t, { backend })
  const off = '<|user|>Hi<|end|><|assistant|><think>\n\n</think>\n\n'
  const on = '<|user|>Hi<|end|><|assistant|><think>\n'
  for (const [fields, prompt] of [
    [{}, off],
    [{ thinking: { type: 'disabled' } }, off],
    [{ thinking: { type: 'enabled', budget_tokens: 1024 } }, on],
    [{ thinking: { type: 'adaptive' } }, on],
    [{ thinking: { type: 'between_tools' } }, on],
    [
      { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
      on.replace('<think>', '(low)<think>'),
    ],
    [{ output_config: { effort: 'high' } }, off.replace('<think>', '(high)<think>')],
  ] as const) {
    const { status, text } = await post(messagesUrl, askingMessage(fields))
    assert.equal(status, 200, text)
    const asked = backend.asked.at(-1)?.prompt
    assert.equal(asked && 'text' in asked && asked.text, prompt, JSON.stringify(fields))
  }
})

test('the thought of a model is a block of its own', async (t) => {
  const backend = scriptedBackend(scriptOf('I ', 'wonder.\n</think>\n\n', 'Hello'))
  backend.served = { ...scriptedModel, template: thinkingTemplate }
  const { post } = await openApp(t, { backend })
  const { json } = await post(
    messagesUrl,
    askingMessage({ thinking: { type: 'enabled', budget_tokens: 1024 } }),
  )
  assert.deepEqual(
    json.content.map(({ type, thinking, text }: Record<string, string>) => [type, thinking ?? text]),
    [
      ['thinking', 'I wonder.'],
      ['text', 'Hello'],
    ],
  )
})

test('results may have more pictures than a function takes arguments', () => {
  const picture = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
  const shown = Array.from({ length: 100 }, () => picture)
  const results = Array.from({ length: 2_000 }, (_, n) => result(`call ${n}`, { content: shown }))
  const body = askingMessage({ messages: [{ role: 'user', content: results }] }) as unknown as CountTokensBody
  const { messages } = toConversation({ ...body, system: undefined }, [], { passesPictures: true })
  assert.equal(messages.at(-1)?.content?.length, 200_000)
})
