import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { alternativeSpellings } from '../alternative-spellings.ts'
import { type CallFormat, hermes } from '../call-format.ts'
import type { OfferedTool } from '../offered-tool.ts'
import { partsOf, type Reading, read, told } from './answer-reading.ts'
import * as others from './formats.ts'
import { type WrittenCall, written } from './writing.ts'

const formats: Record<string, CallFormat> = { hermes, ...others }
const readings: Record<string, Pick<Reading, 'format' | 'second'>> = {
  ...Object.fromEntries(Object.entries(formats).map(([name, format]) => [name, { format }])),
  harmony: { format: { own: 'harmony' } },
  muse: { format: { own: 'muse' } },
  ...Object.fromEntries(
    [hermes, others.qwenCoder, others.kimi].map((format, at) => [
      `second spellings ${at}`,
      { format, second: alternativeSpellings({ calls: { format, tools: [], choice: 'auto' } }) },
    ]),
  ),
}

const think = { open: '<think>\n', close: '\n</think>\n\n', switches: { on: {}, off: {} }, isDefault: true }

const tools: OfferedTool[] = ['act', 'act_on', 'Äct.1'].map((name) => ({
  name,
  parameters: {
    type: 'object',
    properties: {
      text: { type: 'string' },
      other: { type: 'string' },
      count: { type: 'integer' },
      ratio: { type: ['number', 'null'] },
      isOn: { type: 'boolean' },
      list: { type: 'array' },
      inner: { type: 'object' },
    },
  },
  strict: false,
}))

/** Fragments of the texts of models, and others that could break a reader. */
const fragments = [
  ...Object.values(formats).flatMap(({ open, mid, gap = [], close, arguments: given }) => [
    ...[...open, ...mid, ...gap, ...close].filter((part) => typeof part === 'string'),
    ...(given.kind === 'tagged'
      ? Object.values(given.values).flatMap((one) => [one.before, one.mid, one.after])
      : []),
  ]),
  ...'<|start|>,<|channel|>,analysis,commentary to=functions.,final,<|message|>,<|end|>,<|call|>'.split(','),
  ...' to=act,to=self,to=user,<|eom|>,<atem:function_calls>\n<atem:invoke name="act">\n,<atem:parameter name="text">'.split(
    ',',
  ),
  ...']<]minimax[>[<tool_call>|]<]minimax[>[<invoke name="|">|]<]minimax[>[</invoke>|]<]minimax[>[<text>|]<]minimax[>[</text>'.split(
    '|',
  ),
  ...[
    '```json\n',
    '{"name": "act", "arguments": ',
    '"parameters": ',
    '<function=act>',
    '</function>',
    '<think>',
    '</think>',
    '\n',
    '\n\n',
    '  ',
    '{',
    '}',
    '"',
    "'",
    '\\',
    '\\u00e4',
    '\\ud83d',
    '\\ude00',
    '[',
    ']',
    '(',
    ')',
  ],
  ...[
    'text',
    'act',
    'act_on',
    '{"text": "a"}',
    '{}',
    'null',
    '42',
    'True',
    ',',
    ':',
    '=',
    'ä🐀',
    '\ud83d',
    '\udc00',
    '\udfff',
  ],
].filter((part) => part !== '')

const soup = fc
  .array(fc.oneof(fc.constantFrom(...fragments), fc.string({ maxLength: 4 })), { maxLength: 24 })
  .map((parts) => parts.join(''))
const cutsOf = fc.array(fc.nat({ max: 400 }), { maxLength: 40 })

function cut(text: string, cuts: readonly number[]): string[] {
  const positions = [0, ...cuts.filter((at) => at < text.length).toSorted((a, b) => a - b), text.length]
  return positions.slice(1).map((end, index) => text.slice(positions[index], end))
}

for (const [name, reading] of Object.entries(readings)) {
  test(`${name}: the parts of any text are the same however it is split`, () => {
    fc.assert(
      fc.property(
        soup,
        cutsOf,
        fc.constantFrom('open', 'optional', 'over', undefined),
        fc.boolean(),
        (text, cuts, thought, isParallel) => {
          const given: Reading = {
            ...reading,
            tools,
            isParallel,
            ...(thought === undefined ? {} : { reasoning: think, thought }),
          }
          const whole = read(text, given)
          assert.deepEqual(told(partsOf(cut(text, cuts), given)), whole)
          assert.deepEqual(told(partsOf(text.split(''), given)), whole)
        },
      ),
      { numRuns: 200 },
    )
  })

  if ('own' in (reading.format as object)) continue
  test(`${name}: the whole text is content when no tools are offered`, () => {
    fc.assert(
      fc.property(soup, (text) => {
        const letters = text.replace(/[\udc00-\udfff]/gu, '')
        assert.deepEqual(read(text, { ...reading, tools: [] }), {
          reasoning: '',
          content: letters,
          calls: [],
        })
      }),
      { numRuns: 200 },
    )
  })
}

const hostile = [
  '',
  ' ',
  '\n',
  ' a\n',
  '"',
  "it's",
  '\\',
  '\\n',
  '{"a": 1}',
  'null',
  'true',
  '42',
  '<b>&amp;</b>',
  '</tool_call>',
  '<tool_call>',
  '</think>',
  ']',
  ')]',
  '🐀ä',
  ' ',
]
const text = fc.oneof(fc.constantFrom(...hostile), fc.string({ unit: 'grapheme', maxLength: 12 }))
/** JSON.parse of V8 13.6 reads a key `\n` as `\` where an earlier object had `\` in its place. */
const key = text.filter((one) => one !== '__proto__' && !one.includes('\\'))
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    text,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => one + 0),
    fc.boolean(),
    fc.constant(null),
    tie('list'),
    tie('inner'),
  ),
  list: fc.array(tie('value'), { maxLength: 3 }),
  inner: fc.dictionary(key, tie('value'), { maxKeys: 3, noNullPrototype: true }),
}))

const given = fc.record(
  {
    text,
    other: text,
    count: fc.integer(),
    ratio: fc.option(fc.integer().map((one) => one / 8)),
    isOn: fc.boolean(),
    list: json.list,
    inner: json.inner,
  },
  { requiredKeys: [], noNullPrototype: true },
)
const calls = fc.array(
  fc.record(
    { name: fc.constantFrom(...tools.map((tool) => tool.name)), arguments: given },
    { noNullPrototype: true },
  ),
  { minLength: 1, maxLength: 3 },
)

/** A raw text cannot contain its own end marker. */
function canBeWritten({ arguments: form }: CallFormat, all: readonly WrittenCall[]): boolean {
  if (form.kind !== 'tagged') return true
  const { after, written: how } = form.values.string
  return all.every((call) =>
    Object.values(call.arguments).every(
      (value) =>
        how === 'json' || typeof value !== 'string' || `${value}${after}`.indexOf(after) === value.length,
    ),
  )
}

for (const [name, format] of Object.entries(formats)) {
  test(`${name}: written calls are read back`, () => {
    fc.assert(
      fc.property(
        calls,
        cutsOf,
        fc.constantFrom('', 'Let me see.', 'One\n\n{"a": <b>'),
        (all, cuts, before) => {
          const some = format.gap === undefined ? all.slice(0, 1) : all
          const content = format.isAnchored ? '' : before
          fc.pre(canBeWritten(format, some))
          const whole = told(partsOf(cut(content + written(format, some), cuts), { format, tools }))
          assert.equal(whole.content, content)
          assert.deepEqual(
            whole.calls.map((call) => ({
              name: call.name,
              arguments: JSON.parse(call.arguments) as unknown,
            })),
            some,
          )
          assert.ok(whole.calls.every((call) => call.isComplete))
        },
      ),
      { numRuns: 200 },
    )
  })
}

test('a long answer is read in linear time, in pieces of any size', () => {
  const long = [
    ' '.repeat(200_000),
    '<tool_call>\n'.repeat(20_000),
    '<tool_call>\n{"name": "'.repeat(10_000),
    `<tool_call>\n{"name": "act", "arguments": {"text": "${'\\"'.repeat(50_000)}`,
    `<tool_call>\n${' '.repeat(100_000)}`,
  ]
  for (const all of long) {
    const reader = () =>
      partsOf(all.match(/.{1,5}/gs) ?? [], { format: hermes, tools, reasoning: think, thought: 'optional' })
    const started = process.cpuUsage().user
    const whole = told(reader())
    const spent = (process.cpuUsage().user - started) / 1000
    assert.equal(
      whole.content.length + whole.calls.reduce((sum, call) => sum + call.arguments.length, 0) > 0,
      true,
    )
    assert.ok(spent < 5_000, `${spent} ms`)
  }
})
