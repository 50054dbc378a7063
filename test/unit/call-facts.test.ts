import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { answerLine, requestLine } from '../../packages/conversations/index.ts'
import { endFacts, opOf, startFacts } from '../../src/domain/call-facts/facts.ts'
import { answerPreview, modelIn, requestPreview } from '../../src/domain/call-facts/preview.ts'

const user = (content: unknown) => ({ role: 'user', content })

for (const [name, inputs, preview] of [
  ['the last message of a user', { messages: [user('one'), { role: 'assistant', content: 'two' }] }, 'one'],
  ['a message in parts', { messages: [user([{ type: 'text', text: 'see' }, { type: 'image_url' }])] }, 'see'],
  ['items of a response', { input: [user([{ type: 'input_text', text: 'see' }])] }, 'see'],
  ['an input that is one text', { input: 'see', model: 'small' }, 'see'],
  ['a prompt', { prompt: 'Once upon' }, 'Once upon'],
  [
    'parts of OpenTelemetry',
    { messages: [{ role: 'user', parts: [{ type: 'text', content: 'hi' }] }] },
    'hi',
  ],
  ['messages of OpenInference', { messages: [{ message: user('hi') }] }, 'hi'],
  ['messages without a user', { messages: [{ role: 'system', content: 'be kind' }] }, 'be kind'],
  ['the only text', { self: 'weave:///acme/qa/object/m:v0', question: 'why?' }, 'why?'],
  ['other inputs by name', { a: 1, b: 'x', c: { d: [1, 'y'] } }, 'a: 1 · b: x · c: d: 1, y'],
  ['one line', { prompt: ' a\n\n\tb\u0000\u0007c\u00a0d ' }, 'a b c d'],
  ['no half of a character at the end', { prompt: `${'x'.repeat(159)}🐟` }, 'x'.repeat(159)],
  ['a lone surrogate', { prompt: 'a\ud800b' }, 'a\ufffdb'],
  ['a message of many megabytes', { messages: [user(`${'y'.repeat(9_000_000)}\\"`)] }, 'y'.repeat(160)],
  ['nothing', {}, null],
] as [string, object, string | null][]) {
  test(`the preview of inputs: ${name}`, () => {
    assert.equal(requestPreview(JSON.stringify(inputs)).preview, preview)
  })
}

for (const [name, output, preview] of [
  ['a text', "N'Djamena", "N'Djamena"],
  ['nothing', null, null],
  ['the empty text', '', null],
  ['a number', 5, '5'],
  ['a choice', { choices: [{ message: { role: 'assistant', content: 'yes' } }] }, 'yes'],
  ['a text completion', { choices: [{ text: ' there was' }] }, 'there was'],
  [
    'a tool call',
    {
      choices: [
        { message: { content: null, tool_calls: [{ function: { name: 'f', arguments: '{"a":1}' } }] } },
      ],
    },
    'f({"a":1})',
  ],
  [
    'blocks',
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text: 'yes' },
      ],
    },
    'yes',
  ],
  [
    'a block with a tool call',
    { role: 'assistant', content: [{ type: 'tool_use', name: 'f', input: { a: 1 } }] },
    'f({"a":1})',
  ],
  [
    'items',
    { output: [{ type: 'reasoning' }, { type: 'message', content: [{ type: 'output_text', text: 'yes' }] }] },
    'yes',
  ],
  ['an item with a tool call', { output: [{ type: 'function_call', name: 'f', arguments: '{}' }] }, 'f({})'],
  ['messages', { messages: [{ role: 'assistant', parts: [{ type: 'text', content: 'yes' }] }] }, 'yes'],
  ['the only text', { completion: 'yes' }, 'yes'],
  ['a list', [1, 2], '1, 2'],
  ['messages as a text', '[{"role":"assistant","content":"yes"}]', 'yes'],
  ['a text that looks like a list', '[1, 2', '[1, 2'],
] as [string, unknown, string | null][]) {
  test(`the preview of an output: ${name}`, () => {
    assert.equal(answerPreview(JSON.stringify(output)), preview)
  })
}

const wild = fc.oneof(
  fc.jsonValue({ noUnicodeString: false }),
  fc.record({
    messages: fc.array(fc.record({ role: fc.constantFrom('user', 'x'), content: fc.jsonValue() })),
    choices: fc.array(fc.jsonValue()),
    model: fc.jsonValue(),
    usage: fc.dictionary(fc.string(), fc.dictionary(fc.constantFrom('prompt_tokens', 'x'), fc.jsonValue())),
    status_counts: fc.record({ error: fc.jsonValue() }),
  }),
)

test('the facts of any JSON are counts and short texts that both storage engines accept', () => {
  fc.assert(
    fc.property(wild, fc.boolean(), (value, isLong) => {
      const text = JSON.stringify(isLong ? { value, long: '\\"é'.repeat(200_000) } : value)
      const isSummary = text.startsWith('{')
      const facts = {
        ...startFacts({ op_name: 'answer', inputs: text, attributes: isSummary ? text : '{}' }),
        ...endFacts({ exception: null, output: text, summary: isSummary ? text : '{}' }),
      }
      for (const fact of Object.values(facts)) {
        if (typeof fact === 'string') {
          assert.ok(fact.isWellFormed() && !fact.includes('\0') && Buffer.byteLength(fact) <= 480)
        } else assert.ok(fact === null || (Number.isSafeInteger(fact) && fact >= 0))
      }
    }),
  )
})

test('a preview of plain messages is what the reader of conversations finds', () => {
  const text = fc.constantFrom('', 'why?', 'so', ' a', '<system-reminder>', '# AGENTS.md instructions', 'x-')
  const part = fc.constantFrom(null, [{ type: 'text', text: 'part' }])
  const extra = fc.constantFrom(
    {},
    {},
    { refusal: 'no' },
    { tool_call_id: 'k' },
    { contents: [{ type: 'text', text: 'c' }] },
  )
  const message = fc
    .tuple(
      fc.record({
        role: fc.constantFrom('user', 'user', 'assistant', 'assistant', 'system', 'tool', 'human', 'x', 7),
        content: fc.oneof({ weight: 4, arbitrary: text }, { weight: 1, arbitrary: part }),
      }),
      extra,
    )
    .map((both) => Object.assign({}, ...both))
  const list = fc.array(
    fc.oneof({ weight: 9, arbitrary: message }, { weight: 1, arbitrary: fc.jsonValue() }),
    {
      minLength: 1,
      maxLength: 4,
    },
  )
  fc.assert(
    fc.property(list, (messages) => {
      const inputs = JSON.stringify({ messages })
      const output = JSON.stringify({ choices: messages.map((item) => ({ message: item })) })
      // A text alone is its own preview.
      const line = (found: string | undefined) => answerPreview(JSON.stringify(found ?? ''))
      assert.equal(requestPreview(inputs).preview, line(requestLine(inputs)))
      assert.equal(answerPreview(output), line(answerLine(output)))
    }),
    { numRuns: 1_000 },
  )
})

test('the model of inputs is the same whether they are searched or parsed', () => {
  const names = fc.constantFrom('model', 'm\u006fdel', '"model"', 'x')
  const name = fc.tuple(names, fc.boolean()).map(([text, isEscaped]) => {
    const written = JSON.stringify(text)
    return isEscaped ? written.replace('o', '\\u006f') : written
  })
  const value = fc.oneof(wild, fc.string(), fc.constant({ model: 'inner' })).map((one) => JSON.stringify(one))
  const object = fc
    .array(fc.tuple(name, value))
    .map((members) => `{${members.map((member) => member.join(':')).join()}}`)
  fc.assert(
    fc.property(fc.oneof(object, value), (json) => {
      assert.equal(modelIn(json), requestPreview(json).model)
    }),
  )
  assert.equal(modelIn('{"m\\u006fdel":"a","messages":[{"model":"b"}],"model":"c"}'), 'c')
})

test('previews are stored for long texts only', () => {
  for (const [length, isKept] of [
    [4096, false],
    [4097, true],
  ] as const) {
    const json = JSON.stringify('x'.repeat(length - 2))
    const { input_preview } = startFacts({ op_name: 'answer', inputs: json, attributes: '{}' })
    const { output_preview } = endFacts({ exception: null, output: json, summary: '{}' })
    assert.deepEqual([input_preview !== null, output_preview !== null], [isKept, isKept], `${length}`)
  }
})

test('token counts are summed over all models, under either of their names', () => {
  const summary = {
    usage: {
      b: { prompt_tokens: 3, completion_tokens: 4, cache_read_input_tokens: 1 },
      a: { input_tokens: 10, output_tokens: 20, total_tokens: 30 },
    },
    heddle: { first_token_ms: 12.3 },
  }
  assert.deepEqual(endFacts({ exception: null, output: null, summary: JSON.stringify(summary) }), {
    status: 'success',
    model: 'a, b',
    input_tokens: 13,
    output_tokens: 24,
    cache_read_tokens: 1,
    cache_creation_tokens: null,
    stated_cost: null,
    first_token_us: 12300,
    output_preview: null,
  })
})

for (const [summary, exception, status] of [
  [{}, null, 'success'],
  [{}, '', 'success'],
  [{}, 'boom', 'error'],
  [{ status_counts: { error: 1 } }, null, 'descendant_error'],
  [{ status_counts: { error: '2' } }, null, 'descendant_error'],
  [{ status_counts: { error: 0 } }, null, 'success'],
  [{ status_counts: [1] }, null, 'success'],
  [{ note: 'x'.repeat(100_000), status_counts: { error: 1 } }, null, 'descendant_error'],
] as [object, string | null, string][]) {
  test(`a call with the summary ${JSON.stringify(summary).slice(0, 40)} and the exception ${exception} has the status ${status}`, () => {
    assert.equal(endFacts({ exception, output: null, summary: JSON.stringify(summary) }).status, status)
  })
}

test('all versions of an op count as one op, and an op name too long for an index is left out', () => {
  assert.equal(opOf('weave:///acme/qa/op/answer:v3'), 'weave:///acme/qa/op/answer:*')
  assert.equal(opOf('weave:///acme/qa/op/answer'), 'weave:///acme/qa/op/answer')
  assert.equal(opOf('module:answer'), 'module:answer')
  assert.equal(opOf(`weave:///${'x'.repeat(2000)}`), null)
})

test('the model that is asked is in the inputs, or else in the attributes of a convention', () => {
  const askedModel = (inputs: object, attributes: object) =>
    startFacts({ op_name: 'chat', inputs: JSON.stringify(inputs), attributes: JSON.stringify(attributes) })
      .asked_model
  for (const attributes of [
    { gen_ai: { request: { model: 'loom-1' } } },
    { llm: { model_name: 'loom-1' } },
    { ai: { model: { id: 'loom-1' } } },
    { langfuse: { observation: { model: { name: 'loom-1' } } } },
  ]) {
    assert.equal(askedModel({}, attributes), 'loom-1')
    assert.equal(askedModel({ model: 'loom-2' }, attributes), 'loom-2')
  }
  assert.equal(askedModel({}, { model: 'loom-1' }), null)
})
