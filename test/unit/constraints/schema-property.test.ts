import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { Refusal } from '../../../src/domain/refusals.ts'
import { createConstraintCompiler } from '../../../src/inference/constraints/compile.ts'
import { tried } from '../../support/campaign-share.ts'
import { createGrammarMatcher } from '../../support/grammar-matcher.ts'
import { createAjvValidator } from '../../support/schemas/ajv-validator.ts'
import { schemas, values } from '../../support/schemas/generated-schemas.ts'
import { orderings } from '../../support/schemas/orderings.ts'
import { seededRandom } from '../../support/seeded-random.ts'

const compiler = createConstraintCompiler()

it('generated schemas: texts of the grammar fit, fitting values are accepted, others are refused', () => {
  const amount = tried({ share: 100, whole: 400 }, 20_261_120)
  let compiled = 0
  fc.assert(
    fc.property(
      schemas,
      fc.array(values, { minLength: 6, maxLength: 6 }),
      fc.integer(),
      (schema, given, seed) => {
        const judge = createAjvValidator(schema)
        let matcher: ReturnType<typeof createGrammarMatcher>
        try {
          matcher = createGrammarMatcher(
            compiler.compile(
              { kind: 'json', schema },
              { whitespace: 'none', additionalProperties: true },
              'schema',
            ).grammar,
          )
        } catch (error) {
          assert.ok(error instanceof Refusal)
          assert.notEqual(error.code, 'schema_invalid', error.message)
          if (error.code === 'constraint_impossible') {
            for (const value of given) assert.notEqual(judge(value), true, JSON.stringify(value))
          }
          return
        }
        compiled++
        const random = seededRandom(seed)
        for (let i = 0; i < 5; i++) {
          const text = matcher.sample(random, 40)
          assert.notEqual(judge(JSON.parse(text)), false, text)
        }
        for (const value of given) {
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
