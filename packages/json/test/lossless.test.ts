import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { JsonNumber, parseLossless, revivedNumbers } from '../lossless.ts'

test('numbers that a double preserves stay numbers', () => {
  for (const token of ['0', '1', '-5', '0.5', '123456789012345', '1e+21', '5e-324', '9007199254740991']) {
    assert.equal(parseLossless(token), JSON.parse(token), token)
  }
})

test('every other number keeps its digits, anywhere in a value', () => {
  for (const token of [
    '1.0',
    '-0',
    '1e3',
    '1E5',
    '9007199254740993',
    '1e400',
    '0.10',
    '-0.0',
    '12345678901234567890',
  ]) {
    for (const text of [token, `[${token}]`, `{"a":${token}}`, `[1,${token}]`, `{"a":{"b":[ ${token} ]}}`]) {
      assert.equal(JSON.stringify(parseLossless(text)), text.replaceAll(' ', ''))
    }
  }
  assert.deepEqual(parseLossless('{"a":1.0}'), { a: new JsonNumber('1.0') })
})

test('digits inside of strings and keys are text', () => {
  const text = '{"1.0":"1.0","a":"[-0, 9007199254740993]","b":1.0}'
  assert.equal(JSON.stringify(parseLossless(text)), text)
  assert.equal((parseLossless(text) as Record<string, unknown>).a, '[-0, 9007199254740993]')
})

test('__proto__ is a key like any other', () => {
  for (const text of ['{"__proto__":{"admin":true}}', '{"__proto__":{"admin":1.0}}']) {
    const value = parseLossless(text) as Record<string, unknown>
    assert.equal(Object.getPrototypeOf(value), Object.prototype)
    assert.ok(Object.hasOwn(value, '__proto__'))
    assert.equal(value.admin, undefined)
    assert.equal(JSON.stringify(value), text)
  }
})

test('invalid JSON is refused as by JSON.parse', () => {
  for (const text of ['', '{', '01', '1.', '.5', '+1', 'NaN', '[1.0,]', "{'a':1.0}"]) {
    assert.throws(() => parseLossless(text), SyntaxError, text)
  }
})

test('any JSON is written back unchanged', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), (text) => {
      assert.deepEqual(JSON.parse(JSON.stringify(parseLossless(text))), JSON.parse(text))
    }),
    { seed: 20260131, numRuns: 500 },
  )
  const token = fc
    .tuple(
      fc.constantFrom('', '-'),
      fc.bigInt({ min: 0n, max: 2n ** 70n }),
      fc.constantFrom('', '.0', '.50', 'e2', 'E-7', '.25e+10'),
    )
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(fc.array(token), (tokens) => {
      const text = `{"a":[${tokens.join(',')}]}`
      assert.equal(JSON.stringify(parseLossless(text)), text)
    }),
    { seed: 20260131, numRuns: 500 },
  )
})

test('numbers come back from a structured clone, and objects that look like them stay objects', () => {
  for (const text of [
    '1.0',
    '[1.0,{"a":9007199254740993}]',
    '{"token":"1.0","mark":0,"a":[[1e400]]}',
    '{"__proto__":1.0}',
    'null',
  ]) {
    const clone = revivedNumbers(structuredClone(parseLossless(text)))
    assert.equal(JSON.stringify(clone), text)
    assert.deepEqual(clone, parseLossless(text))
  }
})
