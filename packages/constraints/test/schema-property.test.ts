import assert from 'node:assert/strict'
import { it } from 'node:test'
import { tried } from '../../../test/support/campaign-share.ts'
import fc from '../../../test/support/fast-check.ts'
import { createAjvValidator } from '../../../test/support/schemas/ajv-validator.ts'
import { schemas, values } from '../../../test/support/schemas/generated-schemas.ts'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import { compile, faultOf } from '../index.ts'
import { createGrammarMatcher } from './grammar-matcher.ts'
import { orderings } from './orderings.ts'

it('generated schemas: texts of the grammar fit, fitting values are accepted, others are refused', () => {
  const amount = tried({ share: 100, whole: 400 }, 20_261_120)
  let compiled = 0
  fc.assert(
    fc.property(
      schemas,
      fc.array(values, { minLength: 6, maxLength: 6 }),
      fc.integer(),
      (schema, examples, seed) => {
        const judge = createAjvValidator(schema)
        let matcher: ReturnType<typeof createGrammarMatcher>
        try {
          matcher = createGrammarMatcher(
            compile({ kind: 'json', schema }, { whitespace: 'none', additionalProperties: true }).grammar,
          )
        } catch (error) {
          assert.ok(faultOf(error), String(error))
          assert.notEqual(faultOf(error), 'invalid', String(error))
          if (faultOf(error) === 'impossible') {
            for (const value of examples) assert.notEqual(judge(value), true, JSON.stringify(value))
          }
          return
        }
        compiled++
        const random = seededRandom(seed)
        for (let i = 0; i < 5; i++) {
          const text = matcher.sample(random, 40)
          assert.notEqual(judge(JSON.parse(text)), false, text)
        }
        for (const value of examples) {
          const fits = judge(value)
          if (fits === undefined) continue
          assert.equal(orderings(value).some(matcher.accepts), fits, JSON.stringify(value))
        }
      },
    ),
    amount,
  )
  assert.ok(compiled > amount.numRuns / 2, `${compiled} of ${amount.numRuns} compiled`)
})
