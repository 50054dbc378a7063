import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Part } from '../../../packages/chat-format/index.ts'
import { openApp } from '../../support/app.ts'
import { assertRefused } from '../../support/chat.ts'
import { partsModel } from '../../support/parts-model.ts'
import { asking, eventsOf, responseOf, responsesUrl } from '../../support/responses.ts'

const model = partsModel()
const { post, get } = await openApp({ after }, { model })

const text = (said: string): Part => ({ kind: 'content', text: said })
const thought = (said: string): Part => ({ kind: 'reasoning', text: said })
const call = (index: number, name: string, ...pieces: string[]): Part[] => [
  { kind: 'call', index, id: `call_${index}`, name },
  ...pieces.map((piece): Part => ({ kind: 'arguments', index, text: piece })),
]
const end = (index: number): Part => ({ kind: 'callEnd', index })

const tools = [
  {
    type: 'function',
    name: 'weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
  { type: 'function', name: 'now' },
]

interface Case {
  parts: Part[]
  /** The type and the text of each item. */
  output: [type: string, said: string, status?: string][]
  fields?: Record<string, unknown>
  finish?: typeof model.finish
  incomplete?: string
}

const cut: typeof model.finish = { reason: 'length', stop: null }

const cases: Record<string, Case> = {
  'a thought, a text and two calls': {
    parts: [
      thought('Hm'),
      thought('m.'),
      text('I look.'),
      ...call(0, 'now', '{}'),
      end(0),
      ...call(1, 'weather', '{"city":', '"Rome"}'),
      end(1),
    ],
    output: [
      ['reasoning', 'Hmm.'],
      ['message', 'I look.'],
      ['function_call', '{}'],
      ['function_call', '{"city":"Rome"}'],
    ],
  },
  'only a call': {
    parts: [...call(0, 'now', '{', '}'), end(0)],
    output: [['function_call', '{}']],
  },
  'a thought with its summary': {
    parts: [thought('So'), thought(' it is'), text('Yes')],
    fields: { reasoning: { summary: 'auto', effort: 'low' } },
    output: [
      ['reasoning', 'So it is'],
      ['message', 'Yes'],
    ],
  },
  'a thought that is cut off': {
    parts: [thought('So')],
    finish: cut,
    output: [['reasoning', 'So', 'incomplete']],
    incomplete: 'max_output_tokens',
  },
  'a call that is cut off': {
    parts: [text('I look.'), ...call(0, 'weather', '{"ci')],
    finish: cut,
    output: [
      ['message', 'I look.'],
      ['function_call', '{"ci', 'incomplete'],
    ],
    incomplete: 'max_output_tokens',
  },
  'a call that is cut off by a stop text': {
    parts: [...call(0, 'weather', '{"ci')],
    finish: { reason: 'stop', stop: 'ty' },
    output: [['function_call', '{"ci', 'incomplete']],
    incomplete: 'stop',
  },
  'text after a call': {
    parts: [...call(0, 'now', '{}'), end(0), text('Done')],
    output: [
      ['function_call', '{}'],
      ['message', 'Done'],
    ],
  },
}

// biome-ignore lint/suspicious/noExplicitAny: an item is compared, never trusted
const saidOf = (item: any): string =>
  item.arguments ?? item.content.map((part: { text: string }) => part.text).join()

for (const [
  how,
  { parts, output, fields, finish = { reason: 'stop', stop: null }, incomplete },
] of Object.entries(cases)) {
  test(`${how}: the answer is the same whole, streamed, stored and replayed`, async () => {
    Object.assign(model, { parts, finish })
    const body = asking({ tools, ...fields })
    const { json: whole, status } = await post(responsesUrl, body)
    assert.equal(status, 200, JSON.stringify(whole))
    assert.equal(whole.status, incomplete ? 'incomplete' : 'completed')
    assert.deepEqual(whole.incomplete_details, incomplete ? { reason: incomplete } : null)
    assert.deepEqual(
      whole.output.map((item: { type: string; status: string }) => [item.type, saidOf(item), item.status]),
      output.map(([type, said, status = 'completed']) => [type, said, status]),
    )
    const { text } = await post(responsesUrl, { ...body, stream: true })
    const events = eventsOf(text)
    const streamed = responseOf(events)
    const shape = (response: { id: string; output: object[]; usage: object }) =>
      JSON.parse(JSON.stringify([response.output, response.usage]).replaceAll(response.id.slice(5), ''))
    assert.deepEqual(shape(streamed), shape(whole))

    assert.deepEqual((await get(`${responsesUrl}/${streamed.id}`)).json, streamed)
    const replayed = eventsOf((await get(`${responsesUrl}/${streamed.id}?stream=true`)).text)
    assert.deepEqual(replayed, events)
    const rest = eventsOf((await get(`${responsesUrl}/${streamed.id}?stream=true&starting_after=3`)).text)
    assert.deepEqual(rest, events.slice(4))
    responseOf(eventsOf((await get(`${responsesUrl}/${whole.id}?stream=true`)).text))
  })
}

test('a summary is the thought itself', async () => {
  Object.assign(model, { parts: [thought('So'), text('Yes')], finish: { reason: 'stop', stop: null } })
  for (const reasoning of [{ summary: 'detailed' }, { generate_summary: 'auto' }]) {
    const { json } = await post(responsesUrl, asking({ reasoning }))
    assert.deepEqual(json.output[0].summary, [{ type: 'summary_text', text: 'So' }])
    assert.deepEqual(json.output[0].content, [{ type: 'reasoning_text', text: 'So' }])
  }
  const { json } = await post(responsesUrl, asking())
  assert.deepEqual(json.output[0].summary, [])
})

test('thoughts are left out on request, but counted', async () => {
  Object.assign(model, { parts: [thought('So'), text('Yes')], finish: { reason: 'stop', stop: null } })
  const { json: shown } = await post(responsesUrl, asking())
  const { json } = await post(responsesUrl, asking({ include_reasoning: false }))
  assert.deepEqual(
    json.output.map(({ type }: { type: string }) => type),
    ['message'],
  )
  assert.equal(shown.usage.output_tokens_details.reasoning_tokens, 1)
  assert.deepEqual(json.usage, shown.usage)
})

test('the settings of a request reach the model', async () => {
  Object.assign(model, { parts: [text('Yes')], finish: { reason: 'stop', stop: null } })
  const functions = tools.map(({ name }) => name)
  const asked = async (fields: object) => {
    const { status, json } = await post(responsesUrl, asking({ tools, ...fields }))
    assert.equal(status, 200, JSON.stringify(json))
    return model.asked.at(-1)
  }
  const { turn } = (await asked({})) ?? {}
  assert.deepEqual(
    [turn?.calls?.choice, turn?.calls?.isParallel, turn?.calls?.tools.map((one) => one.function.name)],
    ['auto', true, functions],
  )
  assert.equal((await asked({ tool_choice: 'none' }))?.turn?.calls, undefined)
  assert.equal((await asked({ tool_choice: 'required' }))?.turn?.calls?.choice, 'required')
  assert.equal((await asked({ parallel_tool_calls: false }))?.turn?.calls?.isParallel, false)
  const named = await asked({ tool_choice: { type: 'function', name: 'now' } })
  assert.deepEqual(named?.turn?.calls?.choice, { name: 'now' })
  const allowed = {
    type: 'allowed_tools',
    mode: 'required',
    tools: [{ type: 'function', name: 'now' }, { type: 'mcp' }],
  }
  const some = await asked({ tool_choice: allowed })
  assert.deepEqual(
    [some?.turn?.calls?.choice, some?.turn?.calls?.tools.map((one) => one.function.name)],
    ['required', ['now']],
  )
  const format = { type: 'json_schema', name: 'x', schema: { type: 'object' }, strict: true }
  const { constraint } = (await asked({ text: { format } })) ?? {}
  assert.deepEqual(
    [constraint?.constraint, constraint?.field],
    [{ kind: 'json', schema: { type: 'object' } }, 'text.format.schema'],
  )
  assert.equal((await asked({ text: { format: { type: 'text' } } }))?.constraint, undefined)
  assert.equal((await asked({ structured_outputs: { regex: 'a+' } }))?.constraint?.constraint.kind, 'regex')
  const input = (await asked({ reasoning: { effort: 'high' } }))?.inputs[0]
  assert.ok(input && 'conversation' in input && input.conversation.reasoningEffort === 'high')
})

test('tools that only OpenAI runs are skipped and named', async () => {
  Object.assign(model, { parts: [text('Yes')], finish: { reason: 'stop', stop: null } })
  const others = [{ type: 'web_search' }, { type: 'mcp', server_label: 'x' }, { type: 'web_search' }]
  for (const given of [[...others, tools[1]], others]) {
    const { status, json, headers } = await post(responsesUrl, asking({ tools: given, tool_choice: 'auto' }))
    assert.equal(status, 200)
    assert.equal(headers['x-heddle-skipped-tools'], 'web_search, mcp')
    assert.equal(json.tools.length, given.length - 3)
  }
})

test('skipped tools are named even when their type needs escaping in a header', async () => {
  Object.assign(model, { parts: [text('Yes')], finish: { reason: 'stop', stop: null } })
  for (const [type, shown] of [
    ['\ud800', '%EF%BF%BD'],
    ['a\r\nx: y, ü', 'a%0D%0Ax%3A%20y%2C%20%C3%BC'],
    ['', ''],
  ] as const) {
    const { status, headers } = await post(responsesUrl, asking({ tools: [{ type }] }))
    assert.deepEqual([status, headers['x-heddle-skipped-tools']], [200, shown])
  }
})

test('a conversation reaches the model as turns', async () => {
  Object.assign(model, { parts: [text('Yes')], finish: { reason: 'stop', stop: null } })
  const input = [
    { role: 'developer', content: 'Be kind.' },
    { role: 'user', content: 'Hi' },
    { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'Hm' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
    { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'now', arguments: '{}' },
    { type: 'function_call', call_id: 'c2', name: 'weather', arguments: '{"city":"Rome"}' },
    { type: 'function_call_output', call_id: 'c1', output: 'noon' },
    { type: 'function_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'sun' }] },
    { type: 'reasoning', id: 'rs_2', summary: [{ type: 'summary_text', text: 'Good' }] },
    { type: 'message', role: 'assistant', content: 'It is sunny.' },
    { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'a' },
        { type: 'input_text', text: 'b' },
      ],
    },
  ]
  const { status, json } = await post(responsesUrl, asking({ input, tools, instructions: 'Short.' }))
  assert.equal(status, 200, JSON.stringify(json))
  const asked = model.asked.at(-1)?.inputs[0]
  assert.ok(asked && 'conversation' in asked)
  const called = (id: string, name: string, given: string) => ({
    id,
    type: 'function',
    function: { name, arguments: given },
  })
  assert.deepEqual(asked.conversation.messages, [
    { role: 'system', content: 'Short.' },
    { role: 'developer', content: 'Be kind.' },
    { role: 'user', content: 'Hi' },
    {
      role: 'assistant',
      content: 'I look.',
      reasoning: 'Hm',
      tool_calls: [called('c1', 'now', '{}'), called('c2', 'weather', '{"city":"Rome"}')],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'noon' },
    { role: 'tool', tool_call_id: 'c2', content: 'sun' },
    { role: 'assistant', content: 'It is sunny.', reasoning: 'Good' },
    { role: 'assistant', content: 'No.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    },
  ])
})

for (const [field, fields, param] of [
  ['a conversation without an id', { conversation: {} }, 'conversation.id'],
  [
    'a conversation and an answer to continue',
    { conversation: 'conv_1', previous_response_id: 'resp_1' },
    'conversation',
  ],
  ['a conversation of what is not kept', { conversation: 'conv_1', store: false }, 'store'],
  ['nothing', { input: undefined }, 'input'],
  ['log-probabilities that are not included', { top_logprobs: 2 }, 'top_logprobs'],
  ['something that cannot be included', { include: ['everything'] }, 'include.0'],
  [
    'too much metadata',
    { metadata: Object.fromEntries([...Array(17).keys()].map((n) => [n, 'x'])) },
    'metadata',
  ],
  ['metadata that is not a text', { metadata: { a: 5 } }, 'metadata.a'],
  ['no input', { input: [] }, 'input'],
  ['an item of another type', { input: [{ type: 'web_search_call', id: 'x' }] }, 'input.0.type'],
  ['another role', { input: [{ role: 'robot', content: 'x' }] }, 'input.0.role'],
  ['a message without content', { input: [{ role: 'user' }] }, 'input.0.content'],
  [
    'an image',
    { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] },
    'input.0.content.0.type',
  ],
  [
    'a call without a name',
    { input: [{ type: 'function_call', call_id: 'c', arguments: '{}' }] },
    'input.0.name',
  ],
  [
    'arguments that are not an object',
    { input: [{ type: 'function_call', call_id: 'c', name: 'now', arguments: '[1]' }] },
    'input.0.arguments',
  ],
  [
    'an output without its call',
    { input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] },
    'input.0.call_id',
  ],
  [
    'thoughts of another server',
    { input: [{ type: 'reasoning', summary: [], encrypted_content: 'gAAAA' }] },
    'input.0.encrypted_content',
  ],
  [
    'a function with a name that no call can have',
    { tools: [{ type: 'function', name: 'a b' }] },
    'tools.0.name',
  ],
  [
    'a function after a skipped tool, with a name that no call can have',
    { tools: [{ type: 'web_search' }, { type: 'function', name: 'a b' }] },
    'tools.1.name',
  ],
  ['a function without a name', { tools: [{ type: 'function' }] }, 'tools.0.name'],
  ['a choice without tools', { tool_choice: 'required' }, 'tool_choice'],
  ['an unknown function', { tools, tool_choice: { type: 'function', name: 'other' } }, 'tool_choice'],
  [
    'two constraints',
    { text: { format: { type: 'json_object' } }, structured_outputs: { regex: 'a' } },
    'structured_outputs',
  ],
  [
    'a constraint together with a function',
    { tools, tool_choice: { type: 'function', name: 'now' }, text: { format: { type: 'json_object' } } },
    'text.format',
  ],
  ['effort in another word', { reasoning: { effort: 'huge' } }, 'reasoning.effort'],
  ['a budget of nothing', { max_output_tokens: 0 }, 'max_output_tokens'],
] as const) {
  test(`refused and named: ${field}`, async () => {
    const { status, json } = await post(responsesUrl, asking(fields as Record<string, unknown>))
    assert.deepEqual([status, json.error?.param], [400, param], JSON.stringify(json))
    const streamed = await post(
      responsesUrl,
      asking({ ...(fields as Record<string, unknown>), stream: true }),
    )
    assertRefused(streamed, { status: 400, code: json.error.code, param })
  })
}
