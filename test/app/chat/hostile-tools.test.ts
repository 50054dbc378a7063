import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { askWholeAndStreamed } from '../../support/answer-turns.ts'
import { openApp } from '../../support/app.ts'
import { asking, chatUrl } from '../../support/chat.ts'
import { hostileTexts } from '../../support/hostile-texts.ts'
import { simulatedBackend } from '../../support/simulated-backend.ts'
import { callText, clock, weather } from '../../support/tools.ts'

const backend = simulatedBackend({ after }, 'Hm.')
const app = await openApp({ after }, { backend })
const { post } = app

const tool = (fields: object) => ({ type: 'function', function: { name: 'f', ...fields } })
const marks = [
  '</tool_call>',
  '<tool_response>',
  '<|im_end|>',
  '<think>',
  '"}}',
  '\n',
  ' ',
  'ü',
  '😀',
  '\udc00',
  '\udfff',
]
const odd = [...hostileTexts, ...marks]

/** The request is answered or refused, and never fails with an error of the server. */
async function answers(fields: Record<string, unknown>) {
  for (const stream of [false, true]) {
    const answer = await post(chatUrl, asking({ ...fields, stream }))
    const said = `${JSON.stringify(fields).slice(0, 300)}: ${answer.status} ${answer.text.slice(0, 300)}`
    assert.ok(answer.status === 200 || answer.status === 400, said)
    if (answer.status === 400) assert.ok(answer.json.error.param, said)
    else if (stream) assert.ok(!answer.text.includes('"error"'), said)
  }
  assert.deepEqual(backend.failures, [])
}

test('odd names of tools are answered or refused', async () => {
  for (const name of [
    ...odd,
    '',
    'x'.repeat(256),
    'x'.repeat(257),
    7,
    null,
    'constructor',
    'a.b:c/d@e-f_0',
  ]) {
    backend.say = 'Hm.'
    await answers({ tools: [tool({ name })] })
    await answers({ tools: [tool({})], tool_choice: { type: 'function', function: { name } } })
    await answers({ messages: historyWith({ name }) })
  }
})

test('tools may be named like built-in properties of objects', async () => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    backend.say = callText(name, '{}')
    const { turns } = await askWholeAndStreamed(app, { tools: [tool({ name })] })
    assert.equal(turns[0]?.calls[0]?.function.name, name)
  }
})

test('odd schemas of parameters are answered or refused', async () => {
  const deep = (depth: number): object =>
    depth === 0 ? {} : { type: 'object', properties: { a: deep(depth - 1) } }
  const schemas: unknown[] = [
    {},
    null,
    [],
    'text',
    true,
    { type: 'string' },
    { type: 'array' },
    { type: 'object', required: ['a'] },
    { type: 'object', properties: { a: { type: 'rope' } } },
    { type: 'object', properties: { a: { $ref: '#/$defs/none' } } },
    { type: 'object', properties: { a: { $ref: 'https://example.com/a' } } },
    { type: 'object', properties: { a: { $ref: '#' } } },
    { type: 'object', properties: { a: { enum: [] } } },
    { type: 'object', properties: { a: { pattern: '(' } } },
    { type: 'object', properties: { a: { pattern: '(a)\\1' } } },
    { type: 'object', properties: { a: { format: 'unknown' } } },
    { type: 'object', properties: { a: { minimum: 5, maximum: 1 } } },
    { type: 'object', properties: { a: { maxLength: 1e9 } } },
    { type: 'object', properties: { a: { minItems: 1e9, type: 'array' } } },
    { type: 'object', properties: Object.fromEntries(odd.map((name) => [name, { const: name }])) },
    { type: 'object', required: odd },
    { anyOf: [{ type: 'object' }, { type: 'string' }] },
    { not: {} },
    { allOf: [{ type: 'object' }, { type: 'array' }] },
    { type: ['object', 'null'] },
    { properties: 7 },
    { type: 'object', additionalProperties: { type: 'object', additionalProperties: 7 } },
    deep(50),
    deep(90),
  ]
  backend.say = 'Hm.'
  for (const parameters of schemas) {
    for (const strict of [undefined, true]) await answers({ tools: [tool({ parameters, strict })] })
  }
})

function historyWith(call: object, fields: object = {}) {
  return [
    { role: 'user', content: 'Hi' },
    {
      role: 'assistant',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}', ...call } }],
      ...fields,
    },
    { role: 'tool', tool_call_id: 'a', content: 'ok' },
  ]
}

test('odd calls and results in earlier turns are answered or refused', async () => {
  backend.say = 'Hm.'
  for (const text of [
    ...odd,
    '',
    '{',
    '[]',
    '7',
    'null',
    '"{}"',
    '{"a":{"b":"<tool_call>"}}',
    'x'.repeat(100_000),
  ]) {
    await answers({ tools: [tool({})], messages: historyWith({ arguments: text }) })
    await answers({ messages: historyWith({}, { content: text, reasoning_content: text }) })
    await answers({
      messages: [
        { role: 'user', content: text },
        { role: 'tool', tool_call_id: text, content: text },
      ],
    })
    await answers({
      messages: [{ role: 'assistant', content: text, function_call: { name: 'f', arguments: text } }],
    })
  }
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
  for (const messages of [
    [{ role: 'tool', content: 'ok' }],
    [{ role: 'tool', tool_call_id: 'none', content: 'ok' }],
    [{ role: 'assistant', tool_calls: [] }],
    [{ role: 'assistant', tool_calls: [call, call] }],
    [{ role: 'assistant', tool_calls: [{ ...call, id: null }] }],
    [{ role: 'assistant', tool_calls: Array(128).fill(call) }],
    [{ role: 'assistant', tool_calls: Array(129).fill(call) }],
    [{ role: 'user', content: 'Hi', tool_calls: [call] }],
    [{ role: 'assistant', tool_calls: [{ id: 'a', type: 'custom', custom: { name: 'f', input: 'x' } }] }],
    [{ role: 'function', name: 'f', content: 'ok' }],
    [{ role: 'tool', content: [{ type: 'text', text: 'ok' }], tool_call_id: 'a' }],
    [{ role: 'tool', content: null, tool_call_id: 'a' }],
  ]) {
    await answers({ tools: [tool({})], messages })
    await answers({ messages })
  }
})

test('odd values of tool_choice are answered or refused', async () => {
  backend.say = 'Hm.'
  const allowed = (given: unknown) => ({ type: 'allowed_tools', allowed_tools: given })
  const f = { type: 'function', function: { name: 'f' } }
  for (const tool_choice of [
    'anything',
    7,
    [],
    {},
    { type: 'function' },
    { type: 'function', function: {} },
    { type: 'custom', custom: { name: 'f' } },
    allowed({}),
    allowed({ mode: 'auto', tools: [] }),
    allowed({ mode: 'none', tools: [f] }),
    allowed({ mode: 'auto', tools: [{ type: 'function', function: { name: 'g' } }] }),
    allowed({ mode: 'auto', tools: [f, f] }),
  ]) {
    for (const tools of [
      undefined,
      [],
      [tool({})],
      [tool({}), tool({})],
      [{ type: 'custom', custom: { name: 'f' } }],
    ]) {
      await answers({ tools, tool_choice })
    }
  }
  for (const fields of [
    { functions: [{ name: 'f' }], tools: [tool({})] },
    { functions: [{ name: 'f' }], tool_choice: 'auto' },
    { function_call: 'auto' },
    { function_call: { name: 'f' } },
    { functions: [], function_call: 'none' },
    { functions: [{ name: 'f' }], function_call: { name: 'g' } },
    { tools: [tool({})], parallel_tool_calls: 'no' },
    { tools: [tool({})], tool_choice: 'required', use_beam_search: true, n: 2, max_tokens: 4 },
    { thinking_token_budget: -1 },
    { thinking_token_budget: 1e12 },
    { reasoning_effort: 7 },
  ]) {
    await answers(fields)
  }
})

test('odd texts of a model are answered, with tools and without a constraint on content', async () => {
  const tools = [weather, clock]
  // Where tools are offered, only a call of one of them follows the mark.
  const marked = [
    '<tool_call>',
    '<tool_call>\n{"name": "',
    '<tool_call>\n{"name": "other", "arguments": {}}\n</tool_call>',
    '<tool_call></tool_call>',
    '<tool_call>\n<tool_call>',
  ]
  const texts = [
    '</tool_call>',
    '<tool_call',
    '</think>',
    '<think>',
    '<think></think>',
    '<think><tool_call>',
    '<tool_response>\n</tool_response>',
    '{"name": "now"}',
    // No constraint allows NUL.
    ...odd.map((text) => text.toWellFormed().replaceAll('\0', '')),
  ]
  const free = [{ tools, tool_choice: 'none' }, {}]
  for (const text of [...marked, ...texts]) {
    backend.say = text
    const auto = [{ tools }, { tools, include_reasoning: false }]
    for (const fields of marked.includes(text) ? free : [...free, ...auto]) {
      await askWholeAndStreamed(app, fields)
    }
  }
})

test('among 128 tools the right one is called', async () => {
  const tools = Array.from({ length: 128 }, (_, index) => ({
    type: 'function',
    function: {
      ...weather.function,
      name: `tool_${index}`,
      description: `The tool ${index}. ${'It is described at some length. '.repeat(8)}`,
    },
  }))
  for (const name of ['tool_1', 'tool_12', 'tool_127']) {
    backend.say = callText(name, { city: 'Oslo' })
    const { turns } = await askWholeAndStreamed(app, { tools, tool_choice: 'required' })
    assert.equal(turns[0]?.calls[0]?.function.name, name)
  }
})
