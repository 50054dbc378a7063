import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCompiledSchemas, createValidator } from '../../src/schemas/validator.ts'

const validate = createValidator()
const check = (schema: unknown, value: unknown) => validate(JSON.stringify(schema), JSON.stringify(value))
const draft7 = 'http://json-schema.org/draft-07/schema#'

for (const [schema, value] of [
  [{}, null],
  [true, { a: 1 }],
  [{ type: 'integer' }, 1.0],
  [{ type: ['string', 'null'] }, null],
  [{ $defs: { a: { type: 'string' } }, properties: { x: { $ref: '#/$defs/a' } } }, { x: 'a' }],
  [{ prefixItems: [{ type: 'string' }], items: { type: 'number' } }, ['a', 1, 2]],
  [{ $schema: draft7, items: [{ type: 'string' }], additionalItems: false }, ['a']],
  [{ $schema: draft7, definitions: { a: { minimum: 1 } }, $ref: '#/definitions/a' }, 1],
  [{ format: 'email' }, 'no address'],
  [{ colour: 'red', title: 'Unknown words only describe' }, 5],
  [{ $id: 'https://example.com/one', type: 'string' }, 'a'],
  [{ $id: 'https://example.com/one', type: 'number' }, 1],
  [{ pattern: '^\\p{L}+(?=!)' }, 'né!'],
  [{ pattern: '^[\\w-.]+$' }, 'a-b.c'],
  [{ nullable: true }, 5],
  [{ type: ['string', 'null'], nullable: false }, null],
  [{ id: 'old', type: 'string' }, 'a'],
  [{ $schema: draft7, id: 5, items: [{ nullable: true }] }, [1]],
  [{ const: { nullable: true, $async: true } }, { nullable: true, $async: true }],
  [{ properties: { $async: { type: 'boolean' }, id: { type: 'string' } } }, { $async: true, id: 'x' }],
] as const) {
  test(`${JSON.stringify(value)} fits ${JSON.stringify(schema)}`, () => {
    assert.deepEqual(check(schema, value), { kind: 'valid' })
  })
}

for (const [schema, value, path, received, why] of [
  [false, 1, [], '1', 'boolean schema is false'],
  [{ type: 'string' }, 5, [], '5', 'must be string'],
  [{ const: { a: 1 } }, {}, [], 'an object', 'must be equal to constant: {"a":1}'],
  [{ items: { maximum: 3 } }, [1, 4], ['1'], '4', 'must be <= 3'],
  [{ properties: { 'a/b~c': { type: 'null' } } }, { 'a/b~c': [] }, ['a/b~c'], 'a list', 'must be null'],
  [{ required: ['toString'] }, {}, [], 'an object', "must have required property 'toString'"],
  [{ unevaluatedProperties: false }, { x: 1 }, [], 'an object', 'must NOT have unevaluated properties: "x"'],
  [
    { anyOf: [{ type: 'string' }, { type: 'null' }] },
    5,
    [],
    '5',
    'must be string; must be null; must match a schema in anyOf',
  ],
  [{ type: 'string', nullable: true }, null, [], 'null', 'must be string'],
  [{ properties: { nullable: { type: 'string' } } }, { nullable: 1 }, ['nullable'], '1', 'must be string'],
  [{ pattern: '^[\\w-.]+$' }, 'a b', [], '"a b"', 'must match pattern "^[\\w-.]+$"'],
  [{ patternProperties: { '^[\\w-.]+$': { type: 'string' } } }, { a: 1 }, ['a'], '1', 'must be string'],
  [{ maxLength: 1 }, 'x'.repeat(200), [], `"${'x'.repeat(79)}…`, 'must NOT have more than 1 characters'],
] as const) {
  test(`${JSON.stringify(value).slice(0, 40)} differs from ${JSON.stringify(schema)}`, () => {
    assert.deepEqual(check(schema, value), { kind: 'invalid', path: [...path], received, why })
  })
}

for (const [schema, why] of [
  [5, /neither an object nor a boolean/],
  [{ type: 'colour' }, /schema\/type/],
  [{ pattern: '(' }, /Invalid regular expression/],
  [{ $async: true, type: 'string' }, /^"\$async" is not accepted$/],
  [{ $schema: draft7, items: [{ $async: false }] }, /^"\$async" is not accepted$/],
  [{ anyOf: [{ not: { $async: true } }] }, /^"\$async" is not accepted$/],
  [{ $defs: { a: { $async: true } }, $ref: '#/$defs/a' }, /^"\$async" is not accepted$/],
  [{ elsewhere: { $async: true, type: 'string' }, $ref: '#/elsewhere' }, /async schema/],
  [{ $ref: 'https://example.com/schema.json' }, /can't resolve reference https:\/\/example\.com/],
  [{ $ref: 'file:///etc/passwd' }, /can't resolve reference/],
  [{ $ref: '#' }, /refers to itself without end/],
  [{ $ref: 'https://example.com/one' }, /can't resolve reference/],
] as const) {
  test(`${JSON.stringify(schema)} is refused as a schema`, () => {
    const { kind, why: said } = check(schema, 1) as { kind: string; why: string }
    assert.equal(kind, 'schema_error')
    assert.match(said, why)
  })
}

test('a schema can be checked without a value', () => {
  assert.deepEqual(validate('{"type":"string"}', undefined), { kind: 'valid' })
  assert.equal(validate('{"type":5}', undefined).kind, 'schema_error')
})

test('a schema is compiled once while it is in use, and evicted when others are used', () => {
  const compiled = createCompiledSchemas()
  const first = compiled('{"minimum":0}')
  for (let n = 1; n < 200; n++) {
    compiled(`{"minimum":${n}}`)
    assert.equal(compiled('{"minimum":0}'), first)
  }
  const second = compiled('{"minimum":1}')
  assert.equal(compiled('{"minimum":1}'), second)
  const long = (n: number) => JSON.stringify({ description: 'x'.repeat(300_000), minimum: n })
  for (let n = 0; n < 4; n++) compiled(long(n))
  assert.notEqual(compiled('{"minimum":0}'), first)
  assert.equal(compiled(long(3)), compiled(long(3)))
})
