import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { segmentsOf } from '../../../src/operations/prompts/template.ts'
import {
  draftOf,
  isVariable,
  type PromptDraft,
  piecesOf,
  promptJson,
  variablesOf,
} from '../../../ui/screens/prompts/draft.ts'
import { failedConditions } from '../../../ui/screens/prompts/gate.ts'
import { jsonNode } from '../../../ui/value/json-index.ts'

const draftIn = (json: string) => draftOf(jsonNode(json))

test('what the editor does not change stays as it is: digits, parts, placeholders, members of others', () => {
  for (const json of [
    '{"_type":"StringPrompt","content":"Say {one}.","note":9007199254740993}',
    `{"messages":[{"role":"system","content":"Be {mood}."},{"type":"placeholder","name":"messages"},
      {"role":"user","content":[{"type":"text","text":"Look at {it}."}]},
      {"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}],
      "settings":{"seed":9007199254740993,"temperature":0.5},
      "variables":{"mood":{"type":"string","enum":["kind","brief"],"default":"kind","description":"How"},
      "count":{"type":"integer","enum":[1,2],"default":2},"any":{"type":"json","default":[1]}}}`,
  ]) {
    const kept = promptJson(draftIn(json))
    assert.deepEqual(JSON.parse(kept), JSON.parse(json))
    assert.equal(kept.includes('9007199254740993'), true)
  }
})

test('the same names are variables for the page and for the server', () => {
  const pieces = fc.constantFrom('{', '}', '{{', '}}', '{a}', '{b_1}', ' ', 'x', '{a b}', '{}')
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
      const text = parts.join('')
      const read = segmentsOf(text)
      if ('why' in read) return
      const names = read.segments.flatMap((segment) => ('variable' in segment ? segment.variable : []))
      const own = piecesOf(text).filter(isVariable)
      assert.deepEqual(
        own,
        names.map((name) => `{${name}}`),
      )
      assert.equal(piecesOf(text).join(''), text)
    }),
  )
})

test('a variable that the texts use is a text unless it is declared', () => {
  const draft = draftIn('{"content":"{a} {b} {a}","variables":{"b":{"type":"number"}}}')
  assert.deepEqual(
    variablesOf(draft).map(({ name, type }) => [name, type]),
    [
      ['b', 'number'],
      ['a', 'string'],
    ],
  )
})

test('what the server would refuse later is refused with its field', () => {
  const variable = { name: 'n', among: '', rest: new Map() }
  for (const [type, fallback, accepted] of [
    ['integer', '1.5', 'a whole number'],
    ['number', 'many', 'a number'],
    ['boolean', 'yes', 'true or false'],
    ['json', '{', 'a JSON value'],
  ] as const) {
    const draft: PromptDraft = { ...draftIn('{"content":""}'), variables: [{ ...variable, type, fallback }] }
    assert.throws(() => promptJson(draft), {
      message: `variables.n.default: ${fallback}; accepted: ${accepted}.`,
    })
  }
  const nameless = '{"messages":[{"role":"placeholder","content":" "}]}'
  assert.throws(() => promptJson(draftIn(nameless)), /^Error: messages\.0\.name: ""; accepted: the name/)
})

test('a refusal of a gate is read condition by condition, also where what was found has a semicolon', () => {
  const reason =
    'run: version "x" does not pass the gate of label "production": scores.a differs by at least 0, but 3 rows in both runs; needed: 50; a trial takes at most 2 s, but 2.5 s.'
  assert.deepEqual(failedConditions(reason), [
    'scores.a differs by at least 0, but 3 rows in both runs; needed: 50',
    'a trial takes at most 2 s, but 2.5 s',
  ])
})
