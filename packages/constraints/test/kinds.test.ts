import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAjvValidator } from '../../../test/support/schemas/ajv-validator.ts'
import { compile } from '../index.ts'
import { createGrammarMatcher } from './grammar-matcher.ts'

const range = <T>(count: number, of: (at: number) => T) => Array.from({ length: count }, (_, at) => of(at))

function accepts(schema: unknown, closed = true): (value: unknown) => boolean {
  const options = { whitespace: 'none', ...(!closed && { additionalProperties: true }) } as const
  const { grammar } = compile({ kind: 'json', schema }, options)
  const matcher = createGrammarMatcher(grammar)
  return (value) => matcher.accepts(JSON.stringify(value))
}

/** Kinds that contain one another, as in the schemas of APIs. */
function kinds(count: number, keyword: 'oneOf' | 'anyOf') {
  const all = range(count, (at) => ({ $ref: `#/$defs/kind${at}` }))
  const definitions = range(count, (at) => [
    `kind${at}`,
    {
      type: 'object',
      properties: {
        type: { type: 'string', enum: [`t${at}`] },
        [`own${at}`]: { type: 'integer' },
        parts: { type: 'array', items: { [keyword]: all } },
      },
      required: ['type'],
    },
  ])
  return { $ref: '#/$defs/kind0', $defs: Object.fromEntries(definitions) }
}

for (const keyword of ['oneOf', 'anyOf'] as const) {
  test(`fifty kinds that contain one another are told apart by a member (${keyword})`, () => {
    const fits = accepts(kinds(50, keyword))
    const inside = { type: 't7', own7: 1, parts: [{ type: 't49' }, { type: 't0', own0: 2 }] }
    assert.ok(fits({ type: 't0', own0: 1, parts: [inside, { type: 't3', parts: [] }] }))
    assert.ok(!fits({ type: 't0', parts: [{ type: 't7', own8: 1 }] }))
    assert.ok(!fits({ type: 't0', parts: [{ own7: 1 }] }))
    assert.ok(!fits({ type: 't1' }))
  })
}

const text = { type: 'string' }
const tagged = (values: string[], more: object = {}) => ({
  type: 'object',
  properties: { kind: { enum: values }, ...more },
  required: ['kind'],
})

/** Branches that a tag nearly tells apart, but that may hold together. */
const together: Record<string, [schema: unknown, values: unknown[]]> = {
  'tags that share a text': [
    { oneOf: [tagged(['a', 'b'], { x: text }), tagged(['b', 'c'], { y: text })] },
    [{ kind: 'a' }, { kind: 'b' }, { kind: 'c' }, { kind: 'b', x: 'y' }, { kind: 'd' }],
  ],
  'an optional tag': [
    {
      oneOf: [
        { type: 'object', properties: { kind: { const: 'a' } } },
        { type: 'object', properties: { kind: { const: 'b' } } },
      ],
    },
    [{}, { kind: 'a' }, { kind: 'b' }, { kind: 'c' }],
  ],
  'tags of values that need not be objects': [
    {
      oneOf: [
        { properties: { kind: { const: 'a' } }, required: ['kind'] },
        { properties: { kind: { const: 'b' } }, required: ['kind'] },
      ],
      type: ['object', 'integer'],
    },
    [{ kind: 'a' }, { kind: 'b' }, 3, { kind: 'c' }],
  ],
  'tags through references and allOf': [
    {
      $defs: { a: { allOf: [tagged(['a']), { properties: { n: { type: 'integer' } } }] }, b: tagged(['b']) },
      oneOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }, { $ref: '#/$defs/b', required: ['kind', 'n'] }],
    },
    [{ kind: 'a', n: 1 }, { kind: 'b' }, { kind: 'b', n: 2 }, { kind: 'c' }, { kind: 'a', n: 'x' }],
  ],
}

for (const [what, [schema, values]] of Object.entries(together)) {
  test(`oneOf accepts what exactly one branch accepts: ${what}`, () => {
    const judge = createAjvValidator(schema)
    const fits = accepts(schema, false)
    for (const value of values) assert.equal(fits(value), judge(value), JSON.stringify(value))
  })
}
