import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Constraint } from '../../../packages/chat-format/index.ts'
import { hermes } from '../../../packages/chat-format/index.ts'
import type { ConstraintOptions } from '../../../packages/constraints/index.ts'
import { keywords } from '../../../packages/constraints/index.ts'
import { Refusal } from '../../../src/domain/refusals.ts'
import { createConstraintCompiler } from '../../../src/inference/constraints/compile.ts'
import { gbnfOf } from '../../support/gbnf.ts'
import { createGbnfMatcher, type GbnfMatcher } from '../../support/gbnf-matcher.ts'

const compiler = createConstraintCompiler()
const bounded: ConstraintOptions = { whitespace: 'bounded' }

function matcherOf(constraint: Constraint, options = bounded): GbnfMatcher {
  return createGbnfMatcher(gbnfOf(compiler.compile(constraint, options, 'response_format').grammar))
}

function refusalOf(constraint: Constraint, options = bounded): Refusal {
  try {
    compiler.compile(constraint, options, 'response_format')
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  return assert.fail('the constraint was compiled')
}

const json = (schema: unknown): Constraint => ({ kind: 'json', schema })

describe('a schema that is invalid or cannot be enforced is refused with its keyword and path', () => {
  const table: [schema: unknown, code: string, keyword: string, path: string][] = [
    [
      { anyOf: [{ prefixItems: [{}] }, { type: 'null' }], unevaluatedItems: false },
      'schema_unsupported',
      'unevaluatedItems',
      '#',
    ],
    [{ if: { prefixItems: [{}] }, unevaluatedItems: false }, 'schema_unsupported', 'unevaluatedItems', '#'],
    [{ contains: {}, unevaluatedItems: false }, 'schema_unsupported', 'unevaluatedItems', '#'],
    [{ not: { unevaluatedItems: false } }, 'schema_unsupported', 'unevaluatedItems', '#/not'],
    [{ $dynamicRef: '#x' }, 'schema_invalid', '$dynamicRef', '#'],
    [
      { type: 'array', contains: { type: 'string' }, uniqueItems: true },
      'schema_unsupported',
      'uniqueItems',
      '#',
    ],
    [
      {
        type: 'object',
        minProperties: 3,
        patternProperties: { '^[ab]$': {} },
        additionalProperties: false,
      },
      'schema_unsupported',
      'minProperties',
      '#',
    ],
    [{ properties: { 'a/b': { pattern: '(a)\\1' } } }, 'schema_unsupported', 'pattern', '#/properties/a~1b'],
    [{ pattern: '(a)\\1' }, 'schema_unsupported', 'pattern', '#'],
    [{ pattern: '(w)\\1' }, 'schema_unsupported', 'pattern', '#'],
    [{ pattern: '(' }, 'schema_invalid', 'pattern', '#'],
    [{ $ref: 'https://elsewhere.example/s.json' }, 'schema_unsupported', '$ref', '#'],
    [{ $ref: '#/$defs/no' }, 'schema_invalid', '$ref', '#'],
    [{ $ref: '#' }, 'schema_invalid', '$ref', '#'],
    [{ anyOf: [{ $ref: '#' }, { type: 'null' }] }, 'schema_invalid', '$ref', '#'],
    [{ type: 'text' }, 'schema_invalid', 'type', '#'],
    [{ type: 'integer', minimum: '3' }, 'schema_invalid', 'minimum', '#'],
    [{ type: 'integer', minimum: 3, exclusiveMinimum: 'yes' }, 'schema_invalid', 'exclusiveMinimum', '#'],
    [{ maxLength: -1 }, 'schema_invalid', 'maxLength', '#'],
    [{ minItems: 1.5 }, 'schema_invalid', 'minItems', '#'],
    [{ anyOf: [] }, 'schema_invalid', 'anyOf', '#'],
    [{ enum: [] }, 'schema_invalid', 'enum', '#'],
    [{ required: 'a' }, 'schema_invalid', 'required', '#'],
    [{ multipleOf: 0 }, 'schema_invalid', 'multipleOf', '#'],
    [{ type: 'integer', multipleOf: 123457 }, 'schema_unsupported', 'multipleOf', '#'],
    [{ not: { prefixItems: [{}], items: { type: 'string' } } }, 'schema_unsupported', 'items', '#/not'],
    [
      { allOf: [1, 2, 3, 4, 5].map((value) => ({ contains: { const: value } })) },
      'schema_unsupported',
      'contains',
      '#/allOf/4',
    ],
    [
      { allOf: [{ unevaluatedProperties: false }] },
      'schema_unsupported',
      'unevaluatedProperties',
      '#/allOf/0',
    ],
    [
      {
        oneOf: [
          { type: 'array', uniqueItems: true, maxItems: 1 },
          { type: 'array', items: { type: 'number' } },
        ],
      },
      'schema_unsupported',
      'oneOf',
      '#',
    ],
  ]
  for (const [schema, code, keyword, path] of table) {
    it(JSON.stringify(schema).slice(0, 100), () => {
      const refusal = refusalOf(json(schema))
      assert.equal(refusal.code, code)
      assert.equal(refusal.values.keyword, keyword)
      assert.equal(refusal.values.path, path)
      assert.equal(refusal.field, 'response_format')
      assert.equal(refusal.status, 400)
    })
  }

  it('annotations are not refused', () => {
    for (const [keyword, { standing }] of Object.entries(keywords)) {
      if (standing === 'annotation') assert.ok(matcherOf(json({ [keyword]: 'x' })).accepts('1'))
    }
  })

  it('a schema that no value fits is refused', () => {
    for (const schema of [
      false,
      { type: 'integer', minimum: 3, maximum: 2 },
      { type: 'string', pattern: '^a$', minLength: 2 },
      { allOf: [{ type: 'string' }, { type: 'integer' }] },
      { type: 'object', required: ['a'], properties: { a: false } },
      { $ref: '#/$defs/a', $defs: { a: { type: 'array', items: { $ref: '#/$defs/a' }, minItems: 1 } } },
    ]) {
      assert.equal(refusalOf(json(schema)).code, 'constraint_impossible', JSON.stringify(schema))
    }
  })
})

describe('hostile schemas are refused or compile to a small grammar', () => {
  const branching = (levels: number) => {
    const $defs: Record<string, unknown> = { d0: { type: 'string' } }
    for (let i = 1; i <= levels; i++) {
      const before = { $ref: `#/$defs/d${i - 1}` }
      $defs[`d${i}`] = { anyOf: [before, { allOf: [before, { minLength: i }] }] }
    }
    return { $ref: `#/$defs/d${levels}`, $defs }
  }
  const nested = (levels: number) => {
    let schema: unknown = { type: 'string' }
    for (let i = 0; i < levels; i++) schema = { type: 'array', items: schema }
    return schema
  }
  const choices = Array.from({ length: 20 }, (_, i) => ({
    anyOf: [{ required: [`a${i}`] }, { required: [`b${i}`] }],
  }))
  const tooLarge: [string, unknown][] = [
    ['anyOf that doubles at each level', branching(40)],
    ['many anyOf in one schema', { type: 'object', allOf: choices }],
    ['deep nesting', nested(5000)],
    ['nested repetitions', { type: 'string', pattern: '^((a{1,500}){1,500}){1,500}$' }],
    ['a pattern with exponentially many states', { type: 'string', pattern: '^(.*a.{40})$' }],
    ['a pattern and a length', { type: 'string', pattern: '^(ab|cd|ef)+x?(gh|ij)*$', maxLength: 20_000 }],
    [
      'counted items in counted items',
      { type: 'array', contains: { const: 1 }, minContains: 900, minItems: 900 },
    ],
    [
      'patterns of names',
      { patternProperties: { 'a.{12}b': {}, 'b.{12}c': {}, 'c.{12}d': {}, 'd.{12}e': {} } },
    ],
    [
      'counted members',
      {
        properties: Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`m${i}`, {}])),
        minProperties: 150,
        additionalProperties: false,
      },
    ],
    [
      'a oneOf that overlaps',
      { type: 'string', oneOf: Array.from({ length: 40 }, (_, i) => ({ pattern: `a{${i}}` })) },
    ],
    [
      'optional members',
      {
        type: 'object',
        properties: Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`m${i}`, {}])),
      },
    ],
  ]
  for (const [name, schema] of tooLarge) {
    it(name, () => {
      const { code, message } = refusalOf(json(schema))
      assert.equal(code, 'constraint_too_large', message)
    })
  }

  it('a large enum, large counts and many members are accepted', () => {
    const words = Array.from({ length: 5000 }, (_, i) => `value ${i}`)
    const matcher = matcherOf(json({ enum: words }))
    assert.ok(matcher.accepts('"value 4999"'))
    assert.ok(!matcher.accepts('"value 5000"'))
    const members = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`m${i}`, { type: 'integer' }]))
    const object = matcherOf(json({ type: 'object', properties: members, additionalProperties: false }))
    assert.ok(object.accepts('{"m0":1,"m150":2,"m299":3}'))
    assert.ok(!object.accepts('{"m1":1,"m0":2}'))
    const list = matcherOf(json({ type: 'array', items: { const: 1 }, maxItems: 3000 }))
    assert.ok(list.accepts(JSON.stringify(Array(3000).fill(1))))
    assert.ok(!list.accepts(JSON.stringify(Array(3001).fill(1))))
  })
})

describe('white space', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'array', items: { type: 'integer' } } },
    required: ['a'],
    additionalProperties: false,
  }
  const compact = '{"a":[1,2]}'

  it('none', () => {
    const matcher = matcherOf(json(schema), { whitespace: 'none' })
    assert.ok(matcher.accepts(compact))
    for (const text of ['{"a": [1,2]}', '{"a":[1, 2]}', '{ "a":[1,2]}', '{"a":[1,2]}\n', ' {"a":[1,2]}']) {
      assert.ok(!matcher.accepts(text), text)
    }
  })

  it('bounded: one space, or a line break with indentation', () => {
    const matcher = matcherOf(json(schema))
    assert.ok(matcher.accepts(compact))
    assert.ok(matcher.accepts('{ "a": [ 1, 2 ] }'))
    assert.ok(matcher.accepts('{\n\t"a": [\n\t\t1,\n\t\t2\n\t]\n}'))
    for (const text of [
      '{  "a":[1,2]}',
      '{\n\n"a":[1,2]}',
      '{"a":  [1,2]}',
      '{"a" :[1,2]}',
      '{"a":[1,2]}\n',
      '\n{"a":[1,2]}',
    ]) {
      assert.ok(!matcher.begins(text) || !matcher.accepts(text), text)
    }
    assert.ok(!matcher.begins(`{\n${' '.repeat(33)}`))
  })

  it('as given by a pattern', () => {
    const matcher = matcherOf(json(schema), { whitespace: { pattern: '[ ]{0,3}' } })
    assert.ok(matcher.accepts(compact))
    assert.ok(matcher.accepts('{   "a":   [1,   2]}'))
    assert.ok(!matcher.accepts('{"a":    [1,2]}'))
    assert.ok(!matcher.accepts('{\n"a":[1,2]}'))
  })

  it('a pattern that allows other characters or matches nothing is refused', () => {
    for (const pattern of ['[ ,]*', '\\s*', 'a^', '(']) {
      const refusal = refusalOf(json(schema), { whitespace: { pattern } })
      assert.equal(refusal.code, 'whitespace_unsupported')
      assert.equal(refusal.values.received, pattern)
    }
  })
})

describe('other kinds of constraints', () => {
  it('json_object', () => {
    const matcher = matcherOf({ kind: 'json_object' })
    for (const text of ['{}', '{"a":[1,{"b":null}]}', '{ "a": 1 }']) assert.ok(matcher.accepts(text), text)
    for (const text of [
      '[]',
      '1',
      '"{}"',
      '{"a":1,}',
      '{a:1}',
      '{"a":01}',
      '{"a":"\n"}',
      '{"a":"\\ud800"}',
    ]) {
      assert.ok(!matcher.accepts(text), text)
    }
  })

  it('regex, choice and grammar', () => {
    assert.ok(matcherOf({ kind: 'regex', regex: '[a-c]{2}\\d' }).accepts('ab1'))
    assert.ok(!matcherOf({ kind: 'regex', regex: '[a-c]{2}\\d' }).accepts('ab1x'))
    assert.ok(matcherOf({ kind: 'choice', choices: ['yes', 'no'] }).accepts('no'))
    assert.ok(!matcherOf({ kind: 'choice', choices: ['yes', 'no'] }).accepts('not'))
    assert.ok(matcherOf({ kind: 'grammar', grammar: 'root ::= "a" root | "b"' }).accepts('aab'))
    assert.equal(refusalOf({ kind: 'regex', regex: '(a)\\1' }).code, 'constraint_unsupported')
    assert.equal(refusalOf({ kind: 'regex', regex: '(' }).code, 'constraint_invalid')
    assert.equal(refusalOf({ kind: 'choice', choices: [] }).code, 'constraint_invalid')
    assert.equal(refusalOf({ kind: 'grammar', grammar: 'root ::= missing' }).code, 'constraint_invalid')
    assert.equal(
      refusalOf({ kind: 'grammar', grammar: 'root ::= root "a" | "b"' }).code,
      'constraint_unsupported',
    )
  })

  it('a structural tag, where a refusal names the path of the schema', () => {
    const tag = (schema: unknown) => ({
      triggers: ['<call>'],
      structures: [{ begin: '<call>', schema, end: '</call>' }],
    })
    const matcher = matcherOf({
      kind: 'structural_tag',
      tag: tag({ type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }),
    })
    assert.ok(matcher.accepts('Let me see. <call>{"n":1}</call> Done.'))
    assert.ok(!matcher.accepts('<call>{"n":"x"}</call>'))
    assert.ok(matcher.accepts('no call at all'))
    const refusal = refusalOf({
      kind: 'structural_tag',
      tag: tag({ properties: { a: { pattern: '(a)\\1' } } }),
    })
    assert.equal(refusal.code, 'schema_unsupported')
    assert.match(String(refusal.values.path), /^#\/structures\/0\/.*\/properties\/a$/)
  })
})

it('numbers of a schema keep their digits', async () => {
  const { parseLossless } = await import('../../../packages/json/index.ts')
  const schema = parseLossless(
    '{"anyOf":[{"const":9007199254740993},{"const":1.0},{"type":"integer","minimum":18446744073709551614,"maximum":18446744073709551615}]}',
  )
  const matcher = matcherOf(json(schema))
  for (const text of ['9007199254740993', '1.0', '18446744073709551614', '18446744073709551615']) {
    assert.ok(matcher.accepts(text), text)
  }
  for (const text of ['9007199254740992', '18446744073709551613', '18446744073709551616']) {
    assert.ok(!matcher.accepts(text), text)
  }
})

it('a compiled constraint is reused, and a refusal names the field of its own request', () => {
  const own = createConstraintCompiler()
  const once = own.compile(json({ type: 'integer' }), bounded, 'a')
  assert.equal(own.compile(json({ type: 'integer' }), bounded, 'b'), once)
  assert.notEqual(own.compile(json({ type: 'integer' }), { whitespace: 'none' }, 'a'), once)
  for (const field of ['response_format', 'structured_outputs']) {
    assert.throws(() => own.compile(json({ type: 'x' }), bounded, field), { field })
  }
})

it('the refusal of a tool names where the request has its schema', () => {
  const tool = (schema: object, strict: boolean) => ({
    name: 'f',
    parameters: { properties: { a: schema } },
    strict,
    field: 'tools.3.function.parameters',
  })
  for (const [tools, code] of [
    [[tool({ type: 'x' }, false)], 'schema_invalid'],
    [[tool({ not: { pattern: '(x)\\1' } }, true)], 'schema_unsupported'],
  ] as const) {
    const calls = { format: hermes, tools, choice: 'auto', isParallel: true } as const
    assert.throws(() => compiler.compile({ kind: 'turn', thought: 'over', calls }, bounded, 'tools'), {
      code,
      field: 'tools.3.function.parameters',
      message: / at #\/properties\/a/,
    })
  }
})
