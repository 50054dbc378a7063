import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { listedVocabulary } from '../../../test/support/listed-vocabulary.ts'
import { createAnswerText } from '../answer/answer-text.ts'
import { createStopStrings } from '../answer/stop-strings.ts'

/** The text that is final after each of these tokens, and what the end of the answer adds. */
function written(pieces: readonly (readonly number[])[]): { texts: string[]; rest: string } {
  const text = createAnswerText(listedVocabulary({ tokens: pieces.map((bytes) => [...bytes]) }), {
    skipSpecial: true,
    spaceSpecial: true,
    includeStop: false,
    stops: createStopStrings([]),
  })
  return { texts: pieces.map((_, token) => text.push(token, true).text), rest: text.end(true).text }
}

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
  ['a character that is interrupted', [[0xe2, 0x82], [0x61]], ['', '\ufffda'], ''],
  ['a byte that begins no character', [[0x80], [0xff], [0x61]], ['\ufffd', '\ufffd', 'a'], ''],
  ['an overlong form', [[0xe0], [0x80]], ['', '\ufffd\ufffd'], ''],
  ['a surrogate', [[0xed], [0xa0], [0x80]], ['', '\ufffd\ufffd', '\ufffd'], ''],
  ['a code point beyond the last one', [[0xf4], [0x90]], ['', '\ufffd\ufffd'], ''],
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
    assert.deepEqual(written(pieces), { texts, rest })
  })
}

/** Bytes as models with byte tokens may write them: characters, parts of characters and anything else. */
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

test('the text is what the WHATWG decoder makes of all bytes, however they are split', () => {
  fc.assert(
    fc.property(pieces, (given) => {
      const { texts, rest } = written(given.map((bytes) => [...bytes]))
      assert.equal(
        texts.join('') + rest,
        new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(given)),
      )
    }),
    { numRuns: 2000 },
  )
})

test('only a character that may still be completed is held back', () => {
  fc.assert(
    fc.property(pieces, (given) => {
      const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
      const expected = given.map((bytes) => decoder.decode(bytes, { stream: true }))
      assert.deepEqual(written(given.map((bytes) => [...bytes])).texts, expected)
    }),
    { numRuns: 2000 },
  )
})
