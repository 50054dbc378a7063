import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnswerFormat } from '../answer-format.ts'
import { resolved } from '../markers.ts'
import type { OfferedTool } from '../offered-tool.ts'
import { everyCut, now, partsOf, type Reading, read, type Told, told, weather } from './answer-reading.ts'
import * as formats from './formats.ts'

const controlTokens = [
  '<|start|>',
  '<|channel|>',
  '<|constrain|>',
  '<|message|>',
  '<|end|>',
  '<|call|>',
  '<|return|>',
]

/** The text as it comes from the engine, with markers in place of the control tokens. */
function drawn(text: string, markers: readonly string[]): string {
  return markers.reduce((all, name, index) => all.replaceAll(name, String.fromCharCode(0xdc00 + index)), text)
}

const called = (name: string, given: string, isComplete = true) => ({ name, arguments: given, isComplete })
const paris = called('get_weather', '{"city": "Paris"}')

const harmonyCases: [string, string, Partial<Told>, Partial<Reading>?][] = [
  ['an answer', '<|channel|>final<|message|>Yes.<|return|>', { content: 'Yes.' }],
  [
    'a thought and an answer',
    '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.',
    { reasoning: 'Hm.', content: 'Yes.' },
  ],
  [
    'a thought and a call',
    '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Paris"}<|call|>',
    { reasoning: 'Hm.', calls: [paris] },
  ],
  [
    'the recipient before the channel',
    ' to=functions.get_weather<|channel|>commentary json<|message|>{"city": "Paris"}<|call|>',
    { calls: [paris] },
  ],
  [
    'a call in the channel of thoughts',
    '<|channel|>analysis to=functions.get_weather<|message|>{"city": "Paris"}',
    { calls: [paris] },
  ],
  [
    'a preamble is content',
    '<|channel|>commentary<|message|>Let me see.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather_now<|message|>{}<|call|>',
    { content: 'Let me see.', calls: [called('get_weather_now', '{}')] },
  ],
  [
    'two thoughts, two contents',
    '<|channel|>analysis<|message|>A<|end|><|start|>assistant<|channel|>analysis<|message|>B<|end|><|start|>assistant<|channel|>commentary<|message|>C<|end|><|start|>assistant<|channel|>final<|message|>D<|return|>',
    { reasoning: 'A\n\nB', content: 'C\n\nD' },
  ],
  [
    'an empty channel before the intended one',
    '<|channel|>commentary to=assistant<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=assistant<|channel|>final<|message|>Yes.',
    { reasoning: 'Hm.', content: 'Yes.' },
  ],
  [
    'a tool that is not offered',
    '<|channel|>commentary to=python <|constrain|>code<|message|>print(1)<|call|>',
    { content: 'print(1)' },
  ],
  ['no message at all', 'Yes, to=day.', { content: 'Yes, to=day.' }],
  [
    'a message without an end',
    '<|channel|>analysis<|message|>Hm.<|start|>assistant<|channel|>final<|message|>Yes.',
    { reasoning: 'Hm.', content: 'Yes.' },
  ],
  ['a thought cut off', '<|channel|>analysis<|message|>Hm. ', { reasoning: 'Hm. ' }],
  ['a header cut off', '<|channel|>analysis<|message|>Hm.<|end|><|start|>assist', { reasoning: 'Hm.' }],
  [
    'a call cut off',
    '<|channel|>commentary to=functions.get_weather<|message|>{"ci',
    { calls: [called('get_weather', '{"ci', false)] },
  ],
  [
    'a thought that the prompt opened',
    'Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.',
    { reasoning: 'Hm.', content: 'Yes.' },
    { thought: 'open' },
  ],
  [
    'calls when no tools are offered',
    '<|channel|>commentary to=functions.get_weather<|message|>{"city": "Paris"}<|call|>',
    { content: '{"city": "Paris"}' },
    { tools: [] },
  ],
]

const harmony: AnswerFormat = { calls: { own: 'harmony' }, proof: 'own' }

for (const tokens of [controlTokens, []]) {
  for (const [name, text, wanted, more] of harmonyCases) {
    test(`gpt-oss${tokens.length === 0 ? ' in letters' : ''}: ${name}`, () => {
      const { format, markers } = resolved(harmony, tokens)
      const reading: Reading = { format: format.calls, thought: 'optional', ...more }
      const written = drawn(text, markers)
      const whole = read(written, reading)
      assert.deepEqual(whole, { reasoning: '', content: '', calls: [], ...wanted })
      for (const pieces of everyCut(written)) assert.deepEqual(told(partsOf(pieces, reading)), whole)
    })
  }
}

const order: OfferedTool = {
  name: 'order',
  parameters: {
    type: 'object',
    properties: {
      note: { type: 'string' },
      count: { type: 'integer' },
      lines: { type: 'array', items: { $ref: '#/$defs/line' } },
      to: {
        type: 'object',
        properties: { street: { type: 'string' }, tags: { type: 'array', items: { type: 'string' } } },
      },
      none: { type: 'array' },
      maybe: { type: ['boolean', 'string'] },
    },
    $defs: { line: { type: 'object', properties: { id: { type: 'string' }, price: { type: 'number' } } } },
  },
  strict: false,
}

test('MiniMax-M3: arguments are a tree of elements, read by the schema', () => {
  const text =
    'Now.<tool_call>\n<invoke name="order"><note> 42 </b>\n</note><count>3</count><lines><item><id>7</id><price>1.50</price></item><item><id></id></item></lines><to><street>"A" & B</street><tags><item>x</item><item>1</item></tags></to><none></none><maybe>true</maybe></invoke>\n<invoke name="get_weather_now"></invoke>\n</tool_call>'
  const bare: AnswerFormat = { calls: formats.minimax3, proof: 'proven' }
  for (const tokens of [[']<]minimax[>['], []]) {
    const { format, markers } = resolved(bare, tokens)
    const written = drawn(
      text
        .replaceAll('</b>', 'END')
        .replace(/<\/?[a-z_]+/g, (tag) => `]<]minimax[>[${tag}`)
        .replaceAll('END', '</b>'),
      markers,
    )
    const reading: Reading = { format: format.calls, tools: [order, now] }
    const whole = read(written, reading)
    assert.equal(whole.content, 'Now.')
    assert.deepEqual(
      whole.calls.map((call) => [call.name, JSON.parse(call.arguments), call.isComplete]),
      [
        [
          'order',
          {
            note: ' 42 </b>\n',
            count: 3,
            lines: [{ id: '7', price: 1.5 }, { id: '' }],
            to: { street: '"A" & B', tags: ['x', '1'] },
            none: [],
            maybe: true,
          },
          true,
        ],
        ['get_weather_now', {}, true],
      ],
    )
    for (const pieces of everyCut(written)) assert.deepEqual(told(partsOf(pieces, reading)), whole)
    for (let end = 0; end < written.length; end++) {
      const cut = written.slice(0, end)
      assert.deepEqual(told(partsOf([...cut], reading)), read(cut, reading), `cut off at ${end}`)
    }
  }
})

const museCases: [string, string, Partial<Told>, Partial<Reading>?][] = [
  ['an answer', ' to=user<|message|>Yes.<|eot|>', { content: 'Yes.' }],
  [
    'a thought, a preamble and a call',
    ' to=self<|message|>Hm. <atem:invoke<|eom|><|start|>assistant to=user<|message|>Let me see.<|eom|><|start|>assistant to=get_weather<|message|><atem:function_calls>\n<atem:invoke name="get_weather">\n<atem:parameter name="city"> A "<b>"\n</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eot|>',
    {
      reasoning: 'Hm. <atem:invoke',
      content: 'Let me see.',
      calls: [called('get_weather', '{"city": " A \\"<b>\\"\\n"}')],
    },
  ],
  [
    'two calls',
    ' to=get_weather_now<|message|><atem:function_calls>\n<atem:invoke name="get_weather_now">\n</atem:invoke>\n</atem:function_calls><|eom|><|start|>assistant to=get_weather_now<|message|><atem:function_calls>\n<atem:invoke name="get_weather_now">\n</atem:invoke>\n</atem:function_calls>',
    { calls: [called('get_weather_now', '{}'), called('get_weather_now', '{}')] },
  ],
  [
    'a call that is addressed to the user is content',
    ' to=user<|message|><atem:function_calls>\n<atem:invoke name="get_weather_now">\n</atem:invoke>',
    { content: '<atem:function_calls>\n<atem:invoke name="get_weather_now">\n</atem:invoke>' },
  ],
  [
    'a tool that is not offered',
    ' to=rm<|message|><atem:function_calls>\n<atem:invoke name="rm">\n</atem:invoke>',
    { content: '<atem:function_calls>\n<atem:invoke name="rm">\n</atem:invoke>' },
  ],
  [
    'a call cut off',
    ' to=get_weather<|message|><atem:function_calls>\n<atem:invoke name="get_weather">\n<atem:parameter name="city">Par',
    { calls: [called('get_weather', '{"city": "Par', false)] },
  ],
  ['a header cut off', ' to=self<|message|>Hm.<|eom|><|start|>assist', { reasoning: 'Hm.' }],
  ['no message at all', 'Yes.', { content: 'Yes.' }],
]

for (const tokens of [['<|start|>', '<|message|>', '<|eom|>', '<|eot|>'], []]) {
  for (const [name, text, wanted, more] of museCases) {
    test(`Muse${tokens.length === 0 ? ' in letters' : ''}: ${name}`, () => {
      const { format, markers } = resolved({ calls: { own: 'muse' }, proof: 'own' }, tokens)
      const reading: Reading = { format: format.calls, thought: 'optional', ...more }
      const written = drawn(text, markers)
      const whole = read(written, reading)
      assert.deepEqual(whole, { reasoning: '', content: '', calls: [], ...wanted })
      for (const pieces of everyCut(written)) assert.deepEqual(told(partsOf(pieces, reading)), whole)
    })
  }
}

test('GigaChat: a call is a message of another role', () => {
  const { format, markers } = resolved({ calls: { own: 'gigachat' }, proof: 'own' }, [
    '<|message_sep|>',
    '<|role_sep|>',
  ])
  const text =
    'Let me see.<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "get_weather", "arguments": {"city": "Paris"}}<|message_sep|>\n\n'
  assert.deepEqual(read(drawn(text, markers), { format: format.calls }), {
    reasoning: '',
    content: 'Let me see.',
    calls: [paris],
  })
})

test('a marker in letters is text where the vocabulary has a token for it', () => {
  const { format, markers } = resolved({ calls: formats.kimi, proof: 'proven' }, [
    '<|tool_calls_section_begin|>',
    '<|tool_call_begin|>',
    '<|tool_call_argument_begin|>',
    '<|tool_call_end|>',
    '<|tool_calls_section_end|>',
    '<|tool_call',
    '<|other|>',
  ])
  assert.equal(markers.length, 5)
  const text =
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "<|tool_call_end|>🐀"}<|tool_call_end|><|tool_calls_section_end|>'
  assert.deepEqual(read(text, { format: format.calls, tools: [weather] }), {
    reasoning: '',
    content: text,
    calls: [],
  })
  const written = drawn(text, markers).replace('"\udc03', '"<|tool_call_end|>')
  const wanted = [called('get_weather', '{"city": "<|tool_call_end|>🐀"}')]
  for (const pieces of everyCut(written)) {
    assert.deepEqual(told(partsOf(pieces, { format: format.calls })).calls, wanted)
  }
})

test('a marker without a meaning in its position is not shown, unless control tokens are', () => {
  const { format, markers } = resolved({ calls: formats.kimi, proof: 'proven' }, ['<|tool_call_end|>'])
  const text = 'A \udc00 🐀🀀 \udc00B'
  assert.equal(read(text, { format: format.calls }).content, 'A  🐀🀀 B')
  assert.equal(
    read(text, { format: format.calls, shown: markers }).content,
    'A <|tool_call_end|> 🐀🀀 <|tool_call_end|>B',
  )
})
