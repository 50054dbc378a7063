import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { z as z3 } from 'zod/v3'
import { zodToJsonSchema } from 'zod-to-json-schema'
import { checkSchema, textsOf } from './compiled.ts'
import { typesOf3 } from './zod-3.ts'
import { typesOf4, type Z4 } from './zod-4.ts'

/** Each version of zod writes its schemas differently, and must accept what is generated for them. */

const versions: Record<string, Z4> = { '4.6': z }
for (const minor of [0, 1, 2, 3, 4, 5]) {
  const { z: older } = (await import(`zod-4-${minor}`)) as { z: Z4 }
  versions[`4.${minor}`] = older
}

/** Types that zod checks more strictly than its schemas say, or counts differently. */
const saysLess = new Set([
  // Lengths are in UTF-16 units.
  ...['min and max', 'length', 'pipe'],
  ...['trim and min', 'stringbool', 'transform piped', 'preprocess', 'promise', 'file', 'emoji'],
  ...['url of a host', 'url of a protocol', 'httpUrl', 'jwt of an algorithm'],
  // Schemas of versions before 4.5 allow fewer items.
  ...['tuple', 'tuple rest', 'tuple optional', 'record of enum', 'record of literals'],
])

for (const [version, one] of Object.entries(versions)) {
  test(`zod ${version}`, () => {
    let compiled = 0
    const wrong: string[] = []
    for (const [name, value] of Object.entries(typesOf4(one))) {
      const object = one.object({ value })
      for (const target of version === '4.6' ? (['draft-4', 'draft-2020-12', 'openapi-3.0'] as const) : []) {
        for (const io of ['input', 'output'] as const) {
          const schema = written(() => one.toJSONSchema(object, { target, io }))
          if (schema !== undefined) checkSchema(name, schema, ['never', 'intersection'])
        }
      }
      const schema = written(() => one.toJSONSchema(object, { target: 'draft-7', io: 'input' }))
      if (schema === undefined) continue
      if (checkSchema(name, schema, ['never']) === 'compiled') compiled++
      if (saysLess.has(name)) continue
      for (const text of textsOf(schema, 8, 20_261_122)) {
        const { success, error } = object.safeParse(JSON.parse(text))
        if (!success) wrong.push(`${name}: ${text} ${error?.issues[0]?.message} ${JSON.stringify(schema)}`)
      }
    }
    assert.deepEqual(wrong, [])
    assert.ok(compiled > 140, `${compiled} compiled`)
  })
}

test('zod-to-json-schema, with each of its targets', (t) => {
  t.mock.method(console, 'warn', () => {})
  let compiled = 0
  for (const target of ['jsonSchema7', 'jsonSchema2019-09', 'openApi3', 'openAi'] as const) {
    for (const [name, value] of Object.entries(typesOf3(z3))) {
      // Bounds of a bigint are written as bigints, which JSON does not have.
      const schema = written(() =>
        JSON.parse(JSON.stringify(zodToJsonSchema(z3.object({ value }), { target }))),
      )
      if (schema === undefined) continue
      if (checkSchema(name, schema, ['never', 'nan', 'cidr']) === 'compiled') compiled++
    }
  }
  assert.ok(compiled > 400, `${compiled} compiled`)
})

/** Returns undefined if zod has no schema for the type. */
function written(write: () => object): object | undefined {
  try {
    return write()
  } catch {
    return undefined
  }
}
