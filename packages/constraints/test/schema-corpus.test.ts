import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sampled } from '../../../test/support/campaign-share.ts'
import { gbnfOf } from '../../../test/support/gbnf.ts'
import { createGbnfMatcher, type GbnfMatcher } from '../../../test/support/gbnf-matcher.ts'
import { createAjvValidator } from '../../../test/support/schemas/ajv-validator.ts'
import { formatCases } from '../../../test/support/schemas/format-cases.ts'
import { keywordCases } from '../../../test/support/schemas/keyword-cases.ts'
import { pairCases } from '../../../test/support/schemas/pair-cases.ts'
import { realCases } from '../../../test/support/schemas/real-cases.ts'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import { type ConstraintOptions, compile } from '../index.ts'

const judged = [...keywordCases, ...pairCases, ...realCases]
const all = [...judged, ...formatCases]

const matchers = new Map<unknown, GbnfMatcher>()

function matcherOf(schema: unknown): GbnfMatcher {
  const known = matchers.get(schema)
  if (known !== undefined) return known
  const matcher = compiled(schema, { whitespace: 'bounded', additionalProperties: true })
  matchers.set(schema, matcher)
  return matcher
}

function compiled(schema: unknown, options: ConstraintOptions): GbnfMatcher {
  return createGbnfMatcher(gbnfOf(compile({ kind: 'json', schema }, options).grammar))
}

describe('the corpus itself', () => {
  it('has hundreds of cases with unique names', () => {
    assert.ok(all.length >= 300)
    assert.ok(realCases.length >= 40)
    assert.equal(new Set(all.map(({ name }) => name)).size, all.length)
  })

  it('agrees with ajv', () => {
    for (const { name, schema, valid, invalid } of judged) {
      const judge = createAjvValidator(schema)
      for (const value of valid) assert.equal(judge(value), true, `${name}: ${JSON.stringify(value)}`)
      for (const value of invalid) assert.equal(judge(value), false, `${name}: ${JSON.stringify(value)}`)
    }
  })
})

describe('with objects open as in the standard, a schema accepts exactly the values that fit it', () => {
  for (const { name, schema, valid, invalid } of all) {
    it(name, () => {
      const matcher = matcherOf(schema)
      for (const value of valid) {
        assert.ok(matcher.accepts(JSON.stringify(value)), `refused: ${JSON.stringify(value)}`)
        assert.ok(
          matcher.accepts(JSON.stringify(value, null, 2)),
          `refused indented: ${JSON.stringify(value)}`,
        )
      }
      for (const value of invalid) {
        assert.ok(!matcher.accepts(JSON.stringify(value)), `accepted: ${JSON.stringify(value)}`)
      }
    })
  }
})

it('texts generated from the grammars of the corpus fit their schemas', () => {
  for (const { name, schema } of sampled(judged)) {
    const judge = createAjvValidator(schema)
    const matcher = matcherOf(schema)
    const random = seededRandom(7)
    for (let i = 0; i < 12; i++) {
      const text = matcher.sample(random)
      assert.notEqual(judge(JSON.parse(text)), false, `${name}: ${text}`)
    }
  }
})

/** JSON with a 0 for each number, because JavaScript writes 46e6 with more characters. */
function withoutNumbers(json: string): string {
  return json.replace(/-?\d[\d.eE+-]*/g, '0')
}

it('texts generated from the grammars of the corpus with closed objects fit their schemas', () => {
  for (const { name, schema } of sampled(judged)) {
    const judge = createAjvValidator(schema)
    for (const options of [{}, { additionalProperties: false }]) {
      const matcher = compiled(schema, { whitespace: 'none', ...options })
      const random = seededRandom(8)
      for (let i = 0; i < 4; i++) {
        const text = matcher.sample(random)
        assert.notEqual(judge(JSON.parse(text)), false, `${name}: ${text}`)
        assert.ok(
          withoutNumbers(JSON.stringify(JSON.parse(text))).length <= withoutNumbers(text).length,
          `${name}: ${text}`,
        )
      }
    }
  }
})
