import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseLossless } from '../../json/index.ts'
import { typesOf } from '../reading/value-types.ts'

test('a number that keeps its digits is a number in the types of a schema', () => {
  for (const [schema, types] of [
    ['{"const":1.0}', ['number']],
    ['{"enum":["auto",1.0,9007199254740993]}', ['string', 'number']],
    ['{"type":"number","enum":[1.0,-0]}', ['number']],
  ] as const) {
    assert.deepEqual([...typesOf(parseLossless(schema), {})].sort(), [...types].sort(), schema)
  }
})
