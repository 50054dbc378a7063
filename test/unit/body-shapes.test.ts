import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { z } from 'zod'
import {
  jsonObject,
  jsonValue,
  longList,
  shortList,
  shortRecord,
  withAliases,
} from '../../src/domain/fields.ts'
import { anyShape, readJson, type Shape } from '../../src/domain/json/read.ts'
import { shapeOf } from '../../src/http/body-shapes.ts'

const kept = { verbatim: true }
const fields = (members: Record<string, unknown>) => ({ fields: new Map(Object.entries(members)) })

for (const [name, schema, expected] of [
  [
    'nothing is kept',
    z.object({ a: z.string(), b: z.array(z.number()) }),
    fields({ a: {}, b: { items: {} } }),
  ],
  ['the whole body', jsonObject(), kept],
  ['a field', z.object({ a: jsonObject(), b: z.string() }), fields({ a: kept, b: {} })],
  ['a field that may be absent or null', z.object({ a: jsonValue().nullish() }), fields({ a: kept })],
  [
    'a field that is changed once it is read',
    z.object({ a: jsonValue().transform(String) }),
    fields({ a: kept }),
  ],
  [
    'a field with a description',
    z.object({ a: jsonObject().nullish().meta({ description: 'x' }) }),
    fields({ a: kept }),
  ],
  ['items of a list', z.object({ a: z.array(jsonValue()).max(3) }), fields({ a: { items: kept, most: 3 } })],
  [
    'members that the client names',
    z.record(z.string(), z.object({ a: z.string() })),
    { others: fields({ a: {} }), most: 10_000 },
  ],
  [
    'in the alternatives of a union',
    z.discriminatedUnion('mode', [
      z.object({ mode: z.literal('a'), req: z.object({ x: jsonObject() }) }),
      z.object({ mode: z.literal('b'), req: z.object({ y: jsonObject() }), z: jsonValue() }),
    ]),
    fields({ mode: {}, req: fields({ x: kept, y: kept }), z: kept }),
  ],
] as [string, z.ZodType, unknown][]) {
  test(`the shape of a contract: ${name}`, () => {
    assert.deepEqual(shapeOf(schema), expected)
    assert.equal(shapeOf(schema), shapeOf(schema))
  })
}

test('a union that keeps a value as text in one alternative and reads it in another is refused', () => {
  const union = z.union([z.object({ a: jsonObject() }), z.object({ a: z.object({ b: jsonValue() }) })])
  assert.throws(() => shapeOf(union), /keeps a value as text in one alternative and reads it in another/)
})

const call = withAliases(
  { old_name: 'name' },
  z.object({ name: z.string().nullish(), inputs: jsonObject(), tags: shortList(z.string(), 2).nullish() }),
)
const contract = z.object({
  project: z.string().transform((text) => text.length),
  call: call.nullish(),
  batch: longList(
    z.discriminatedUnion('mode', [
      z.object({ mode: z.literal('a'), call }),
      z.object({ mode: z.literal('b'), n: z.int() }),
    ]),
  ).nullish(),
  prices: shortRecord(z.string(), z.object({ cost: z.number() }), {
    most: 3,
    things: 'prices',
    name: 'name',
  }).nullish(),
  either: z.union([z.string(), z.array(z.int()).max(3), z.record(z.string(), z.unknown())]).nullish(),
})

const names = [...Object.keys(contract.shape), 'old_name', 'name', 'inputs', 'tags', 'mode', 'n', 'cost', 'a']
const name = fc.constantFrom(...names, '__proto__', 'unknown')
const { body } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.constantFrom('1', '1.0', 'null', '"a"', '"b"', 'true', '[]', '{}'),
    fc.array(tie('value'), { maxLength: 6 }).map((items) => `[${items.join()}]`),
    tie('body'),
  ),
  body: fc
    .array(fc.tuple(name, tie('value')), { maxLength: 8 })
    .map((members) => `{${members.map(([key, value]) => `${JSON.stringify(key)}: ${value}`).join()}}`),
})) as { body: fc.Arbitrary<string> }

/** Bodies that fit the contract; chance alone would produce few. */
const fitting = fc.tuple(body, body).map(([inputs, unknown]) =>
  JSON.stringify({
    unknown: '@2',
    project: 'x',
    call: { inputs: '@1', tags: ['x'], unknown: '@2', old_name: 'y' },
    batch: [
      { mode: 'a', call: { name: 'z', inputs: '@1' }, unknown: '@2' },
      { mode: 'b', n: 1 },
    ],
    prices: { m: { cost: 1.5, unknown: '@2' } },
    either: { a: '@1' },
  })
    .replaceAll('"@1"', inputs)
    .replaceAll('"@2"', unknown),
)

/** The same shape without bounds, and with all unknown members included. */
function unbounded(shape: Shape, seen = new Map<Shape, Shape>()): Shape {
  if (shape.verbatim) return shape
  const known = seen.get(shape)
  if (known !== undefined) return known
  const whole: Shape = {}
  seen.set(shape, whole)
  const inner = [...(shape.fields ?? [])].map(([key, one]) => [key, unbounded(one, seen)] as const)
  return Object.assign(whole, {
    fields: new Map(inner),
    others: shape.others ? unbounded(shape.others, seen) : anyShape,
    items: shape.items ? unbounded(shape.items, seen) : anyShape,
  })
}

test('reading only what a contract knows gives the same result as reading the whole body', () => {
  const whole = unbounded(shapeOf(contract))
  fc.assert(
    fc.property(fc.oneof(body, fitting), (text) => {
      const some = contract.safeParse(readJson(text, shapeOf(contract), 50))
      const all = contract.safeParse(readJson(text, whole, 50))
      assert.deepEqual(some.data, all.data)
      assert.deepEqual(some.error?.issues, all.error?.issues)
    }),
    {
      numRuns: 2000,
      // Both names of a field have a value of the wrong type.
      examples: [
        ['{"call": {"old_name": {}, "name": {"project": 1}}}'],
        ['{"call": {"old_name": [], "name": [1]}}'],
      ],
    },
  )
})
