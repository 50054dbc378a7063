import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonicalJson } from '../../packages/json/index.ts'
import { isBeyondLimit } from '../../src/operations/feedback/payload-size.ts'

/** The size, found as the smallest limit that is not exceeded. */
function sizeOf(json: string): number {
  let size = 0
  while (isBeyondLimit(json, size)) size++
  return size
}

for (const [json, ascii] of [
  ['{}', '{}'],
  ['{"a":1,"b":[1,2.50,true]}', '{"a": 1, "b": [1, 2.50, true]}'],
  ['{"a":"x,y:z"}', '{"a": "x,y:z"}'],
  ['{"é":"👋"}', '{"\\u00e9": "\\ud83d\\udc4b"}'],
  ['{"a":"\\u0041\\u00e9\\/"}', '{"a": "A\\u00e9/"}'],
  ['{"a":"\\u0022\\u005c\\u000a\\u0000"}', '{"a": "\\"\\\\\\n\\u0000"}'],
  ['{"a":"\\n\\"\\\\,:\\"\u007f"}', '{"a": "\\n\\"\\\\,:\\"\\u007f"}'],
] as const) {
  test(`the size of ${JSON.stringify(json)} is the length of ${JSON.stringify(ascii)}`, () => {
    assert.equal(sizeOf(json), ascii.length)
  })
}

test('the size is the length of the text that Python writes', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), fc.integer({ min: -3, max: 3 }), (value, around) => {
      // Other numbers are counted as sent, which is not always how Python would write them.
      const json = JSON.stringify(value, (_, inner) =>
        typeof inner === 'number' ? Math.trunc(inner % 1000) + 0 : inner,
      )
      const size = canonicalJson(json).length
      assert.equal(isBeyondLimit(json, size + around), around < 0)
    }),
  )
})
