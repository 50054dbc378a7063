import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import { hermes as callFormat } from '../../../packages/chat-format/index.ts'
import type { ConstraintOptions } from '../../../packages/constraints/index.ts'
import { Refusal } from '../../../src/domain/refusals.ts'
import { createConstraintCompiler } from '../../../src/inference/constraints/compile.ts'
import { gbnfOf } from '../../support/gbnf.ts'
import { createGbnfMatcher } from '../../support/gbnf-matcher.ts'
import { createAjvValidator } from '../../support/schemas/ajv-validator.ts'
import { draftCases } from './draft-cases.ts'

const open: ConstraintOptions = { whitespace: 'bounded', additionalProperties: true }

function compiled(schema: unknown, options: ConstraintOptions = open) {
  return createConstraintCompiler().compile({ kind: 'json', schema }, options, 'schema')
}

describe('each keyword has the meaning of its draft', () => {
  for (const { name, schema, valid, invalid } of draftCases) {
    it(name, () => {
      const matcher = createGbnfMatcher(gbnfOf(compiled(schema).grammar))
      for (const value of valid) assert.ok(matcher.accepts(JSON.stringify(value)), JSON.stringify(value))
      for (const value of invalid) assert.ok(!matcher.accepts(JSON.stringify(value)), JSON.stringify(value))
    })
  }

  it('agrees with ajv on the drafts that ajv supports', () => {
    const known = draftCases.filter(({ schema }) =>
      /draft-0[67]|2019|2020/.test(String((schema as { $schema?: unknown }).$schema)),
    )
    assert.ok(known.length >= 5)
    for (const { name, schema, valid, invalid } of known) {
      const judge = createAjvValidator(schema)
      for (const value of valid) assert.equal(judge(value), true, `${name}: ${JSON.stringify(value)}`)
      for (const value of invalid) assert.equal(judge(value), false, `${name}: ${JSON.stringify(value)}`)
    }
  })
})

describe('an unknown keyword', () => {
  const schema = {
    type: 'object',
    title: 'A form',
    javaType: 'com.example.Form',
    propertyOrder: ['a'],
    properties: {
      a: { type: 'string', format: 'moon-phase', enumNames: [], MaxLength: 3 },
      note: { type: 'string', requried: true, note: 'said beside it', 'x-order': 1 },
    },
  }

  it('is ignored, and a likely misspelling is noted', () => {
    const { grammar, notes } = compiled(schema)
    assert.ok(createGbnfMatcher(gbnfOf(grammar)).accepts('{"a":"abcd"}'))
    assert.deepEqual([...notes].sort(), [
      '#/properties/a MaxLength: maxLength?',
      '#/properties/note requried: required?',
    ])
  })

  it('is noted again when the grammar comes from the cache', () => {
    const compiler = createConstraintCompiler()
    const ask = () => compiler.compile({ kind: 'json', schema }, open, 'schema').notes
    assert.deepEqual(ask(), ask())
    assert.equal(ask().length, 2)
  })

  it('is refused on request', () => {
    const refusing: ConstraintOptions = { ...open, unknownKeywords: 'refuse' }
    assert.throws(
      () => compiled({ properties: { a: { minLenght: 3 } } }, refusing),
      (error: unknown) => {
        assert.ok(error instanceof Refusal)
        assert.deepEqual(
          [error.code, error.values.keyword, error.values.path],
          ['schema_unsupported', 'minLenght', '#/properties/a'],
        )
        return true
      },
    )
    assert.deepEqual(compiled({ type: 'string', 'x-anything': 1 }, refusing).notes, [])
  })

  it('is noted with the name of the tool whose schema has it', () => {
    const turn = {
      kind: 'turn',
      thought: 'over',
      calls: {
        format: callFormat,
        tools: [
          {
            name: 'look',
            parameters: { type: 'object', properties: { a: { tyep: 'string' } } },
            strict: false,
          },
        ],
        choice: 'auto',
        isParallel: true,
      },
    } as const
    const compiler = createConstraintCompiler()
    for (let time = 0; time < 2; time++) {
      const { notes, widened } = compiler.compile(
        turn,
        { ...open, whitespace: time === 0 ? 'none' : 'bounded' },
        'tools',
      )
      assert.deepEqual([notes, widened], [['look#/properties/a tyep: type?'], []])
    }
  })
})

test('references that lead out of the schema are refused and named', () => {
  for (const reference of ['https://elsewhere.example/a.json', 'other.json', 'urn:other', '//['] as const) {
    assert.throws(
      () => compiled({ properties: { a: { $ref: reference } } }),
      (error: unknown) => {
        assert.ok(error instanceof Refusal)
        assert.equal(error.values.keyword, '$ref')
        assert.equal(error.values.path, '#/properties/a')
        return String(error.message).includes(reference)
      },
    )
  }
})

test('a dynamic reference that several schemas could match is refused', () => {
  const schema = {
    $dynamicAnchor: 'node',
    type: 'object',
    properties: { a: { $id: 'https://b.example/', $dynamicAnchor: 'node', items: { $dynamicRef: '#node' } } },
  }
  assert.throws(() => compiled(schema), /dynamicRef/)
})
