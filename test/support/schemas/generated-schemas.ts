// biome-ignore-all lint/suspicious/noThenProperty: the keyword of JSON Schema is called that.

import fc from 'fast-check'

type Schema = boolean | Record<string, unknown>

const names = ['a', 'b', 'c', 'x1', 'x2']
const patterns = ['^[ab]+$', 'b', '^x\\d', '^.{2}$', '\\d+']
const count = fc.integer({ min: 0, max: 3 })
const small = fc.integer({ min: -12, max: 12 })
const decimal = fc.constantFrom(-1.5, -0.25, 0, 0.1, 2.5, 10.75, 1000)
export const scalars: fc.Arbitrary<unknown> = fc.oneof(
  small,
  decimal,
  fc.constantFrom('', 'a', 'ab', 'b7', 'x1', 'x2', 'xyz', '"\\\n', 'é😀'),
  fc.boolean(),
  fc.constant(null),
)

const types = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object']

function some<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.option(arbitrary, { nil: undefined, freq: 2 })
}

/** Schemas made of the supported keywords, small enough that random values fit them. */
export const schemas: fc.Arbitrary<Schema> = fc.letrec<{ schema: Schema; object: Schema }>((tie) => {
  const inner = tie('schema')
  const listed = fc.array(inner, { minLength: 1, maxLength: 3 })
  const byName = (keys: string[]) =>
    fc
      .uniqueArray(fc.tuple(fc.constantFrom(...keys), inner), { maxLength: 3, selector: ([key]) => key })
      .map((pairs) => Object.fromEntries(pairs.sort(([a], [b]) => (a < b ? -1 : 1))))
  const filled = (shape: Record<string, fc.Arbitrary<unknown>>) =>
    fc
      .record(shape)
      .map((schema) => Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined)))
  const text = filled({
    type: fc.constant('string'),
    minLength: some(count),
    maxLength: some(fc.integer({ min: 1, max: 5 })),
    pattern: some(fc.constantFrom(...patterns)),
  })
  const number = filled({
    type: fc.constantFrom('integer', 'number'),
    minimum: some(fc.oneof(small, decimal)),
    maximum: some(fc.oneof(small, decimal)),
    exclusiveMinimum: some(small),
    exclusiveMaximum: some(fc.oneof(small, decimal)),
    multipleOf: some(fc.constantFrom(1, 2, 3, 10, 0.5, 0.25)),
  })
  const list = filled({
    type: fc.constant('array'),
    items: some(inner),
    prefixItems: some(listed),
    minItems: some(count),
    maxItems: some(count),
  })
  // Not combined with prefixItems, where ajv 8.20 accepts the empty array as one that contains.
  const containing = filled({
    type: fc.constant('array'),
    items: some(inner),
    minItems: some(count),
    maxItems: some(count),
    contains: inner,
    minContains: some(count),
    maxContains: some(count),
  })
  const object = filled({
    type: fc.constant('object'),
    properties: some(byName(names)),
    required: some(fc.uniqueArray(fc.constantFrom(...names), { maxLength: 2 })),
    additionalProperties: some(fc.oneof(fc.constant(false), inner)),
    patternProperties: some(byName(patterns.slice(0, 3))),
    propertyNames: some(
      fc.constantFrom<Schema>({ pattern: '^[a-c]' }, { maxLength: 1 }, { enum: ['a', 'x1'] }),
    ),
    minProperties: some(fc.integer({ min: 0, max: 1 })),
    maxProperties: some(count),
    dependentRequired: some(fc.constant({ a: ['b'] })),
  })
  return {
    object,
    schema: fc.oneof(
      { maxDepth: 3, depthIdentifier: 'schema' },
      text,
      number,
      fc.constantFrom<Schema>(true, {}, { type: 'null' }, { type: 'boolean' }),
      filled({ type: some(fc.uniqueArray(fc.constantFrom(...types), { minLength: 1, maxLength: 3 })) }),
      fc.uniqueArray(scalars, { minLength: 1, maxLength: 4 }).map((values) => ({ enum: values })),
      scalars.map((value) => ({ const: value })),
      list,
      containing,
      object,
      object,
      listed.map((parts) => ({ anyOf: parts })),
      listed.map((parts) => ({ allOf: parts })),
      listed.map((parts) => ({ oneOf: parts })),
      inner.map((part) => ({ not: part })),
      filled({ if: inner, then: some(inner), else: some(inner) }),
      fc.tuple(object, fc.array(object, { minLength: 1, maxLength: 2 })).map(([base, parts]) => ({
        ...(base as object),
        anyOf: parts,
      })),
    ),
  }
}).schema

/** Values of the kinds that such schemas mention. */
export const values: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2, depthIdentifier: 'value' },
    scalars,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names, 'bb', 'z'), tie('value'), { maxKeys: 3 }),
  ),
})).value
