import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import { tried } from '../../../test/support/campaign-share.ts'
import fc from '../../../test/support/fast-check.ts'
import { listedVocabulary } from '../../../test/support/listed-vocabulary.ts'
import { createRememberingMatcher } from '../../../test/support/remembering-matcher.ts'
import { createAjvValidator } from '../../../test/support/schemas/ajv-validator.ts'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import { type CompiledGrammar, compile, createConstraints, faultOf, SchemaError } from '../index.ts'
import { orderings } from './orderings.ts'

function compiled(schema: unknown, additionalProperties?: boolean): CompiledGrammar {
  const options = {
    whitespace: 'bounded',
    ...(additionalProperties !== undefined && { additionalProperties }),
  }
  return compile({ kind: 'json', schema }, options as { whitespace: 'bounded' }).grammar
}

const set = (items?: unknown, more = {}) => ({
  type: 'array',
  uniqueItems: true,
  ...(items !== undefined && { items }),
  ...more,
})
const closed = (properties: Record<string, unknown>, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
const text = { type: 'string' }

const cases: [schema: unknown, accepted: string[], refused: string[]][] = [
  [
    set(text),
    ['[]', '["a"]', '["a","ab","b"]', '["ab", "a"]', '["",  "x"]'.replace('  ', ' ')],
    ['["a","a"]', '["ab","a","ab"]', '["",""]', '["a", "a"]'],
  ],
  [set({ type: 'integer' }), ['[1,2,12,21]', '[0,-1]'], ['[1,1]', '[12,1,12]']],
  [set({ type: 'number' }), ['[1,1.5,-1.5]'], ['[1.5,1.5]', '[1,1.0]', '[1e2,100]', '[0,-0]']],
  [
    set({ type: 'integer', minimum: 1, maximum: 9 }, { minItems: 3 }),
    ['[1,2,3]', '[9,8,7,6,5,4,3,2,1]'],
    ['[1,2]', '[1,2,2]', '[9,8,7,6,5,4,3,2,1,9]'],
  ],
  [
    set(),
    ['[1,"1",null,true,false,[],{},[1],{"a":1},{"a":[1]}]', '[{"a":1},{"a":1,"b":2}]'],
    ['[null,null]', '[[1],[1]]', '[{"a":1,"b":2},{"b":2,"a":1}]', '[{"a":1},{"a":1.0}]', '[{},{ }]'],
  ],
  [
    set(closed({ n: text, m: { type: 'object' } })),
    ['[{"n":"a","m":{"x":1}},{"n":"a","m":{"x":2}},{"n":"b","m":{"x":1}}]'],
    ['[{"n":"a","m":{"x":1,"y":2}},{"n":"a","m":{"y":2, "x":1}}]', '[{"n":"","m":{}},{"n": "","m":{}}]'],
  ],
  [
    set(closed({ name: text, type: text, title: text }, ['type'])),
    ['[{"name":"","type":"","title":""},{"type":""}]'],
    ['[{"type":"a"},{"type":"a"}]', '[{"type":"","name":""}]'],
  ],
  [
    set({ anyOf: [closed({ a: text, b: text }), closed({ b: text, a: text, c: text })] }),
    ['[{"a":"","b":""},{"a":"","b":"","c":""}]'],
    ['[{"a":"","b":""},{"b":"","a":""}]', '[{"a":"","b":""},{"a":"","b":""}]'],
  ],
  [
    set({ type: 'object', properties: { tags: set(text) }, additionalProperties: true }),
    ['[{"tags":["a"]},{"tags":["b"]}]'],
    ['[{"tags":["a","a"]}]', '[{"tags":["a"]},{"tags":["a"]}]'],
  ],
  [
    { type: 'array', uniqueItems: true, prefixItems: [text, text], minItems: 2, items: { type: 'integer' } },
    ['["a","b"]', '["a","b",1,2]'],
    ['["a","a"]', '["a","b",1,1]', '["a"]'],
  ],
  [
    { type: 'object', minProperties: 2 },
    ['{"a":1,"b":1}', '{"a":{"a":1},"aa":1,"b":2}'],
    ['{}', '{"a":1}', '{"a":1,"a":2}', '{"a":1,"b":2,"a":3}'],
  ],
  [
    { type: 'object', properties: { a: text }, additionalProperties: { type: 'integer' }, minProperties: 3 },
    ['{"a":"","b":1,"c":2}', '{"b":1,"c":2,"d":3}'],
    ['{"a":"","b":1}', '{"b":1,"c":2,"b":3}'],
  ],
  [
    {
      type: 'object',
      additionalProperties: set({ type: 'integer' }),
      minProperties: 2,
    },
    ['{"a":[1,2],"b":[1]}'],
    ['{"a":[1,1],"b":[]}', '{"a":[],"a":[]}'],
  ],
  // Each alternative accepts texts that the other one refuses.
  [
    { anyOf: [set(text), { type: 'array', items: { const: 'a' } }] },
    ['["a","a"]', '["a","b"]'],
    ['["b","b"]', '["a","b","a"]'],
  ],
]

describe('keywords that depend on what was written before are enforced', () => {
  for (const [schema, accepted, refused] of cases) {
    it(JSON.stringify(schema), () => {
      const matcher = createRememberingMatcher(compiled(schema))
      for (const text of accepted) assert.ok(matcher.accepts(text), text)
      for (const text of refused) assert.ok(!matcher.accepts(text), text)
      const judge = createAjvValidator(schema)
      for (let seed = 0; seed < 20; seed++) {
        const text = matcher.sample(seededRandom(seed))
        assert.equal(judge(JSON.parse(text)), true, text)
      }
    })
  }
})

describe('combinations that cannot be enforced are refused with their path', () => {
  const table: [schema: unknown, keyword: string, path: string][] = [
    [set(set(text)), 'uniqueItems', '#/items'],
    [set(text, { contains: { const: 'a' } }), 'uniqueItems', '#'],
    [set({ enum: [1, 2, 3, 4, 5, 6, 7, 8, 9] }, { minItems: 10 }), 'uniqueItems', '#'],
    [set({ type: 'object', maxProperties: 3 }), 'uniqueItems', '#/items'],
    [
      {
        type: 'object',
        minProperties: 3,
        patternProperties: { '^[ab]$': {} },
        additionalProperties: false,
      },
      'minProperties',
      '#',
    ],
  ]
  for (const [schema, keyword, path] of table) {
    it(JSON.stringify(schema), () => {
      assert.throws(
        () => compiled(schema),
        (error) => error instanceof SchemaError && error.keyword === keyword && error.path === path,
      )
    })
  }
})

const scalar = fc.constantFrom<unknown>(
  text,
  { type: 'integer' },
  { type: 'number', minimum: -1, maximum: 2 },
  { type: 'integer', minimum: 0, maximum: 12 },
  { type: 'string', maxLength: 1, pattern: '^[ab1]*$' },
  { enum: ['a', 'b', 'ab', 'ba', 1, 2, 3, 1.5, null, [1]] },
  { type: ['boolean', 'string'] },
  { type: 'string', minLength: 1 },
)
const items = fc.letrec<{ item: unknown }>((tie) => ({
  item: fc.oneof(
    { weight: 3, arbitrary: scalar },
    { weight: 1, arbitrary: fc.constant({}) },
    fc.tuple(tie('item'), tie('item')).map(([a, b]) => closed({ a, b }, ['a'])),
    fc.tuple(tie('item'), tie('item')).map(([a, b]) => ({ anyOf: [a, b] })),
    tie('item').map((item) => ({ type: 'array', items: item, maxItems: 2 })),
    tie('item').map((item) => ({ type: 'object', additionalProperties: item })),
  ),
})).item
const remembered = fc.oneof(
  fc.tuple(items, fc.nat({ max: 3 }), fc.boolean()).map(([item, minItems, isWrapped]) => {
    const unique = set(item, { minItems })
    return isWrapped ? { anyOf: [closed({ a: unique }), unique] } : unique
  }),
  fc.tuple(items, fc.integer({ min: 2, max: 4 }), fc.boolean()).map(([item, minProperties, isNamed]) => ({
    type: 'object',
    ...(isNamed && { properties: { a: text } }),
    additionalProperties: item,
    minProperties,
  })),
)
const few = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom<unknown>('a', 'b', 'ab', '', 0, 1, 1.5, null, true) },
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value

test('generated sets: written values fit, fitting values are accepted, and no text gets stuck', () => {
  const amount = tried({ share: 40, whole: 120 }, 20_261_122)
  let count = 0
  fc.assert(
    fc.property(
      remembered,
      fc.array(few, { minLength: 8, maxLength: 8 }),
      fc.integer(),
      (schema, values, seed) => {
        let grammar: CompiledGrammar
        try {
          grammar = compiled(schema, true)
        } catch (error) {
          assert.ok(faultOf(error), String(error))
          assert.notEqual(faultOf(error), 'invalid', String(error))
          return
        }
        count++
        const judge = createAjvValidator(schema)
        const matcher = createRememberingMatcher(grammar)
        const random = seededRandom(seed)
        for (let draw = 0; draw < 4; draw++) {
          const text = matcher.sample(random)
          assert.equal(judge(JSON.parse(text)), true, text)
        }
        for (const value of values) {
          assert.equal(orderings(value).some(matcher.accepts), judge(value), JSON.stringify(value))
        }
      },
    ),
    amount,
  )
  assert.ok(count > amount.numRuns / 2, `${count} of ${amount.numRuns} compiled`)
})

const words = ['a', 'b', 'ab', 'é', '1', '12', 'name']
const punctuation = [
  '"',
  '",',
  '","',
  '", "',
  '"]',
  '"}',
  '":',
  '":"',
  '[',
  '["',
  '{"',
  '}',
  '},',
  '},{"',
  ',',
  ', ',
  ']',
  ' ',
  '\n',
]
const tokens = [
  ...Array.from({ length: 256 }, (_, byte) => [byte]),
  ...words,
  ...punctuation,
  ...words.flatMap((word) => punctuation.flatMap((mark) => [word + mark, mark + word])),
  '["a","a"]',
  '"a","b"',
  '1,1',
  '1,2',
]
const vocabulary = listedVocabulary({ tokens: [...tokens, '<end>'], eos: tokens.length })

test('masks and short lists contain exactly the allowed tokens, and there is always one', () => {
  const everyToken = Array.from({ length: vocabulary.size }, (_, token) => token)
  let shortened = 0
  for (const [schema] of cases) {
    const grammar = compiled(schema)
    const constraints = createConstraints(vocabulary)
    const check = (draws: readonly number[]) => {
      const allowance = constraints.of(grammar).begin()
      let written = ''
      for (const draw of draws) {
        const expected = everyToken.filter((token) => allowance.allows(token))
        const { bits, count } = allowance.mask()
        const found = everyToken.filter((token) => ((bits[token >>> 5] ?? 0) >>> (token & 31)) & 1)
        assert.deepEqual(found, expected, `${JSON.stringify(schema)} after ${written}`)
        assert.equal(count, found.length)
        const listed = allowance.few()
        if (listed !== undefined) {
          assert.deepEqual(
            [...listed].sort((a, b) => a - b),
            expected,
          )
          shortened++
        }
        assert.ok(expected.length > 0, `stuck after ${written}`)
        const further = expected.filter((token) => token !== vocabulary.eos)
        const token = further[Math.floor(draw * further.length)]
        if (token === undefined) break
        allowance.accept(token)
        written += Buffer.from(vocabulary.bytes(token)).toString('latin1')
      }
    }
    const draw = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(fc.property(fc.array(draw, { minLength: 5, maxLength: 25 }), check), { numRuns: 8, seed: 5 })
  }
  assert.ok(shortened > 100, `${shortened}`)
})
