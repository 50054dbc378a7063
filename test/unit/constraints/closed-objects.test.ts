// biome-ignore-all lint/suspicious/noThenProperty: the keyword of JSON Schema is called that.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ConstraintOptions } from '../../../packages/constraints/index.ts'
import { createConstraintCompiler } from '../../../src/inference/constraints/compile.ts'
import { gbnfOf } from '../../support/gbnf.ts'
import { createGbnfMatcher, type GbnfMatcher } from '../../support/gbnf-matcher.ts'
import { createAjvValidator } from '../../support/schemas/ajv-validator.ts'
import { keywordCases } from '../../support/schemas/keyword-cases.ts'
import { pairCases } from '../../support/schemas/pair-cases.ts'
import { realCases } from '../../support/schemas/real-cases.ts'

type Schema = Record<string, unknown>

const compiler = createConstraintCompiler()
const silent: ConstraintOptions = { whitespace: 'none' }
const told: ConstraintOptions = { whitespace: 'none', additionalProperties: true }
const listing: ConstraintOptions = { whitespace: 'none', additionalProperties: false }

function matcherOf(schema: unknown, options = silent): GbnfMatcher {
  return createGbnfMatcher(gbnfOf(compiler.compile({ kind: 'json', schema }, options, 'x').grammar))
}

const a = { properties: { a: { type: 'integer' } } }
const b = { properties: { b: { type: 'integer' } } }

/** Which objects are closed unless the request says otherwise, and what they still allow. */
const cases: [name: string, schema: Schema, yes: string[], no: string[]][] = [
  ['an object with named members', { type: 'object', ...a }, ['{}', '{"a":1}'], ['{"b":1}', '{"a":1,"b":1}']],
  ['without a type: only objects are closed', a, ['{"a":1}', '[1]', '"x"', '[{"b":1}]'], ['{"b":1}']],
  ['inner objects', { type: 'object', properties: { o: a } }, ['{"o":{"a":1}}'], ['{"o":{"b":1}}']],
  ['items of lists', { type: 'array', items: { type: 'object', ...a } }, ['[{"a":1}]'], ['[{"b":1}]']],
  [
    'values of further members',
    { type: 'object', additionalProperties: { type: 'object', ...a } },
    ['{"x":{"a":1}}'],
    ['{"x":{"b":1}}'],
  ],
  ['members that allOf merges', { allOf: [a, b] }, ['{"a":1,"b":2}'], ['{"a":1,"c":1}', '{"c":1}']],
  [
    'members that a reference merges',
    { type: 'object', $defs: { b }, $ref: '#/$defs/b', ...a },
    ['{"b":1}', '{"a":1,"b":1}'],
    ['{"c":1}'],
  ],
  [
    'each branch together with the members next to it',
    { type: 'object', ...a, anyOf: [b, { properties: { c: {} } }] },
    ['{"a":1,"b":1}', '{"a":1,"c":1}'],
    ['{"a":1,"d":1}', '{"a":1,"b":1,"c":1}'],
  ],
  [
    'a branch without named members stays open',
    {
      anyOf: [
        { type: 'object', ...a, required: ['a'] },
        { type: 'object', maxProperties: 1 },
      ],
    },
    ['{"a":1}', '{"z":1}'],
    ['{"a":1,"z":1}'],
  ],
  [
    'branches that are told apart by a member',
    {
      type: 'object',
      properties: { kind: { enum: ['x', 'y'] } },
      required: ['kind'],
      oneOf: [
        { properties: { kind: { const: 'x' }, a: { type: 'integer' } } },
        { properties: { kind: { const: 'y' }, b: { type: 'integer' } } },
      ],
    },
    ['{"kind":"x","a":1}', '{"kind":"y","b":1}'],
    ['{"kind":"x","b":1}', '{"kind":"x","c":1}'],
  ],
  [
    'conditions',
    { type: 'object', ...a, if: { required: ['a'] }, then: b },
    ['{"a":1,"b":1}', '{}'],
    ['{"a":1,"c":1}', '{"c":1}'],
  ],
  [
    'members that depend on others',
    { type: 'object', ...a, dependentSchemas: { a: b } },
    ['{"a":1,"b":1}', '{"a":1}', '{}'],
    ['{"b":1}', '{"a":1,"c":1}'],
  ],
  [
    'a required name is allowed, declared or not',
    { type: 'object', ...a, required: ['z'] },
    ['{"z":[]}', '{"a":1,"z":null}'],
    ['{"a":1}', '{"z":1,"y":1}'],
  ],
  [
    'required by one of several branches',
    { type: 'object', ...a, anyOf: [{ required: ['a'] }, { required: ['z'] }] },
    ['{"a":1}', '{"z":1}', '{"a":1,"z":1}'],
    ['{}', '{"a":1,"y":1}'],
  ],
  [
    'required together with another',
    { type: 'object', ...a, dependentRequired: { a: ['z'] } },
    ['{"a":1,"z":1}', '{}'],
    ['{"a":1}', '{"z":1}'],
  ],
  [
    'a negation that needs an undeclared name',
    { type: 'object', ...a, not: { properties: { z: { type: 'integer' } } } },
    ['{"z":"1"}', '{"a":1,"z":[]}'],
    ['{}', '{"z":1}', '{"z":"1","y":1}'],
  ],
  ['no named members', { type: 'object' }, ['{}', '{"z":{"y":1}}'], ['[]']],
  ['empty properties', { type: 'object', properties: {} }, ['{}', '{"z":1}'], []],
  ['only required members', { type: 'object', required: ['a'] }, ['{"a":1,"z":1}'], ['{"z":1}']],
  ['only a negation', { type: 'object', not: a }, ['{"a":"x","z":1}'], ['{"a":1}', '{"z":1}']],
  ['additionalProperties true', { ...a, additionalProperties: true }, ['{"z":1}'], ['{"a":"x"}']],
  [
    'additionalProperties with a schema',
    { type: 'object', ...a, additionalProperties: { type: 'string' } },
    ['{"a":1,"z":"x"}'],
    ['{"z":1}'],
  ],
  [
    'additionalProperties in one of the merged parts',
    { type: 'object', ...a, allOf: [{ ...b, additionalProperties: true }] },
    ['{"a":1,"b":1,"z":1}'],
    [],
  ],
  [
    'patternProperties',
    { type: 'object', ...a, patternProperties: { '^x': { type: 'integer' } } },
    ['{"a":1,"x1":1,"z":"y"}'],
    ['{"x1":"y"}'],
  ],
  ['propertyNames', { type: 'object', ...a, propertyNames: { maxLength: 2 } }, ['{"zz":1}'], ['{"zzz":1}']],
  ['unevaluatedProperties', { type: 'object', ...a, unevaluatedProperties: true }, ['{"z":1}'], []],
  [
    'minProperties can be met by the named members',
    { type: 'object', properties: { ...a.properties, ...b.properties }, minProperties: 2 },
    ['{"a":1,"b":1}'],
    ['{"a":1}', '{"a":1,"z":1}'],
  ],
  [
    'minProperties is greater than the number of named members',
    { type: 'object', ...a, required: ['a'], minProperties: 2 },
    ['{"a":1,"z":1}'],
    ['{"a":1}'],
  ],
  [
    'minProperties is greater than the number of members that can exist',
    { type: 'object', properties: { a: false, b: { type: 'string', enum: [1] } }, minProperties: 1 },
    ['{"z":1}'],
    ['{}', '{"a":1}', '{"b":1}'],
  ],
  ['listed values stay as they are', { enum: [{ a: 1, z: 1 }], ...a }, ['{"a":1,"z":1}'], ['{"a":1}']],
]

describe('an object that names members and says nothing about others is closed', () => {
  for (const [name, schema, yes, no] of cases) {
    it(name, () => {
      const matcher = matcherOf(schema)
      const judge = createAjvValidator(schema)
      for (const text of yes) {
        assert.ok(matcher.accepts(text), `refused: ${text}`)
        assert.equal(judge(JSON.parse(text)), true, `not an instance: ${text}`)
      }
      for (const text of no) assert.ok(!matcher.accepts(text), `accepted: ${text}`)
    })
  }

  it('also in a structural tag', () => {
    const tag = {
      type: 'structural_tag',
      structures: [{ begin: '<a>', schema: { type: 'object', ...a }, end: '</a>' }],
      triggers: ['<a'],
    }
    const of = (options: ConstraintOptions) =>
      createGbnfMatcher(gbnfOf(compiler.compile({ kind: 'structural_tag', tag }, options, 'x').grammar))
    const open = 'so: <a>{"z":1}</a>'
    assert.deepEqual(
      [of(silent).accepts(open), of(told).accepts(open), of(listing).accepts(open)],
      [false, true, false],
    )
    assert.ok(of(silent).accepts('so: <a>{"a":1}</a>'))
  })
})

describe('what a request can choose', () => {
  it('open objects, as JSON Schema defines them', () => {
    assert.ok(matcherOf({ type: 'object', ...a, required: ['z'] }, told).accepts('{"z":1,"y":2}'))
    assert.ok(!matcherOf({ type: 'object', ...a, additionalProperties: false }, told).accepts('{"z":1}'))
  })

  it('closed objects wherever members are listed without additionalProperties', () => {
    const both = { type: 'object', properties: { a: {} }, patternProperties: { '^x': {} } }
    assert.ok(matcherOf(both, listing).accepts('{"a":1,"x1":1}'))
    assert.ok(!matcherOf(both, listing).accepts('{"z":1}'))
    assert.ok(!matcherOf({ type: 'object', properties: {} }, listing).accepts('{"z":1}'))
    assert.ok(matcherOf({ type: 'object', ...a, additionalProperties: true }, listing).accepts('{"z":1}'))
    assert.ok(matcherOf({ type: 'object' }, listing).accepts('{"z":1}'))
  })
})

/** Keywords without a schema in them, copied as they are. */
const plainKeywords = [
  'type',
  'enum',
  'const',
  'title',
  'description',
  'required',
  'minItems',
  'maxItems',
  'minimum',
]
const plain = new Set([
  ...plainKeywords,
  ...['maximum', 'minLength', 'maxLength', 'pattern', 'format', 'default', 'examples', 'multipleOf'],
])

/** The same schema with additionalProperties: false in closed objects; undefined where parts would have to be merged first. */
function saidOutLoud(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return schema
  const said: Schema = {}
  const {
    properties,
    required = [],
    additionalProperties,
  } = schema as { properties?: Schema; required?: string[]; additionalProperties?: unknown }
  for (const [keyword, value] of Object.entries(schema)) {
    if (plain.has(keyword)) {
      said[keyword] = value
    } else if (keyword === 'properties' || keyword === '$defs') {
      const parts = Object.entries(value as Schema).map(([name, part]) => [name, saidOutLoud(part)])
      if (parts.some(([, part]) => part === undefined)) return undefined
      said[keyword] = Object.fromEntries(parts)
    } else if (keyword === 'items' || keyword === 'additionalProperties') {
      said[keyword] = saidOutLoud(value)
      if (said[keyword] === undefined) return undefined
    } else if (keyword === '$ref' && Object.keys(schema).every((key) => key === '$ref' || key === '$defs')) {
      said[keyword] = value
    } else {
      return undefined
    }
  }
  if (properties === undefined || Object.keys(properties).length === 0 || additionalProperties !== undefined)
    return said
  const names = Object.fromEntries(required.map((name) => [name, true]))
  return { ...said, properties: { ...names, ...(said.properties as Schema) }, additionalProperties: false }
}

/** The value with an unknown member. */
function withStranger(value: unknown): unknown[] {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? [{ ...value, stranger: 1 }] : []
}

it('the corpus: the accepted values are those that fit when closed objects have additionalProperties: false', () => {
  let compared = 0
  let closed = 0
  for (const { name, schema, valid, invalid } of [...keywordCases, ...pairCases, ...realCases]) {
    const said = saidOutLoud(schema)
    if (said === undefined) continue
    const judge = createAjvValidator(said)
    const matcher = matcherOf(schema)
    for (const value of [...valid, ...valid.flatMap(withStranger)]) {
      const text = JSON.stringify(value)
      compared++
      if (!judge(value)) closed++
      assert.equal(matcher.accepts(text), judge(value), `${name}: ${text}`)
    }
    for (const value of invalid)
      assert.ok(!matcher.accepts(JSON.stringify(value)), `${name}: ${JSON.stringify(value)}`)
  }
  assert.ok(compared > 500 && closed > 50, `${compared} instances compared, ${closed} of them closed out`)
})
