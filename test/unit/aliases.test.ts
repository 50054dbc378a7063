import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { withAliases } from '../../src/domain/fields.ts'

const schema = withAliases({ old: 'name' }, z.object({ name: z.string().nullish() }))

for (const [given, name] of [
  [{}, undefined],
  [{ name: 'a' }, 'a'],
  [{ old: 'b' }, 'b'],
  [{ old: 'b', name: null }, 'b'],
  [{ old: 'a', name: 'a' }, 'a'],
  [{ old: null, name: 'a' }, 'a'],
  [{ old: null }, undefined],
  [{ old: null, name: null }, null],
] as const) {
  test(`of ${JSON.stringify(given)} the name is ${name}`, () => {
    assert.equal(schema.parse({ ...given }).name, name)
  })
}

test('two values for one field are refused, by the name of the alias', () => {
  const { issues } = schema.safeParse({ old: 'b', name: 'a' }).error ?? {}
  assert.deepEqual(
    issues?.map(({ path, message }) => [path, message]),
    [[['old'], 'expected the same value as name, which is another name of this field, or none']],
  )
})
