import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type JsonNode,
  jsonNode,
  membersOf,
  nodeAt,
  sourceOf,
  stringOf,
} from '../../../ui/value/json-index.ts'

/** The value, read back from the positions in the text. */
function readBack(node: JsonNode): unknown {
  if (node.kind === 'array') return [...membersOf(node)].map(({ node: one }) => readBack(one))
  if (node.kind === 'object') {
    const entries = [...membersOf(node)].map(({ name, node: one }): [string, unknown] => [
      name,
      readBack(one),
    ])
    return Object.fromEntries(entries)
  }
  return JSON.parse(sourceOf(node))
}

test('any JSON is read to the same value, however it is indented', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), fc.constantFrom(0, 1, '\t', '\r\n '), (text, indent) => {
      const value = JSON.parse(text)
      const written = JSON.stringify(value, null, indent)
      assert.deepEqual(readBack(jsonNode(` ${written}\n`)), value)
    }),
    { numRuns: 500 },
  )
})

test('numbers keep their digits', () => {
  const node = jsonNode('{"big": 9007199254740993, "one": 1.0, "small": -1.50e-7}')
  const sources = [...membersOf(node)].map(({ node: one }) => sourceOf(one))
  assert.deepEqual(sources, ['9007199254740993', '1.0', '-1.50e-7'])
})

test('brackets and quotes in strings are not taken for structure', () => {
  const node = jsonNode('{"a\\"}": "]}\\\\", "b": ["\\\\\\"", {"c": "\\u007d"}]}')
  assert.equal(stringOf(nodeAt(node, 'a"}')), ']}\\')
  assert.equal(stringOf(nodeAt(node, 'b', '0')), '\\"')
  assert.equal(stringOf(nodeAt(node, 'b', '1', 'c')), '}')
  assert.equal(nodeAt(node, 'b', '2'), undefined)
})

test('deep nesting is read', () => {
  const depth = 100_000
  const node = jsonNode('['.repeat(depth) + ']'.repeat(depth))
  assert.equal(node.end, 2 * depth)
})

test('incomplete JSON is refused', () => {
  for (const text of ['{"a": 1', '[1, 2', '"abc', '{"a": "b}', '', '?']) {
    assert.throws(() => jsonNode(text), SyntaxError, text)
  }
})

test('an object is read once, however many names are looked up', () => {
  const call = jsonNode('{"inputs": {"question": "why"}, "output": null}')
  assert.equal(membersOf(call), membersOf(call))
  assert.equal(nodeAt(call, 'inputs'), nodeAt(call, 'inputs'))
  assert.equal(nodeAt(call, 'inputs', 'question'), membersOf(nodeAt(call, 'inputs') as JsonNode)[0]?.node)
})
