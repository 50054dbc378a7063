import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { gbnfOf } from '../../../test/support/gbnf.ts'
import { createGbnfMatcher } from '../../../test/support/gbnf-matcher.ts'
import { createAjvValidator } from '../../../test/support/schemas/ajv-validator.ts'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import { compile, faultOf } from '../index.ts'

const inner = fc.constantFrom(
  { const: 1 },
  { type: 'string' },
  { type: 'integer' },
  { minimum: 2 },
  { enum: [1, 'a'] },
  true,
)
const contained = fc.record(
  {
    contains: inner,
    minContains: fc.nat({ max: 2 }),
    maxContains: fc.integer({ min: 1, max: 3 }),
    minItems: fc.nat({ max: 3 }),
    maxItems: fc.integer({ min: 2, max: 4 }),
  },
  { requiredKeys: ['contains'] },
)
const lists = [[]] as unknown[][]
for (const list of lists)
  if (list.length < 4) for (const item of [1, 2, 'a', 'b', null]) lists.push([...list, item])

test('several contains keywords of one array are enforced together, as by a validator', () => {
  let compiled = 0
  fc.assert(
    fc.property(fc.array(contained, { minLength: 2, maxLength: 3 }), fc.integer(), (allOf, seed) => {
      const schema = { type: 'array', allOf }
      const judge = createAjvValidator(schema)
      let gbnf: string
      try {
        gbnf = gbnfOf(compile({ kind: 'json', schema }, { whitespace: 'none' }).grammar)
      } catch (error) {
        assert.ok(faultOf(error), String(error))
        if (faultOf(error) === 'impossible') for (const list of lists) assert.notEqual(judge(list), true)
        else assert.equal(faultOf(error), 'too_large')
        return
      }
      compiled++
      const matcher = createGbnfMatcher(gbnf)
      const random = seededRandom(seed)
      for (let draw = 0; draw < 5; draw++) {
        const text = matcher.sample(random, 40)
        assert.notEqual(judge(JSON.parse(text)), false, text)
      }
      for (const list of lists) {
        assert.equal(matcher.accepts(JSON.stringify(list)), judge(list), JSON.stringify([allOf, list]))
      }
    }),
    { numRuns: 40 },
  )
  // On average, more than half of them compile.
  assert.ok(compiled > 5, `${compiled} of 40 compiled`)
})
