import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { asking, chatUrl, choiceOf, eventsOf } from '../../support/chat.ts'
import { scriptedBackend, scriptedModel } from '../../support/scripted-backend.ts'

const show = (expression: string) => `{{ ${expression} }}`

/** A template that renders tools and calls itself. */
const callsShown =
  '{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}<call>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}</call>{% endfor %}{% endfor %}'

const tool = { type: 'function', function: { name: 'find', parameters: { type: 'object' }, strict: true } }

const assistantLast = (content: unknown) => [
  { role: 'user', content: 'Hi' },
  { role: 'assistant', content },
]

/** The prompt of the model for the fields of a request. */
const prompts: [why: string, fields: Record<string, unknown>, prompt: string][] = [
  ['the template of the model', {}, '<s><|user|>Hi<|end|><|assistant|>'],
  ['without a turn of the assistant', { add_generation_prompt: false }, '<s><|user|>Hi<|end|>'],
  [
    'several messages',
    {
      messages: [
        { role: 'system', content: 'Be' },
        { role: 'user', content: ['a', { type: 'text', text: 'b' }] },
      ],
    },
    '<s><|system|>Be<|end|><|user|>a\nb<|end|><|assistant|>',
  ],
  [
    'a developer',
    { messages: [{ role: 'developer', content: 'Be' }] },
    '<s><|system|>Be<|end|><|assistant|>',
  ],
  [
    'a custom role',
    { messages: [{ role: 'narrator', content: 'Once' }] },
    '<s><|narrator|>Once<|end|><|assistant|>',
  ],
  [
    'a message to be continued',
    { messages: assistantLast('Well, '), add_generation_prompt: false, continue_final_message: true },
    '<s><|user|>Hi<|end|><|assistant|>Well, ',
  ],
  [
    'a message in parts to be continued',
    {
      messages: assistantLast([{ type: 'text', text: 'Well' }]),
      add_generation_prompt: false,
      continue_final_message: true,
    },
    '<s><|user|>Hi<|end|><|assistant|>Well',
  ],
  ['a template of the request', { chat_template: 'Q: {{ messages[0].content }}' }, 'Q: Hi'],
  ['the begin and end tokens of the model', { chat_template: '{{ bos_token }}{{ eos_token }}' }, '<s></s>'],
  ['variables', { chat_template: show('a.b'), chat_template_kwargs: { a: { b: 5 } } }, '5'],
  [
    'a variable overrides bos_token',
    { chat_template: show('bos_token'), chat_template_kwargs: { bos_token: 'B' } },
    'B',
  ],
  [
    'a field overrides a variable',
    { chat_template: show('add_generation_prompt'), chat_template_kwargs: { add_generation_prompt: 5 } },
    'True',
  ],
  [
    'a variable applies when the field is null',
    {
      chat_template: show('reasoning_effort'),
      chat_template_kwargs: { reasoning_effort: 'huge' },
      reasoning_effort: null,
    },
    'huge',
  ],
  [
    'the field applies when it is not null',
    {
      chat_template: show('reasoning_effort'),
      chat_template_kwargs: { reasoning_effort: 'huge' },
      reasoning_effort: 'low',
    },
    'low',
  ],
  [
    'messages cannot be set as a variable',
    { chat_template: show('messages | length'), chat_template_kwargs: { messages: [] } },
    '1',
  ],
  [
    'documents',
    { chat_template: show('documents[1].text'), documents: [{ text: 'a' }, { text: 'b', title: 'B' }] },
    'b',
  ],
  ['no documents', { chat_template: show('documents is none') }, 'True'],
  [
    'tools',
    { chat_template: `${show('tools | tojson')}${callsShown}`, tools: [tool] },
    '[{"type": "function", "function": {"name": "find", "parameters": {"type": "object"}, "strict": true}}]Hi',
  ],
  [
    'a tool without its type',
    {
      chat_template: `${show('tools | map(attribute="function.name") | join')} ${show('tools[0].type')} ${callsShown}`,
      tools: [{ function: { name: 'find' } }],
    },
    'find function Hi',
  ],
  ['no tools', { chat_template: show('tools is none'), tools: [] }, 'True'],
  [
    'a call',
    {
      chat_template: show('tools | tojson') + callsShown,
      messages: [
        {
          role: 'assistant',
          tool_calls: [{ type: 'function', function: { name: 'f', arguments: '{"a":"x"}' } }],
        },
      ],
    },
    'null<call>{"name": "f", "arguments": {"a": "x"}}</call>',
  ],
  [
    'a call with a template that does not show calls',
    {
      messages: [
        {
          role: 'assistant',
          tool_calls: [{ type: 'function', function: { name: 'f', arguments: '{"a":"x"}' } }],
        },
      ],
    },
    '<s><|assistant|><tool_call>\n{"name": "f", "arguments": {"a":"x"}}\n</tool_call><|end|><|assistant|>',
  ],
  [
    'a name',
    { chat_template: show('messages[0].name'), messages: [{ role: 'user', name: 'Ann', content: '' }] },
    'Ann',
  ],
  [
    'reasoning',
    {
      chat_template: show('messages[0].reasoning_content'),
      messages: [{ role: 'assistant', reasoning: 'hm' }],
    },
    'hm',
  ],
  [
    'unknown members of messages',
    { messages: [{ role: 'user', content: 'Hi', weight: 1 }] },
    '<s><|user|>Hi<|end|><|assistant|>',
  ],
]

const backend = scriptedBackend()
const { post } = await openApp({ after }, { backend })

for (const [why, fields, prompt] of prompts) {
  test(`the prompt: ${why}`, async () => {
    backend.asked.length = 0
    const { status, text } = await post(chatUrl, asking(fields))
    assert.equal(status, 200, text)
    assert.deepEqual(backend.asked[0]?.prompt, { text: prompt, special: true, add: false })
  })
}

test('the answer has the role that the prompt leaves open', async () => {
  for (const [fields, role] of [
    [{}, 'assistant'],
    [{ add_generation_prompt: false }, 'user'],
    [{ add_generation_prompt: false, continue_final_message: true }, 'user'],
    [{ messages: assistantLast('x'), add_generation_prompt: false }, 'assistant'],
  ] as const) {
    const { json } = await post(chatUrl, asking(fields))
    assert.equal(json.choices[0].message.role, role)
    const { chunks } = eventsOf((await post(chatUrl, asking({ ...fields, stream: true }))).text)
    assert.equal(choiceOf(chunks, 0).role, role)
  }
})

test('echo returns the last message when the answer has its role', async () => {
  for (const [fields, content] of [
    [
      { messages: assistantLast('Well, '), add_generation_prompt: false, continue_final_message: true },
      'Well, Hello',
    ],
    [
      { messages: assistantLast(['a', { type: 'text', text: 'b' }]), add_generation_prompt: false },
      'a\nbHello',
    ],
    [{ messages: assistantLast('Well, ') }, 'Well, Hello'],
    [{}, 'Hello'],
    [{ add_generation_prompt: false }, 'HiHello'],
  ] as const) {
    const echo = { ...fields, echo: true, n: 2 }
    const { json } = await post(chatUrl, asking(echo))
    const chunks = eventsOf((await post(chatUrl, asking({ ...echo, stream: true }))).text).chunks
    for (const index of [0, 1]) {
      assert.equal(json.choices[index].message.content, content)
      assert.equal(choiceOf(chunks, index).content, content)
    }
    const withoutEcho = await post(chatUrl, asking(fields))
    assert.equal(withoutEcho.json.choices[0].message.content, 'Hello')
  }
})

test('a text and a list of one part give the same prompt, whatever the template iterates over', async () => {
  for (const chat_template of [
    scriptedModel.template,
    '{% for m in messages %}{% for part in m.content %}{{ part.text }}{% endfor %}{% endfor %}',
    '{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{{ m.content[0].text }}{% endif %}{% endfor %}',
  ]) {
    backend.asked.length = 0
    for (const content of ['Hi', [{ type: 'text', text: 'Hi' }], ['Hi']]) {
      const messages = [{ role: 'narrator', content }]
      assert.equal((await post(chatUrl, { messages, chat_template })).status, 200)
    }
    assert.equal(new Set(backend.asked.map(({ prompt }) => 'text' in prompt && prompt.text)).size, 1)
  }
})
