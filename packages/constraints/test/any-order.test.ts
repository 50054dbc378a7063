import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gbnfOf } from '../../../test/support/gbnf.ts'
import { createGbnfMatcher } from '../../../test/support/gbnf-matcher.ts'
import { compile, SchemaError } from '../index.ts'

const schema = {
  type: 'object',
  properties: {
    a: { type: 'integer' },
    b: { type: 'string' },
    c: { type: 'object', properties: { x: { const: 1 }, y: { const: 2 } }, required: ['x', 'y'] },
    d: { type: 'null' },
  },
  required: ['a', 'c', 'd'],
}
const whole = { a: 1, b: '', c: { x: 1, y: 2 }, d: null }

function matcherOf(schema: object, anyOrder = true) {
  const options = { whitespace: 'bounded', anyOrder } as const
  return createGbnfMatcher(gbnfOf(compile({ kind: 'json', schema }, options).grammar))
}

function orders<T>(all: readonly T[]): T[][] {
  return all.length === 0
    ? [[]]
    : all.flatMap((head, i) => orders(all.toSpliced(i, 1)).map((rest) => [head, ...rest]))
}

const textOf = (entries: [string, unknown][]) =>
  `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join()}}`

test('on request, members may come in any order, each once and with all required ones', () => {
  const matcher = matcherOf(schema)
  const ordered = matcherOf(schema, false)
  for (const entries of orders(Object.entries(whole))) {
    const text = textOf(entries)
    assert.ok(matcher.accepts(text), text)
    assert.equal(ordered.accepts(text), text === JSON.stringify(whole), text)
    assert.ok(!matcher.accepts(textOf([...entries, ['a', 1]])))
    assert.ok(matcher.accepts(textOf(entries.filter(([name]) => name !== 'b'))))
    assert.ok(!matcher.accepts(textOf(entries.filter(([name]) => name !== 'c'))))
  }
  assert.ok(matcher.accepts('{"d":null,"c":{"y":2,"x":1},"a":1}'))
  assert.ok(!matcher.accepts('{"d":null,"c":{"y":2},"a":1}'))
})

test('member counts are enforced, and additional members follow the declared ones', () => {
  const counted = matcherOf({
    properties: { a: {}, b: {}, c: {} },
    type: 'object',
    minProperties: 1,
    maxProperties: 2,
  })
  for (const text of ['{"c":1}', '{"c":1,"a":1}']) assert.ok(counted.accepts(text), text)
  for (const text of ['{}', '{"c":1,"a":1,"b":1}']) assert.ok(!counted.accepts(text), text)
  const open = matcherOf({ ...schema, additionalProperties: { type: 'boolean' } })
  assert.ok(open.accepts('{"d":null,"a":1,"c":{"y":2,"x":1},"other":true}'))
  assert.ok(!open.accepts('{"d":null,"a":1,"c":{"y":2,"x":1},"other":1}'))
})

test('an object with too many members is refused with its path', () => {
  const properties = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`m${i}`, {}]))
  assert.throws(
    () => matcherOf({ type: 'object', properties: { inner: { type: 'object', properties } } }),
    (error) => error instanceof SchemaError && error.path === '#/properties/inner',
  )
  assert.ok(matcherOf({ type: 'object', properties: { inner: { type: 'object', properties } } }, false))
  const ten = Object.fromEntries(Object.entries(properties).slice(1))
  const matcher = matcherOf({ type: 'object', properties: ten, required: Object.keys(ten) })
  assert.ok(
    matcher.accepts(
      textOf(
        Object.keys(ten)
          .toReversed()
          .map((name) => [name, 1]),
      ),
    ),
  )
})
