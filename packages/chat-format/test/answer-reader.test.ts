import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hermes } from '../call-format.ts'
import { createAnswerReader } from '../reading/answer-reader.ts'
import { everyCut, partsOf, type Reading, read, type Told, told } from './answer-reading.ts'

const think = { open: '<think>\n', close: '\n</think>\n\n', switches: { on: {}, off: {} }, isDefault: true }
const given: Reading = { format: hermes }
const thinking: Reading = { format: hermes, reasoning: think, thought: 'optional' }
const paris = { name: 'get_weather', arguments: '{"city": "Paris"}', isComplete: true }
const parisText = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
const nowCall = { name: 'get_weather_now', arguments: '{}', isComplete: true }
const nowText = '<tool_call>\n{"name": "get_weather_now", "arguments": {}}\n</tool_call>'

const cases: [string, string, Reading, Partial<Told>][] = [
  ['plain text', 'Hello.', given, { content: 'Hello.' }],
  ['one call', parisText, given, { calls: [paris] }],
  ['several calls', `${parisText}\n${nowText}`, given, { calls: [paris, nowCall] }],
  ['several calls without the white space between', parisText + nowText, given, { calls: [paris, nowCall] }],
  ['text before a call', `Let me see.${parisText}`, given, { content: 'Let me see.', calls: [paris] }],
  [
    'text between and after calls',
    `One ${parisText} two ${nowText} three`,
    given,
    { content: 'One  two  three', calls: [paris, nowCall] },
  ],
  [
    'white space before, between and after calls',
    `\n\n${parisText}\n\n\n${nowText}\n\n`,
    given,
    { calls: [paris, nowCall] },
  ],
  [
    'no white space anywhere',
    '<tool_call>{"name":"get_weather","arguments":{"city":"Paris"}}</tool_call>',
    given,
    { calls: [{ ...paris, arguments: '{"city":"Paris"}' }] },
  ],
  [
    'a thought that is closed twice',
    '<think>\nHm.\n</think>\n\n</think>\n\nHello.',
    thinking,
    { reasoning: 'Hm.', content: 'Hello.' },
  ],
  [
    'a thought that was cut, and that the model ends again later',
    '<think>\nHm.\n</think>\n\nSo 4.</think>Four.',
    { ...thinking, isThoughtCut: true },
    { reasoning: 'Hm.', content: 'So 4.Four.' },
  ],
  [
    'a marker of thoughts in the answer',
    '<think>\nHm.\n</think>\n\nThe tag </think> closes it.',
    thinking,
    { reasoning: 'Hm.', content: 'The tag </think> closes it.' },
  ],
  [
    'an empty thought of control tokens after the answer',
    'Hello.\udc00thought\n\udc01',
    { ...thinking, reasoning: { ...think, open: '\udc00thought', close: '\udc01' } },
    { content: 'Hello.' },
  ],
  [
    'words between control tokens after the answer',
    'Hello.\udc00response\udc01\udc00message\udc01',
    { ...given, closings: ['\udc00response\udc01', '\udc00message\udc01'] },
    { content: 'Hello.' },
  ],
  [
    'requested JSON with a call in a string',
    `["${parisText.replaceAll('"', "'")}", "${'<tool_call>{'}"]`,
    { ...given, isBesideContent: true },
    { content: `["${parisText.replaceAll('"', "'")}", "${'<tool_call>{'}"]` },
  ],
  [
    'calls instead of the requested JSON',
    `\n${parisText}\n${nowText}`,
    { ...given, isBesideContent: true },
    { calls: [paris, nowCall] },
  ],
  [
    'more white space',
    '<tool_call>\n\n { "name" : "get_weather" ,\n "arguments" :  {"city": "Paris"}\n}\n\n</tool_call>',
    given,
    { calls: [paris] },
  ],
  [
    'strings with markers, quotes and brackets in them',
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "}}</tool_call>\\"{<tool_call>\\\\"}}\n</tool_call>.',
    given,
    { content: '.', calls: [{ ...paris, arguments: '{"city": "}}</tool_call>\\"{<tool_call>\\\\"}' }] },
  ],
  [
    'arguments that are written as a JSON string',
    '<tool_call>\n{"name": "get_weather", "arguments": "{\\"city\\": \\"P\\u00e4\\ud83d\\ude00\\"}"}\n</tool_call>',
    given,
    { calls: [{ ...paris, arguments: '{"city": "Pä😀"}' }] },
  ],
  [
    'no arguments as null',
    '<tool_call>\n{"name": "get_weather_now", "arguments": null}\n</tool_call>',
    given,
    { calls: [nowCall] },
  ],
  [
    'the beginning of a marker at the end',
    'The tag is <tool_call>\n{"name": "get',
    given,
    { content: 'The tag is <tool_call>\n{"name": "get' },
  ],
  [
    'a call whose name is certain, cut off',
    '<tool_call>\n{"name": "get_weather", "arg',
    given,
    { calls: [{ ...paris, arguments: '', isComplete: false }] },
  ],
  [
    'a call cut off in its arguments',
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Par',
    given,
    { calls: [{ ...paris, arguments: '{"city": "Par', isComplete: false }] },
  ],
  ['a call cut off in its closing marker', parisText.slice(0, -5), given, { calls: [paris] }],
  [
    'calls cut off in between',
    `${parisText}\n<tool_call>\n{"name`,
    given,
    { content: '\n<tool_call>\n{"name', calls: [paris] },
  ],
  [
    'a tool that is not offered',
    `${parisText}\n<tool_call>\n{"name": "rm", "arguments": {}}\n</tool_call>\n${nowText}`,
    given,
    {
      content: '\n<tool_call>\n{"name": "rm", "arguments": {}}\n</tool_call>\n',
      calls: [paris, nowCall],
    },
  ],
  [
    'prose about the marker',
    'Write <tool_call> and then JSON: <tool_call>\n{"name": 1}',
    given,
    { content: 'Write <tool_call> and then JSON: <tool_call>\n{"name": 1}' },
  ],
  [
    'arguments that are not an object',
    '<tool_call>\n{"name": "get_weather", "arguments": 5}\n</tool_call>',
    given,
    { content: '<tool_call>\n{"name": "get_weather", "arguments": 5}\n</tool_call>' },
  ],
  ['no tools offered', parisText, {}, { content: parisText }],
  [
    'one call at most',
    `${parisText}\n${nowText}`,
    { ...given, isParallel: false },
    { content: `\n${nowText}`, calls: [paris] },
  ],
  ['a thought', '<think>\nHm.\n</think>\n\nYes.', thinking, { reasoning: 'Hm.', content: 'Yes.' }],
  [
    'a thought without white space',
    '<think>Hm.</think>Yes.',
    thinking,
    { reasoning: 'Hm.', content: 'Yes.' },
  ],
  ['an empty thought', '<think>\n\n</think>\n\nYes.', thinking, { content: 'Yes.' }],
  [
    'white space inside a thought',
    '<think>\n\nOne.\n\nTwo.\n\n\n</think>\nYes.',
    thinking,
    { reasoning: 'One.\n\nTwo.', content: 'Yes.' },
  ],
  ['no thought where one is possible', '\nYes. <think>', thinking, { content: '\nYes. <think>' }],
  [
    'a thought that the prompt opened',
    'Hm.\n</think>\n\nYes.',
    { ...thinking, thought: 'open' },
    { reasoning: 'Hm.', content: 'Yes.' },
  ],
  [
    'a thought that is opened again',
    '<think>\nHm.</think>Yes.',
    { ...thinking, thought: 'open' },
    { reasoning: 'Hm.', content: 'Yes.' },
  ],
  ['a thought cut off', 'Hm.\n</thi', { ...thinking, thought: 'open' }, { reasoning: 'Hm.\n</thi' }],
  [
    'a thought that was closed by the prompt',
    '\n\nYes.',
    { ...thinking, thought: 'over' },
    { content: 'Yes.' },
  ],
  ['an end without a beginning', 'Yes.</think> No.', thinking, { content: 'Yes.</think> No.' }],
  ['an end at the very beginning', '</think>\n\nYes.', thinking, { content: 'Yes.' }],
  [
    'a call after a thought',
    `<think>\nHm.\n</think>\n\n${parisText}`,
    thinking,
    { reasoning: 'Hm.', calls: [paris] },
  ],
  [
    'a call that ends a thought',
    `Hm.\n${parisText}`,
    { ...thinking, thought: 'open' },
    { reasoning: 'Hm.', calls: [paris] },
  ],
]

for (const [name, text, reading, wanted] of cases) {
  test(`Hermes: ${name}`, () => {
    const whole = read(text, reading)
    assert.deepEqual(whole, { reasoning: '', content: '', calls: [], ...wanted })
    for (const pieces of everyCut(text)) {
      assert.deepEqual(told(partsOf(pieces, reading)), whole, JSON.stringify(pieces))
    }
  })
}

test('isThinking is true during a thought', () => {
  const reader = createAnswerReader({ reasoning: think, thought: 'open' })
  assert.equal(reader.isThinking, true)
  reader.push('Hm.\n</think')
  assert.equal(reader.isThinking, true)
  reader.push('>')
  assert.equal(reader.isThinking, false)
  const other = createAnswerReader({ reasoning: think, thought: 'optional' })
  assert.equal(other.isThinking, false)
  other.push('<think>')
  assert.equal(other.isThinking, true)
})
