import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { JsonNumber } from '../../packages/json/index.ts'
import { evaluate } from '../../src/domain/expressions/evaluate.ts'
import { jsonField } from '../../src/domain/expressions/json-field.ts'
import { parseExpression } from '../../src/domain/expressions/parse.ts'
import { partialKey, valueKey, valueKeysIn } from '../../src/domain/search/values.ts'
import { endless, tokens, words, written } from '../support/expression-samples.ts'

const project = 'acme/qa'

test('whatever compares as equal has the same key', () => {
  const stored = [
    ...words.flatMap((word) => [written(word, false), written(word, true)]),
    ...tokens,
    ...endless,
    'true',
    'false',
  ]
  const sought = [...words, ...endless, ...tokens.map((token) => new JsonNumber(token))]
  let equal = 0
  for (const value of stored) {
    const keys = valueKeysIn(project, 'inputs', `{"x":[1],"a":{"b":${value}}}`)
    const field = jsonField(value, [])
    for (const literal of sought) {
      let condition: ReturnType<typeof parseExpression>
      try {
        condition = parseExpression({ $expr: { $eq: [{ $getField: 'a' }, { $literal: literal }] } })
      } catch {
        continue
      }
      if (condition.op !== 'compare' || condition.right.op !== 'literal') assert.fail()
      if (evaluate(condition, () => field) !== true) continue
      const key = valueKey(project, 'inputs', ['a', 'b'], condition.right.literal.text)
      if (key === undefined) continue
      equal++
      assert.ok(keys.includes(key), `${value} is ${String(literal)}`)
    }
  }
  assert.ok(equal > stored.length, `${equal}`)
})

test('a key belongs to a project, a document, a path and a value', () => {
  const key = valueKey(project, 'inputs', ['a'], '5')
  assert.equal(valueKey(project, 'inputs', ['a'], '5.0'), key)
  const others = [
    valueKey('acme/prod', 'inputs', ['a'], '5'),
    valueKey(project, 'output', ['a'], '5'),
    valueKey(project, 'inputs', ['b'], '5'),
    valueKey(project, 'inputs', ['a', '5'], '5'),
    valueKey(project, 'inputs', ['a'], '6'),
    partialKey(project, 'inputs'),
  ]
  assert.equal(new Set([key, ...others]).size, 7)
})

test('a document that is too long, has too many values or is damaged has one key, which says so', () => {
  const partial = [partialKey(project, 'output')]
  const object = (count: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n])))
  assert.equal(valueKeysIn(project, 'output', object(64)).length, 64)
  for (const json of [object(65), `{"a":"${'x'.repeat(1 << 17)}"}`, '{"a":1', '{"a":"x']) {
    assert.deepEqual(valueKeysIn(project, 'output', json), partial)
  }
  const without = `{"a":null,"b":"","c":[1,{"d":2}],"e":"${'x'.repeat(129)}","f":{}}`
  assert.deepEqual(valueKeysIn(project, 'output', without), [])
  assert.deepEqual(valueKeysIn(project, 'output', ''), [])
  assert.equal(valueKey(project, 'output', ['e'], 'x'.repeat(129)), undefined)
})

test('any document has at most so many keys, however deep it is', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }), (json) => {
      assert.ok(valueKeysIn(project, 'attributes', json).length <= 64)
    }),
  )
  const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`
  assert.deepEqual(valueKeysIn(project, 'attributes', deep), [])
})
