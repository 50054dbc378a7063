import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Constraint } from '../../../packages/chat-format/index.ts'
import { hermes } from '../../../packages/chat-format/index.ts'
import { createConstraints } from '../../../packages/constraints/index.ts'
import { createConstraintCompiler } from '../../../src/inference/constraints/compile.ts'
import { listedVocabulary } from '../../support/listed-vocabulary.ts'

const words = [
  'a',
  'ab',
  'name',
  'straße',
  'Köln',
  'été',
  '東京',
  'мир',
  '🙂',
  'Z9',
  '42',
  'id_1',
  'x-y',
  'e\u2028',
]
const ends = [
  '"',
  '",',
  '":',
  '": "',
  '","',
  '"}',
  '"]',
  '\\',
  '\\n',
  '\\"',
  '\\u00',
  '\n',
  '\t',
  '}',
  '/',
  '\u00a0',
]
const joined = words.flatMap((word) => [word, ` ${word}`, `${word}.`, ...ends.map((end) => word + end)])
const tokens: (string | number[])[] = [
  ...Array.from({ length: 256 }, (_, byte) => [byte]),
  ...joined,
  ...words.flatMap((one) => words.map((other) => `${one} ${other}`)),
  ...ends.flatMap((one) => ends.map((other) => one + other)),
  ...[3, 9, 31, 32, 33, 70].map((length) => 'a'.repeat(length)),
  ...[5, 31, 32, 33].map((length) => `${'ж'.repeat(length)}"`),
  // Parts of characters after text, and invalid UTF-8.
  ...words.map((word) => [...Buffer.from(word), 0xf0, 0x9f]),
  ...words.map((word) => [...Buffer.from(word), 0xe2, 0x80]),
  ...words.map((word) => [...Buffer.from(`${word}"`), 0xc3]),
  [0x61, 0xc0, 0x80],
  [0x61, 0xed, 0xa0, 0x80],
  [0x80, 0x22],
  [0xef, 0xbf],
  [0xef, 0xbf, 0xbd, 0x22],
  [0xef, 0xbb, 0xbf],
  '<tool_call>',
  '{"name": "',
]
const vocabulary = listedVocabulary({ tokens: [...tokens, '<end>'], eos: tokens.length })

const json = (schema: unknown): Constraint => ({ kind: 'json', schema })
const names = Object.fromEntries(words.map((name) => [name, { type: 'string' }]))
const given: Record<string, Constraint> = {
  'any object': { kind: 'json_object' },
  'a string': json({ type: 'string' }),
  'a counted string': json({ type: 'string', minLength: 2, maxLength: 12 }),
  'strings of other lengths': json({ type: 'array', items: { type: 'string', maxLength: 40 } }),
  'a pattern of words': json({ type: 'string', pattern: '^[a-z]+( [A-Za-z0-9]+)*$' }),
  'a pattern without slashes': json({ type: 'string', pattern: '^[^/]{1,9}(/[^/]+)*$' }),
  'a pattern without spaces': json({ type: 'string', pattern: '^\\S+@\\S+$' }),
  'letters of any alphabet': json({ type: 'string', pattern: '^\\p{L}+$' }),
  'other names': json({
    type: 'object',
    properties: names,
    additionalProperties: { type: 'string', maxLength: 5 },
  }),
  'no string of these': json({ type: 'string', not: { enum: words } }),
  'one of these': json({ enum: words }),
  'a format': json({ type: 'string', format: 'email' }),
  'any text': { kind: 'regex', regex: '.*' },
  'text to a word': { kind: 'regex', regex: '(?:[^a]|a[^b])*' },
  'few characters': { kind: 'regex', regex: '[^"\\\\]{0,7}"?' },
  'text with calls': {
    kind: 'turn',
    thought: 'over',
    calls: {
      format: hermes,
      tools: [{ name: 'ab', parameters: { type: 'object', properties: names }, strict: false }],
      choice: 'auto',
      isParallel: true,
    },
  },
}

test('a mask contains exactly the tokens that are allowed one by one', () => {
  const compiler = createConstraintCompiler()
  const everyToken = Array.from({ length: vocabulary.size }, (_, token) => token)
  let wide = 0
  for (const [name, constraint] of Object.entries(given)) {
    const { grammar } = compiler.compile(constraint, { whitespace: 'bounded' }, 'x')
    const constraints = createConstraints(vocabulary)
    const check = (draws: readonly number[]) => {
      const allowance = constraints.of(grammar).begin()
      let said = ''
      for (const draw of draws) {
        const { bits, count } = allowance.mask()
        const expected = everyToken.filter((token) => allowance.allows(token))
        const found = everyToken.filter((token) => ((bits[token >>> 5] ?? 0) >>> (token & 31)) & 1)
        assert.deepEqual(found, expected, `${name} after ${JSON.stringify(said)}`)
        assert.equal(count, found.length)
        if (2 * count > vocabulary.size) wide++
        const further = expected.filter((token) => token !== vocabulary.eos)
        const token = further[Math.floor(draw * further.length)]
        if (token === undefined) break
        allowance.accept(token)
        said += Buffer.from(vocabulary.bytes(token)).toString('latin1')
      }
    }
    const draw = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(fc.property(fc.array(draw, { minLength: 1, maxLength: 12 }), check), { numRuns: 6 })
  }
  assert.ok(wide > 50, `${wide}`)
})

test('positions that allow the same tokens share one mask, however many positions there are', () => {
  const many = listedVocabulary({
    tokens: [...'abcdefghij', '"', ...Array.from({ length: 100 }, (_, at) => `${'a'.repeat(at % 40)}b${at}`)],
  })
  const { grammar } = createConstraintCompiler().compile(
    json({ type: 'string', maxLength: 20_000 }),
    { whitespace: 'none' },
    'x',
  )
  const allowance = createConstraints(many).of(grammar).begin()
  allowance.accept(10)
  const first = allowance.mask()
  for (let count = 0; count < 9000; count++) {
    allowance.accept(0)
    assert.equal(allowance.mask(), first)
  }
})
