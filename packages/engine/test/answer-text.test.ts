import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { listedVocabulary } from '../../../test/support/listed-vocabulary.ts'
import { createAnswerText, type Piece, type TextPlan } from '../answer/answer-text.ts'
import { createStopStrings } from '../answer/stop-strings.ts'

interface Settings {
  stop?: string[]
  plan?: Partial<TextPlan>
  /** The number of first tokens in which no stop string is searched for. */
  unsearched?: number
}

/** The text that comes out after each token, up to the one that ends it, and at the end. */
function written(tokens: (string | number[])[], { stop = [], plan = {}, unsearched = 0 }: Settings = {}) {
  const text = createAnswerText(listedVocabulary({ tokens }), {
    skipSpecial: true,
    spaceSpecial: true,
    includeStop: false,
    stops: createStopStrings(stop),
    ...plan,
  })
  const pieces: Piece[] = []
  for (const [token] of tokens.entries()) {
    const piece = text.push(token, token >= unsearched)
    pieces.push(piece)
    if (piece.stop !== undefined) return pieces
  }
  return [...pieces, text.end(tokens.length > unsearched)]
}

for (const [title, tokens, settings, expected] of [
  ['text comes at once', ['a', 'b'], {}, ['a', 'b', '']],
  ['characters come whole', [[0xc3], [0xa9, 0x61]], {}, ['', 'éa', '']],
  ['an incomplete character comes at the end', ['a', [0xc3]], {}, ['a', '', '\ufffd']],
  ['special tokens are hidden', ['a', '<x>', 'b'], {}, ['a', '', 'b', '']],
  ['a hidden token does not split a character', [[0xc3], '<x>', [0xa9]], {}, ['', '', 'é', '']],
  [
    'special tokens are shown',
    ['a', '<x>', '<y>', 'b'],
    { plan: { skipSpecial: false } },
    ['a', '<x>', ' <y>', 'b', ''],
  ],
  [
    'special tokens are shown without spaces',
    ['a', '<x>', '<y>', 'b'],
    { plan: { skipSpecial: false, spaceSpecial: false } },
    ['a', '<x>', '<y>', 'b', ''],
  ],
  ['a stop string is cut off', ['ab', 'STOP', 'c'], { stop: ['STOP'] }, ['ab', ['', 'STOP']]],
  ['a stop string in the middle of a token', ['aSTOPb'], { stop: ['STOP'] }, [['a', 'STOP']]],
  ['a stop string over several tokens', ['aS', 'T', 'OPb'], { stop: ['STOP'] }, ['a', '', ['', 'STOP']]],
  [
    'a mere beginning of a stop string comes as soon as that is clear',
    ['aST', 'Ob'],
    { stop: ['STOP'] },
    ['a', 'STOb', ''],
  ],
  ['a mere beginning of a stop string comes at the end', ['aST'], { stop: ['STOP'] }, ['a', 'ST']],
  ['a beginning of a stop string within another', ['aaS', 'aab'], { stop: ['aaSaaS'] }, ['', 'aaSaab', '']],
  ['only what may become a stop string is held back', ['aab', 'aaa'], { stop: ['aaS'] }, ['aab', 'a', 'aa']],
  [
    'a stop string is included on request',
    ['aS', 'TOPb'],
    { stop: ['STOP'], plan: { includeStop: true } },
    ['aS', ['TOP', 'STOP']],
  ],
  ['the stop string that ends first applies', ['abcd'], { stop: ['bcd', 'c'] }, [['ab', 'c']]],
  [
    'of stop strings that end together, the first in the list applies',
    ['abcd'],
    { stop: ['c', 'bc'] },
    [['ab', 'c']],
  ],
  ['the order of the list decides, not the length', ['abcd'], { stop: ['bc', 'c'] }, [['a', 'bc']]],
  ['a stop string of half a character never occurs', ['😀'], { stop: ['\ude00'] }, ['😀', '']],
  [
    'a stop string of a whole character occurs',
    [
      [0xf0, 0x9f],
      [0x98, 0x80],
    ],
    { stop: ['😀'] },
    ['', ['', '😀']],
  ],
  [
    'no stop string is found in the first tokens',
    ['aX', 'bX', 'cX'],
    { stop: ['X'], unsearched: 2 },
    ['aX', 'bX', ['c', 'X']],
  ],
  [
    'a stop string may begin in the first tokens',
    ['aX', 'Y'],
    { stop: ['XY'], unsearched: 1 },
    ['a', ['', 'XY']],
  ],
  [
    'the shown name of a token may contain a stop string',
    ['a', '<x>'],
    { stop: ['x>'], plan: { skipSpecial: false } },
    ['a', ['<', 'x>']],
  ],
  [
    'the replacement of an incomplete character may be a stop string',
    ['a', [0xc3]],
    { stop: ['\ufffd'] },
    ['a', '', ['', '\ufffd']],
  ],
] as [string, (string | number[])[], Settings, (string | [string, string])[]][]) {
  test(title, () => {
    assert.deepEqual(
      written(tokens, settings).map(({ text, stop }) => (stop === undefined ? text : [text, stop])),
      expected,
    )
  })
}

/** By the definition: the position at which a stop string first ends, then the first in the list. */
function naive(text: string, stops: string[], from: number): Piece {
  for (let end = from + 1; end <= text.length; end++) {
    const stop = stops.find((string) => text.slice(0, end).endsWith(string))
    if (stop !== undefined) return { text: text.slice(0, end - stop.length), stop }
  }
  return { text }
}

/** The longest end of the text that one of the stop strings begins with. */
function mayBecome(text: string, stops: string[]): number {
  const beginnings = stops.flatMap((stop) => Array.from({ length: stop.length }, (_, i) => stop.slice(0, i)))
  return Math.max(0, ...beginnings.filter((begun) => text.endsWith(begun)).map(({ length }) => length))
}

test('the answer ends where the definition says, and not one character too many is held back', () => {
  const few = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '😀'), minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(
      fc.array(few, { maxLength: 15 }),
      fc.array(few, { minLength: 1, maxLength: 5 }),
      fc.nat({ max: 4 }),
      (tokens, stop, unsearched) => {
        const pieces = written(tokens, { stop, unsearched })
        const from = tokens.slice(0, unsearched).join('').length
        const expected = naive(tokens.join(''), stop, from)
        assert.equal(pieces.map(({ text }) => text).join(''), expected.text)
        assert.equal(pieces.at(-1)?.stop, expected.stop)
        let sent = 0
        for (const [i, { text, stop: found }] of pieces.entries()) {
          sent += text.length
          if (found !== undefined || i === tokens.length) break
          const sofar = tokens.slice(0, i + 1).join('')
          assert.equal(sofar.length - sent, mayBecome(sofar, stop))
        }
      },
    ),
    { numRuns: 2000 },
  )
})

test('many long stop strings with a common beginning are told apart', () => {
  const stop = Array.from({ length: 1000 }, (_, i) => `${'a'.repeat(500)}${i}`)
  const [begun, found] = written(['a'.repeat(5000), '77'], { stop })
  assert.equal(begun?.text.length, 4500)
  assert.deepEqual(found, { text: '', stop: stop[7] })
})
