import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { publicTemplates } from '../../../scripts/chat-templates.ts'
import { askWholeAndStreamed } from '../../support/answer-turns.ts'
import { openApp } from '../../support/app.ts'
import { asking, chatUrl } from '../../support/chat.ts'
import { simulatedBackend } from '../../support/simulated-backend.ts'
import { smallVocabulary } from '../../support/small-vocabulary.ts'

const found = publicTemplates()
const skip = typeof found === 'string' ? `no public templates: ${found}` : false
const templateOf = (name: string) =>
  (typeof found === 'string' ? [] : found).find((one) => one.name === name)?.text ?? ''

const line = {
  type: 'object',
  properties: { id: { type: 'string' }, count: { type: 'integer', minimum: 1 } },
  required: ['id', 'count'],
}
const order = {
  type: 'function',
  function: {
    name: 'order',
    parameters: {
      type: 'object',
      properties: {
        note: { type: 'string' },
        to: { type: 'object', properties: { street: { type: 'string' } }, required: ['street'] },
        lines: { type: 'array', items: line, minItems: 1 },
      },
      required: ['note', 'lines'],
    },
    strict: true,
  },
}
const wanted = {
  note: '</b> & "so"\n',
  lines: [
    { id: '7', count: 2 },
    { id: '', count: 1 },
  ],
  to: { street: '{"A": true}' },
}

const ns = ']<]minimax[>['
const q = '<|"|>'

/** For each family: the control tokens of its vocabulary, the call as a model writes it, and a masked argument. */
const families: Record<string, { control: string[]; said: string; wrong: [string, string] }> = {
  'MiniMax-M3': {
    control: [ns],
    said: '<tool_call>\n<invoke name="order"><note>NOTE</note><lines><item><id>7</id><count>2</count></item><item><id></id><count>1</count></item></lines><to><street>{"A": true}</street></to></invoke>\n</tool_call>'
      .replaceAll(/<(?!b>)/g, `${ns}<`)
      .replace('NOTE', wanted.note),
    wrong: [`${ns}<count>2`, `${ns}<count>0`],
  },
  'google-gemma-4-31B-it': {
    control: ['<|tool_call>', '<tool_call|>', q],
    said: `<|tool_call>call:order{note:${q}${wanted.note}${q},lines:[{id:${q}7${q},count:2},{id:${q}${q},count:1}],to:{street:${q}{"A": true}${q}}}<tool_call|>`,
    wrong: ['count:2', 'count:0'],
  },
  'openbmb-MiniCPM5-1B': {
    control: [],
    said: `<function name="order"><param name="note"><![CDATA[${wanted.note}]]></param><param name="lines">${JSON.stringify(wanted.lines)}</param><param name="to">${JSON.stringify(wanted.to)}</param></function>`,
    wrong: ['"count":2', '"count":0'],
  },
  'muse-glimmer': {
    control: ['<|start|>', '<|message|>', '<|eom|>'],
    said: ` to=self<|message|>Hm.<|eom|><|start|>assistant to=order<|message|><atem:function_calls>\n<atem:invoke name="order">\n<atem:parameter name="note">${wanted.note}</atem:parameter>\n<atem:parameter name="lines">${JSON.stringify(wanted.lines)}</atem:parameter>\n<atem:parameter name="to">${JSON.stringify(wanted.to)}</atem:parameter>\n</atem:invoke>\n</atem:function_calls>`,
    wrong: ['"count":2', '"count":0'],
  },
}

describe('a strict tool with nested values', { skip }, () => {
  for (const [name, { control, said, wrong }] of Object.entries(families)) {
    for (const tokens of [control, []]) {
      if (tokens.length === 0 && control.length === 0 && tokens !== control) continue
      const how = tokens.length === 0 ? 'in letters' : 'with control tokens'
      test(`${name}, ${how}: whole, streamed, and constrained by its schema`, async (t) => {
        const vocabulary = smallVocabulary({ control: tokens })
        const backend = simulatedBackend(t, said, { vocabulary, template: templateOf(name) })
        const app = await openApp(t, { backend })
        for (const tool_choice of ['auto', 'required']) {
          const { turns } = await askWholeAndStreamed(app, { tools: [order], tool_choice })
          const [turn] = turns
          assert.equal(turn?.content, '')
          assert.equal(turn?.finish, 'tool_calls')
          assert.deepEqual(
            turn?.calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)]),
            [['order', wanted]],
          )
        }
        const [right, masked] = wrong
        backend.say = said.replace(right, masked)
        assert.notEqual(backend.say, said)
        const { status } = await app.post(chatUrl, asking({ tools: [order], tool_choice: 'required' }))
        assert.equal(status, 500)
        assert.match(backend.failures.splice(0).join(), /cannot go on with "0"/)
      })
    }
  }
})
