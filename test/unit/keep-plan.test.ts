import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { jsonObject, jsonValue, withAliases } from '../../src/domain/fields.ts'
import { keepPlanOf } from '../../src/http/body-shapes.ts'

const fields = (plan: Record<string, unknown>) => ({ fields: new Map(Object.entries(plan)) })

for (const [name, schema, expected] of [
  ['nothing is kept', z.object({ a: z.string(), b: z.array(z.number()) }), {}],
  ['the whole body', jsonObject(), 'keep'],
  ['a field', z.object({ a: jsonObject(), b: z.string() }), fields({ a: 'keep' })],
  ['a field that may be absent or null', z.object({ a: jsonValue().nullish() }), fields({ a: 'keep' })],
  [
    'a field with a description',
    z.object({ a: jsonObject().nullish().meta({ description: 'x' }) }),
    fields({ a: 'keep' }),
  ],
  [
    'a field inside of a field',
    z.object({ a: z.object({ b: jsonValue() }) }),
    fields({ a: fields({ b: 'keep' }) }),
  ],
  ['items of a list', z.object({ a: z.array(jsonValue()) }), fields({ a: { items: 'keep' } })],
  [
    'a field of the items of a list',
    z.object({ a: z.array(z.object({ b: jsonObject() })).nullish() }),
    fields({ a: { items: fields({ b: 'keep' }) } }),
  ],
  [
    'behind a change of names',
    z.object({ a: withAliases({ c: 'b' }, z.object({ b: jsonObject() })) }),
    fields({ a: fields({ b: 'keep' }) }),
  ],
  [
    'in the alternatives of a union',
    z.discriminatedUnion('mode', [
      z.object({ mode: z.literal('a'), req: z.object({ x: jsonObject() }) }),
      z.object({ mode: z.literal('b'), req: z.object({ y: jsonObject() }), z: jsonValue() }),
      z.object({ mode: z.literal('c') }),
    ]),
    fields({ req: fields({ x: 'keep', y: 'keep' }), z: 'keep' }),
  ],
] as [string, z.ZodType, unknown][]) {
  test(`keepPlanOf: ${name}`, () => {
    assert.deepEqual(keepPlanOf(schema), expected)
    assert.equal(keepPlanOf(schema), keepPlanOf(schema))
  })
}

test('keepPlanOf: a union that keeps and reads the same place is a mistake in the contract', () => {
  const union = z.union([z.object({ a: jsonObject() }), z.object({ a: z.object({ b: jsonValue() }) })])
  assert.throws(() => keepPlanOf(union), /keeps a value as text in one alternative and reads it in another/)
})
