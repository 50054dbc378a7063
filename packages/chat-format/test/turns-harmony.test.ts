import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CodedCalls } from '../index.ts'
import { resolved } from '../index.ts'
import { followerOf, tool } from './turns.ts'

const { format, markers } = resolved({ calls: { own: 'harmony' }, proof: 'own' }, [
  '<|start|>',
  '<|channel|>',
  '<|constrain|>',
  '<|message|>',
  '<|end|>',
  '<|call|>',
  '<|return|>',
])
const own = format.calls as CodedCalls

/** The text with markers in place of the control tokens. */
const drawn = (text: string) =>
  markers.reduce((all, name, index) => all.replaceAll(name, String.fromCharCode(0xdc00 + index)), text)

const tools = [
  tool('get_weather', { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }),
  tool('get_weather_now', { type: 'object', properties: {} }),
]
const turnOf = (choice: 'auto' | 'required', thought: 'optional' | 'over' | 'open') =>
  followerOf({ own, thought, calls: { format: own, tools, choice, isParallel: true } })

const thought = '<|channel|>analysis<|message|>Hm. {<|end|><|start|>assistant'
const paris =
  '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Paris"}<|call|>'
const now = ' to=functions.get_weather_now<|channel|>commentary json<|message|>{}'
const preamble = '<|channel|>commentary<|message|>Let me see.<|end|><|start|>assistant'
const answer = '<|channel|>final<|message|>Yes, {"city": 1}.'

test('gpt-oss may think, write a preamble, call a tool or answer', () => {
  const follow = turnOf('auto', 'optional')
  for (const text of [
    answer,
    thought + answer,
    paris,
    thought + now,
    preamble + paris,
    thought + preamble + answer,
  ]) {
    const letters = drawn(text)
    assert.deepEqual(
      { text, ...follow(letters), isOver: true },
      { text, length: letters.length, isComplete: true, isOver: true },
    )
  }
  assert.equal(follow(drawn(paris)).isOver, true)
})

test('a wrong call of gpt-oss is masked at its first wrong character', () => {
  const follow = turnOf('auto', 'optional')
  for (const [text, at] of [
    ['<|channel|>commentary to=functions.get_weather<|message|>{"town', '"town'],
    ['<|channel|>commentary to=functions.get_weather<|message|>{}', '}'],
    ['<|channel|>commentary to=functions.rm<|message|>', 'rm'],
    ['<|channel|>commentary to=python<|message|>', 'python'],
    ['<|channel|>final<|message|>a<|channel|>', '<|channel|>'],
    ['Yes.', 'Y'],
  ] as const) {
    const wrong = drawn(text)
    const position = at === '"town' ? wrong.lastIndexOf(at) + 1 : wrong.lastIndexOf(drawn(at))
    assert.equal(follow(wrong).length, position, text)
  }
})

test('gpt-oss must call a tool where a call is required, also after a thought', () => {
  const follow = turnOf('required', 'optional')
  assert.equal(follow(drawn(answer)).length, drawn('<|channel|>').length)
  assert.equal(follow(drawn(thought + paris)).isOver, true)
  assert.equal(turnOf('required', 'over')(drawn(thought)).length, 1)
  assert.equal(turnOf('required', 'open')(drawn(`Hm.<|end|><|start|>assistant${paris}`)).isOver, true)
})

test('an answer of gpt-oss must fit its constraint', () => {
  const follow = followerOf({ own, thought: 'optional', content: { kind: 'choice', choices: ['yes', 'no'] } })
  assert.equal(follow(drawn(`${thought}<|channel|>final <|constrain|>json<|message|>yes`)).isComplete, true)
  assert.equal(
    follow(drawn(`${thought}<|channel|>final<|message|>yep`)).length,
    drawn(`${thought}<|channel|>final<|message|>ye`).length,
  )
})
