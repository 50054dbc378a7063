import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import fc from 'fast-check'
import { traits } from '../../../src/domain/fields.ts'
import { ChatBody } from '../../../src/operations/chat/contract.ts'
import { type Answer, addPart, forkAt, surpriseOf, type Token } from '../../../ui/screens/play/answer.ts'
import { copyAs } from '../../../ui/screens/play/copy-as.ts'
import { fieldGroups } from '../../../ui/screens/play/groups.ts'
import { requestFields } from '../../../ui/screens/play/request-fields.ts'
import {
  linkOf,
  numberIn,
  settingsIn,
  settingsText,
  textsIn,
  textsShown,
} from '../../../ui/screens/play/settings.ts'
import { bodyOf, newTurn, openFields, requestIn } from '../../../ui/screens/play/turns.ts'
import { jsonNode } from '../../../ui/value/json-index.ts'

test('the form has every field of a chat completion once', () => {
  const names = fieldGroups.flatMap(({ fields }) => fields.map(({ name }) => name))
  const documented = Object.entries(ChatBody.shape).filter(([, field]) => !traits.get(field)?.isHidden)
  const contract = documented.map(([name]) => name).filter((name) => name !== 'messages')
  assert.deepEqual(names.toSorted(), contract.toSorted())
  for (const { name, says, range } of requestFields) assert.ok(says !== '' && range !== '', name)
})

test('settings keep their digits in the address and back', () => {
  const text = '{"seed":9223372036854775807,"temperature":1.0,"stop":["a\\n"]}'
  assert.equal(settingsText(settingsIn(text)), text)
  for (const none of ['', null, '{', 'null', '[1]']) assert.equal(settingsIn(none).size, 0)
  const long = new Map([
    ['tools', JSON.stringify('x'.repeat(5_000))],
    ['seed', '1'],
  ])
  assert.deepEqual(linkOf(long), { text: '{"seed":1}', leftOut: ['tools'] })
})

test('numbers must be written as in JSON, and lists of texts are read back as typed', () => {
  assert.deepEqual(['0.10', '-3', '1e3', ' 7 ', '.5', '01', '1_000', 'NaN', '+1'].map(numberIn), [
    '0.10',
    '-3',
    '1e3',
    '7',
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ])
  assert.equal(textsIn('one\ntwo\n'), '["one","two"]')
  assert.equal(textsIn('["\\n"]'), '["\\n"]')
  fc.assert(
    fc.property(fc.array(fc.string({ minLength: 1 })), (texts) => {
      const json = JSON.stringify(texts)
      if (texts.length > 0) assert.deepEqual(JSON.parse(textsIn(textsShown(json))), texts)
    }),
  )
})

test('a recorded request is sent again unchanged', () => {
  const inputs =
    '{"messages":[{"role":"user","content":[{"type":"text","text":"x"}],"name":"n"},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"5","tool_call_id":"1"}],"seed":9007199254740993}'
  const asked = requestIn(jsonNode(inputs))
  assert.ok(asked)
  const sent = bodyOf(asked.turns, asked.settings)
  assert.match(sent, /"seed":9007199254740993/)
  assert.deepEqual(JSON.parse(sent).messages, JSON.parse(inputs).messages)
  assert.equal(requestIn(jsonNode('{"prompt":"x"}')), undefined)
  const open = requestIn(
    jsonNode(
      '{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}],"add_generation_prompt":false,"continue_final_message":true}',
    ),
  )
  assert.ok(open)
  assert.equal(open.settings.size, 0)
  assert.equal(openFields(open.turns).get('continue_final_message'), 'true')
})

const token = (text: string, bytes = [...Buffer.from(text)]): Token => ({
  token: text,
  bytes,
  logprob: 0,
  top_logprobs: [],
})

test('a token can be replaced by another, unless one of them is part of a character', () => {
  const tokens = [token('a'), token('', [0xc3]), token('', [0xa9]), token('!')]
  assert.equal(forkAt(tokens, 3, token('?')), 'aé?')
  assert.equal(forkAt(tokens, 1, token('b')), 'ab')
  assert.equal(forkAt(tokens, 1, token('', [0xc3])), undefined)
  assert.equal(forkAt(tokens, 2, token('x')), undefined)
  assert.equal(forkAt([token('\ufeffa'), token('b')], 1, token('c')), '\ufeffac')
  assert.deepEqual(
    [0, -0.4, -1, -2, -9].map((logprob) => surpriseOf({ logprob })),
    [0, 1, 2, 3, 4],
  )
})

test('an answer is assembled from its pieces, tool calls included', () => {
  const answer: Answer = { choices: [] }
  const call = (more: object) => ({ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...more }] } }] })
  for (const part of [
    { choices: [{ index: 1, delta: { content: 'x' } }] },
    { choices: [{ index: 0, delta: { reasoning: 'Hm' } }] },
    call({ id: 'c', function: { name: 'f', arguments: '' } }),
    call({ function: { arguments: '{"a"' } }),
    call({ function: { arguments: ':1}' } }),
    {
      choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }],
      usage: { prompt_tokens: 1, completion_tokens: 2 },
    },
  ]) {
    addPart(answer, part)
  }
  const [first, second] = answer.choices
  assert.deepEqual(first?.calls, [{ id: 'c', name: 'f', arguments: '{"a":1}' }])
  assert.deepEqual([first?.thought, first?.finish, second?.content], ['Hm', 'tool_calls', 'x'])
  assert.equal(answer.usage?.completion_tokens, 2)
})

test('a request copied for the shell is sent unchanged, whatever it contains', () => {
  const texts = ['it\'s $HOME `ls` \\ "quoted"', 'two\nlines', "'; rm -rf /; '"]
  for (const text of texts) {
    const body = bodyOf([newTurn('user', text)], new Map([['seed', '9007199254740993']]))
    const copied = copyAs('curl', {
      origin: 'http://127.0.0.1:1',
      project: 'acme/qa',
      thread: text.replaceAll('\n', ' '),
      body,
    })
    const said = execFileSync('bash', ['-c', `curl() { printf '%s' "\${@: -1}"; }\n${copied}`], {
      encoding: 'utf8',
    })
    assert.deepEqual(JSON.parse(said), JSON.parse(body))
    assert.match(said, /9007199254740993/)
  }
})

test('a request copied for Python is valid Python, with fields unknown to OpenAI in extra_body', () => {
  const settings = settingsIn('{"temperature":0.5,"top_k":7,"logprobs":true,"user":null}')
  const body = bodyOf([newTurn('user', 'Hi')], settings)
  const copied = copyAs('Python', { origin: 'http://127.0.0.1:1', project: 'acme/qa', thread: '', body })
  assert.match(copied, /temperature=0\.5,/)
  assert.match(copied, /logprobs=True,/)
  assert.match(copied, /user=None,/)
  assert.match(copied, /extra_body=\{\s+"top_k": 7,/)
  assert.ok(!copied.includes('hdl_'))
})
