// biome-ignore-all lint/suspicious/noThenProperty: the keyword of JSON Schema is called that.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { createRememberingMatcher } from '../../../test/support/remembering-matcher.ts'
import { createAjvValidator } from '../../../test/support/schemas/ajv-validator.ts'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import { type ConstraintOptions, compile, faultOf } from '../index.ts'
import { createGrammarMatcher } from './grammar-matcher.ts'
import { orderings } from './orderings.ts'

function matcherOf(schema: unknown, options: Partial<ConstraintOptions> = { additionalProperties: true }) {
  const { grammar } = compile({ kind: 'json', schema }, { whitespace: 'none', ...options })
  return {
    accepts: createRememberingMatcher(grammar).accepts,
    sample: createGrammarMatcher(grammar).sample,
  }
}

const schemas = fc.constantFrom<unknown>(
  false,
  true,
  { type: 'string' },
  { type: 'integer' },
  { const: 1 },
  { minimum: 2 },
  { enum: [1, 'a'] },
)
const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 })
const byName = (names: readonly string[]) =>
  fc.dictionary(fc.constantFrom(...names), schemas, { minKeys: 1, maxKeys: 2 })
const objects = fc
  .record({
    type: some(fc.constant('object')),
    properties: some(byName(['a', 'b'])),
    required: some(fc.subarray(['a', 'x1'])),
    additionalProperties: some(schemas),
    patternProperties: some(byName(['^x', '1$'])),
    propertyNames: some(
      fc.constantFrom<unknown>(
        { pattern: '^[a-x]' },
        { maxLength: 1 },
        { enum: ['a', 'x1'] },
        { not: { const: 'b' } },
      ),
    ),
    minProperties: some(fc.nat({ max: 1 })),
    maxProperties: some(fc.nat({ max: 2 })),
  })
  .map((schema) => Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined)))

const negating = fc.oneof(
  fc.tuple(objects, objects).map(([first, second]) => ({ ...first, not: second })),
  fc.tuple(objects, objects).map(([first, second]) => ({ oneOf: [first, second] })),
  fc
    .tuple(objects, objects, objects)
    .map(([first, second, last]) => ({ if: first, then: second, else: last })),
  fc
    .tuple(objects, objects)
    .map(([first, second]) => ({ allOf: [{ not: first }, { not: second }], type: 'object' })),
)

const values = [1, 2, 'a', 'b', null]
const objectsOf = (names: readonly string[]): Record<string, unknown>[] =>
  names.reduce<Record<string, unknown>[]>(
    (found, name) =>
      found.flatMap((object) => [object, ...values.map((value) => ({ ...object, [name]: value }))]),
    [{}],
  )
const instances = [...objectsOf(['a', 'x1', 'z']), ...objectsOf(['b', 'x1']), 1, 'a', null, []]

test('keywords about undeclared members are negated as a validator negates them', () => {
  let compiled = 0
  let accepted = 0
  fc.assert(
    fc.property(negating, fc.integer(), (schema, seed) => {
      const judge = createAjvValidator(schema)
      let matcher: ReturnType<typeof matcherOf>
      try {
        matcher = matcherOf(schema)
      } catch (error) {
        assert.ok(faultOf(error), String(error))
        if (faultOf(error) === 'impossible') {
          for (const value of instances) assert.notEqual(judge(value), true, JSON.stringify(value))
        } else assert.match(faultOf(error) ?? '', /^(too_large|unsupported)$/, String(error))
        return
      }
      compiled++
      const random = seededRandom(seed)
      for (let draw = 0; draw < 6; draw++) {
        const text = matcher.sample(random, 40)
        assert.notEqual(judge(JSON.parse(text)), false, text)
      }
      for (const value of instances) {
        const fits = judge(value)
        const isAccepted = orderings(value).some(matcher.accepts)
        assert.equal(isAccepted, fits, JSON.stringify(value))
        if (fits) accepted++
      }
    }),
    { numRuns: 60, seed: 20_261_122 },
  )
  assert.ok(compiled > 30, `${compiled} of 60 compiled`)
  assert.ok(accepted > 300)
})

test('a repeated name counts with its last value', () => {
  const matcher = matcherOf({ type: 'object', not: { additionalProperties: { type: 'string' } } })
  assert.ok(matcher.accepts('{"a":1}'))
  assert.ok(matcher.accepts('{"b":"x","a":1}'))
  assert.ok(!matcher.accepts('{"a":1,"a":"x"}'))
  assert.ok(matcher.accepts('{"a":"x","a":1}'))
})

describe('a closed object', () => {
  const { a, b } = { a: { type: 'integer' }, b: { type: 'integer' } }
  test('can violate additionalProperties: false with a member that it declares', () => {
    const schema = {
      oneOf: [
        { type: 'object', properties: { a, b } },
        { type: 'object', properties: { a }, additionalProperties: false },
      ],
    }
    const matcher = matcherOf(schema, {})
    assert.deepEqual(['{"a":1,"b":2}', '{"b":2}', '{"a":1}', '{}', '{"b":1,"z":1}'].map(matcher.accepts), [
      true,
      true,
      false,
      false,
      false,
    ])
  })

  test('is open where a negation needs an undeclared member', () => {
    const schema = { type: 'object', properties: { a }, not: { propertyNames: { maxLength: 2 } } }
    const matcher = matcherOf(schema, {})
    assert.deepEqual(['{"a":1}', '{"a":1,"long":1}', '{"long":1}'].map(matcher.accepts), [false, true, true])
  })
})

test('numbers that are not a multiple', () => {
  for (const [step, yes, no] of [
    [2, ['1', '-3', '0.5', '7'], ['0', '-0', '2', '-4', '2.0']],
    [10, ['1', '11', '-5'], ['0', '-0', '10', '-20']],
    [0.5, ['0.1', '1.2', '-0.7'], ['0.5', '1', '1.0', '-0', '-0.0', '2.5']],
    [0.01, [], ['1', '0.25', '-0.01']],
  ] as const) {
    const schema = { type: 'number', not: { multipleOf: step } }
    if (yes.length === 0) {
      assert.throws(() => matcherOf(schema), { fault: 'impossible' })
      continue
    }
    const matcher = matcherOf(schema)
    const judge = createAjvValidator(schema)
    for (const text of yes) assert.ok(matcher.accepts(text) && judge(JSON.parse(text)), `${step}: ${text}`)
    for (const text of no) assert.ok(!matcher.accepts(text), `${step}: ${text}`)
    const random = seededRandom(step)
    for (let draw = 0; draw < 50; draw++) {
      const text = matcher.sample(random, 40)
      // The validator takes smaller numbers for zero.
      if (Math.abs(Number(text)) > 1e-5) assert.notEqual(judge(JSON.parse(text)), false, `${step}: ${text}`)
    }
  }
  const both = matcherOf({ type: 'integer', multipleOf: 3, not: { multipleOf: 2 } })
  assert.deepEqual(['3', '9', '6', '5'].map(both.accepts), [true, true, false, false])
})
