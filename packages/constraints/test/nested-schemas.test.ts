import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { gbnfOf } from '../../../test/support/gbnf.ts'
import { createGbnfMatcher } from '../../../test/support/gbnf-matcher.ts'
import { listedVocabulary } from '../../../test/support/listed-vocabulary.ts'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import { type CompiledGrammar, compile, createConstraints, createMatcher, faultOf } from '../index.ts'

const compiledOf = (schema: unknown): CompiledGrammar =>
  compile({ kind: 'json', schema }, { whitespace: 'none' }).grammar

/** ajv's schema for schemas of untrusted callers: each of its members may be such a schema again. */
const secure: unknown = JSON.parse(
  readFileSync(
    new URL('../../../node_modules/ajv/lib/refs/json-schema-secure.json', import.meta.url),
    'utf8',
  ),
)

/** Reads the text to its end and returns the greatest number of steps that a character took. */
function followed(grammar: CompiledGrammar, text: string): number {
  const following = createMatcher(grammar)
  let position = following.start
  let widest = 0
  for (const character of text) {
    const next = following.after(position, character.codePointAt(0) ?? 0)
    assert.ok(next, `${JSON.stringify(character)} in ${text}`)
    position = next
    widest = Math.max(widest, following.stepsTo(position))
  }
  assert.ok(position.isComplete, text)
  return widest
}

test('a schema that contains itself in many places is followed however deep a text is nested', () => {
  const grammar = compiledOf(secure)
  const matcher = createGbnfMatcher(gbnfOf(grammar))
  const random = seededRandom(11)
  for (let text = 0; text < 20; text++) assert.ok(followed(grammar, matcher.sample(random, 200)) < 10_000)
  const nested = (depth: number) => `${'{"items":'.repeat(depth)}{}${'}'.repeat(depth)}`
  assert.equal(followed(grammar, nested(60)), followed(grammar, nested(4)))
})

test('the allowed tokens are known deep inside such a schema', () => {
  const tokens = ['{"items":', '{', '"items"', ':', '{}', '}', 'x', '</s>']
  const vocabulary = listedVocabulary({ tokens, eos: 7 })
  const allowance = createConstraints(vocabulary).of(compiledOf(secure)).begin()
  const allowed = () => tokens.filter((_, token) => allowance.allows(token))
  for (const token of [0, 0, 0, 1]) allowance.accept(token)
  assert.deepEqual(allowed(), ['"items"', '}'])
  for (const token of [5, 5, 5]) allowance.accept(token)
  assert.deepEqual(allowed(), ['}'])
  allowance.accept(5)
  assert.ok(allowance.isOver)
})

const self = { $ref: '#' }
const names = ['a', 'b', 'c', 'd', 'e'] as const
const name = fc.constantFrom(...names)
const someNames = fc.uniqueArray(name, { minLength: 1, maxLength: 2 })
const inner = fc.constantFrom<unknown>(
  self,
  { anyOf: [self, { type: 'array', items: self, minItems: 1 }] },
  { type: 'array', items: self },
  { additionalProperties: self },
  { allOf: [self, { required: ['a'] }] },
  true,
)
const condition = fc.record({ properties: fc.dictionary(name, fc.constant({ const: true }), { maxKeys: 2 }) })
const nestedSchemas = fc.record(
  {
    type: fc.constant(['object', 'boolean']),
    properties: fc.dictionary(name, inner, { minKeys: 2 }),
    dependencies: fc.dictionary(
      name,
      fc.oneof(
        someNames,
        fc.record({ required: someNames }),
        fc.record({ if: condition, else: fc.record({ required: someNames }) }),
      ),
      { maxKeys: 4 },
    ),
    additionalProperties: fc.constant(self),
    allOf: fc.array(
      fc.record({ if: condition, else: fc.record({ properties: fc.dictionary(name, inner) }) }),
      {
        minLength: 1,
        maxLength: 2,
      },
    ),
  },
  { requiredKeys: ['type', 'properties'] },
)

test('nested schemas that compile are followed to the end in a bounded number of steps', () => {
  let compiled = 0
  fc.assert(
    fc.property(nestedSchemas, fc.nat(), (schema, seed) => {
      let grammar: CompiledGrammar
      try {
        grammar = compiledOf(schema)
      } catch (error) {
        assert.ok(faultOf(error), String(error))
        return
      }
      compiled++
      const matcher = createGbnfMatcher(gbnfOf(grammar))
      const random = seededRandom(seed)
      for (let text = 0; text < 3; text++) assert.ok(followed(grammar, matcher.sample(random, 150)) < 20_000)
    }),
    { numRuns: 60, seed: 5 },
  )
  assert.ok(compiled > 30, `${compiled} compiled`)
})
