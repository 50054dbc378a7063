import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CodedCalls } from '../index.ts'
import { resolved } from '../index.ts'
import { followerOf, tool } from './turns.ts'

const names = ['<|start|>', '<|message|>', '<|eom|>', '<|eot|>']
const { format, markers } = resolved({ calls: { own: 'muse' }, proof: 'own' }, names)
const own = format.calls as CodedCalls

/** The text with markers in place of the control tokens. */
const drawn = (text: string) =>
  markers.reduce((all, name, index) => all.replaceAll(name, String.fromCharCode(0xdc00 + index)), text)

const tools = [
  tool('get_weather', { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }),
  tool('now', { type: 'object', properties: {} }),
  // This name addresses the user, not a tool.
  tool('user', { type: 'object', properties: {} }),
]
const turnOf = (choice: 'auto' | 'required', isParallel = true) =>
  followerOf({ own, thought: 'optional', calls: { format: own, tools, choice, isParallel } })

const next = '<|eom|><|start|>assistant'
const thought = ` to=self<|message|>Hm. <atem:invoke${next}`
const paris =
  ' to=get_weather<|message|><atem:function_calls>\n<atem:invoke name="get_weather">\n<atem:parameter name="city">Paris</atem:parameter>\n</atem:invoke>\n</atem:function_calls>'
const now =
  ' to=now<|message|><atem:function_calls>\n<atem:invoke name="now">\n</atem:invoke>\n</atem:function_calls>'
const answer = ' to=user<|message|>Yes, <atem:invoke name="rm">.'

test('Muse may think, write to the user, call a tool or answer', () => {
  const follow = turnOf('auto')
  for (const text of [
    answer,
    thought + answer,
    paris,
    thought + now,
    answer + next + paris,
    paris + next + now,
    thought + thought + answer,
  ]) {
    const { length, isComplete } = follow(drawn(text))
    assert.deepEqual({ text, length, isComplete }, { text, length: drawn(text).length, isComplete: true })
  }
  assert.equal(turnOf('auto', false)(drawn(paris + next)).length, drawn(paris).length)
})

test('a wrong call of Muse is masked at its first wrong character', () => {
  const follow = turnOf('auto')
  for (const [text, at] of [
    [paris.replace('name="city"', 'name="town"'), 'town'],
    [paris.replace('name="get_weather"', 'name="now"'), 'now"'],
    [' to=rm<|message|>', 'rm'],
    [' to=get_weather<|message|>Yes', 'Yes'],
    [now.replace('</atem:invoke>', '<atem:parameter name="a">'), 'atem:parameter'],
    ['Yes', 'Yes'],
  ] as const) {
    const wrong = drawn(text)
    assert.equal(follow(wrong).length, wrong.indexOf(at), text)
  }
})

test('Muse must call a tool where a call is required, also after a thought', () => {
  const follow = turnOf('required')
  assert.equal(follow(drawn(answer)).length, ' to='.length)
  assert.equal(follow(drawn(thought + paris)).isComplete, true)
  assert.equal(follow(drawn(paris + next + now)).isComplete, true)
})

test('an answer of Muse must fit its constraint', () => {
  const follow = followerOf({ own, thought: 'optional', content: { kind: 'choice', choices: ['yes', 'no'] } })
  assert.equal(follow(drawn(`${thought} to=user<|message|>yes`)).isComplete, true)
  assert.equal(follow(drawn(' to=user<|message|>yep')).length, drawn(' to=user<|message|>ye').length)
})

test('markers in letters end a thought, as control tokens do', () => {
  const letters = resolved({ calls: { own: 'muse' }, proof: 'own' }, []).format.calls as CodedCalls
  const follow = followerOf({
    own: letters,
    thought: 'optional',
    calls: { format: letters, tools, choice: 'required', isParallel: true },
  })
  assert.equal(follow(thought + paris).isComplete, true)
  const wrong = thought + paris.replace('name="city"', 'name="town"')
  assert.equal(follow(wrong).length, wrong.indexOf('town'))
})
