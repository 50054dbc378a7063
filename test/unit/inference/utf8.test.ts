import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createUtf8 } from '../../../src/inference/output/utf8.ts'

for (const [title, pieces, texts, rest] of [
  ['plain text', [[0x61], [0x62, 0x63]], ['a', 'bc'], ''],
  ['a character in two pieces', [[0xc3], [0xa9]], ['', 'é'], ''],
  ['a character in four pieces', [[0xf0], [0x9f], [0x98], [0x80]], ['', '', '', '😀'], ''],
  [
    'a character that begins in the middle of a piece',
    [
      [0x61, 0xe2, 0x82],
      [0xac, 0x62],
    ],
    ['a', '€b'],
    '',
  ],
  ['a character that never ends', [[0xe2, 0x82]], [''], '\ufffd'],
  ['a character that is broken off', [[0xe2, 0x82], [0x61]], ['', '\ufffda'], ''],
  ['a byte that begins nothing', [[0x80], [0xff], [0x61]], ['\ufffd', '\ufffd', 'a'], ''],
  ['an overlong form', [[0xe0], [0x80]], ['', '\ufffd\ufffd'], ''],
  ['a surrogate', [[0xed], [0xa0], [0x80]], ['', '\ufffd\ufffd', '\ufffd'], ''],
  ['beyond the last character', [[0xf4], [0x90]], ['', '\ufffd\ufffd'], ''],
  [
    'a byte order mark',
    [
      [0xef, 0xbb],
      [0xbf, 0x61],
    ],
    ['', '\ufeffa'],
    '',
  ],
  ['nothing', [[], []], ['', ''], ''],
] as const) {
  test(title, () => {
    const utf8 = createUtf8()
    assert.deepEqual(
      pieces.map((bytes) => utf8.push(Uint8Array.from(bytes))),
      texts,
    )
    assert.equal(utf8.flush(), rest)
    assert.equal(utf8.flush(), '')
  })
}

/** Bytes as models with byte tokens may write them: characters, torn ones, and anything. */
const pieces = fc.array(
  fc.oneof(
    fc.uint8Array({ maxLength: 4 }),
    fc.string({ unit: 'grapheme', maxLength: 3 }).map((text) => Buffer.from(text)),
    fc
      .tuple(fc.string({ unit: 'binary', minLength: 1, maxLength: 2 }), fc.nat({ max: 7 }))
      .map(([text, cut]) => Buffer.from(text).subarray(0, cut)),
    fc
      .constantFrom([0xe0], [0xed], [0xf0], [0xf4], [0xa0], [0x9f], [0x90], [0x8f])
      .map((bytes) => Uint8Array.from(bytes)),
  ),
  { maxLength: 12 },
)

test('whatever the pieces, the text is what the WHATWG decoder makes of the whole', () => {
  fc.assert(
    fc.property(pieces, (given) => {
      const utf8 = createUtf8()
      const text = given.map((bytes) => utf8.push(bytes)).join('') + utf8.flush()
      assert.equal(text, new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(given)))
    }),
    { numRuns: 2000 },
  )
})

test('nothing is held back but a character that may still be completed', () => {
  fc.assert(
    fc.property(pieces, (given) => {
      const utf8 = createUtf8()
      const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
      for (const bytes of given) assert.equal(utf8.push(bytes), decoder.decode(bytes, { stream: true }))
    }),
    { numRuns: 2000 },
  )
})
