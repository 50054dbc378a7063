import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { closedJson } from '../../../src/operations/messages/answer.ts'

for (const [cut, closed] of [
  ['', '{}'],
  ['{', '{}'],
  ['{"a', '{}'],
  ['{"a"', '{}'],
  ['{"a":', '{}'],
  ['{"a": "x', '{}'],
  ['{"a": "x"', '{"a": "x"}'],
  ['{"a": 12', '{}'],
  ['{"a": 12,', '{"a": 12}'],
  ['{"a": 12, "b', '{"a": 12}'],
  ['{"a": true', '{"a": true}'],
  ['{"a": tru', '{}'],
  ['{"a": [1, {"b": "}"', '{"a": [1, {"b": "}"}]}'],
  ['{"a": {"b": []', '{"a": {"b": []}}'],
  ['{"a": "\\"', '{}'],
  ['{"a": "\\\\"', '{"a": "\\\\"}'],
  ['[1, 2', '{}'],
  ['"text', '{}'],
]) {
  test(`${JSON.stringify(cut)} becomes ${closed}`, () => assert.equal(closedJson(cut as string), closed))
}

/** Whether everything in `part` is also in `whole`. */
function isBeginning(part: unknown, whole: unknown): boolean {
  if (typeof part !== 'object' || part === null) return Object.is(part, whole)
  if (typeof whole !== 'object' || whole === null || Array.isArray(part) !== Array.isArray(whole))
    return false
  return Object.entries(part).every(([name, value]) =>
    isBeginning(value, (whole as Record<string, unknown>)[name]),
  )
}

test('any beginning of the text of an object is closed to a part of it, and a complete text stays unchanged', () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { noNullPrototype: true })
  fc.assert(
    fc.property(object, fc.nat(4), fc.double({ min: 0, max: 1, noNaN: true }), (value, space, share) => {
      const text = JSON.stringify(value, null, space)
      assert.equal(closedJson(text), text)
      const closed = closedJson(text.slice(0, Math.floor(share * text.length)))
      assert.ok(isBeginning(JSON.parse(closed), JSON.parse(text)), closed)
    }),
  )
})

test('a long text is closed in linear time', () => {
  const text = `{"a": "${'x\\n'.repeat(300_000)}", "b": [${'1, '.repeat(300_000)}`
  assert.equal(Object.keys(JSON.parse(closedJson(text))).length, 2)
})
