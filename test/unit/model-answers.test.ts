import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Expectation, isRight } from '../../scripts/model-answers.ts'

const call = (json: string) => `<tool_call>\n${json}\n</tool_call>`
const add = { name: 'add', arguments: { a: 1, b: 2 } }

const cases: [answer: string, expectation: Expectation, right: boolean][] = [
  ['Hello!', { any: ['Hi!', 'Hello!'] }, true],
  ['Hello! ', { any: ['Hi!', 'Hello!'] }, false],
  ['I am PIXEL.', { has: [['pixel', 'dot'], ['am']] }, true],
  ['I am Dot.', { has: [['pixel', 'dot'], ['was']] }, false],
  [call('{"name": "add", "arguments": {"a": 1, "b": 2}}'), { call: add }, true],
  [call('{"name": "add", "arguments": {"a": "1", "b": 2}}'), { call: add }, false],
  [call('{"name": "add", "arguments": {"a": 1, "b": 2}'), { call: add }, false],
  [`Well: ${call('{"name": "add", "arguments": {"a": 1, "b": 2}}')}`, { call: add }, false],
  ['{"a": [1, null]}', { json: { a: [1, null] } }, true],
  ['{"a": [1]}', { json: { a: [1, null] } }, false],
  ['no JSON', { json: { a: 1 } }, false],
  ['{"answer": "b"}', { jsonAny: [{ answer: 'a' }, { answer: 'b' }] }, true],
  ['{"answer": "c"}', { jsonAny: [{ answer: 'a' }, { answer: 'b' }] }, false],
  ['{"answer": "c"}', { jsonKeys: ['answer'] }, true],
  ['null', { jsonKeys: ['answer'] }, false],
  ['Once upon a time there was a fox. The end.', { story: true, contains: ['fox'] }, true],
  ['Once upon a time there was a fox.', { story: true }, false],
  ['<think>\nHm.\n</think>\n\nHello!', { any: ['Hello!'], think: true }, true],
  ['Hello!', { any: ['Hello!'], think: true }, false],
  ['<think>\nHm.\n</think>\n\nHello!', { any: ['Hello!'] }, false],
]

for (const [answer, expectation, right] of cases) {
  test(`${JSON.stringify(answer)} is ${right ? 'right' : 'wrong'} for ${JSON.stringify(expectation)}`, () => {
    assert.equal(isRight(answer, expectation), right)
  })
}
