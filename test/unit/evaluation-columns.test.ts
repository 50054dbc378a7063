import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { columnNames, createGathering } from '../../src/domain/evaluations/columns/gathering.ts'
import {
  packNumbers,
  packWhole,
  sumAt,
  unpackNumbers,
  unpackWhole,
} from '../../src/domain/evaluations/columns/packing.ts'
import { briefOf } from '../../src/domain/evaluations/example.ts'
import { shapeOf, slotCount } from '../../src/domain/evaluations/shape.ts'
import { valueAt } from '../../src/domain/expressions/json-value.ts'

test('the scalars of scores become columns in order, each with its kind and its keys', () => {
  const scores =
    '{"exact":true,"judge":{"score":0.25,"why":"so","deep":{"n":-3}},"none":null,"list":[1],"empty":{}}'
  assert.deepEqual(shapeOf(scores), {
    leaves: '[[0,"exact"],[1,"judge","score"],[2,"judge","why"],[1,"judge","deep","n"]]',
    numbers: [1, 0.25, null, -3],
  })
  assert.deepEqual(shapeOf('{}'), { leaves: '[]', numbers: [] })
})

for (const [scores, number] of [
  ['{"x":1.0}', 1],
  ['{"x":0}', 0],
  ['{"x":"0.5"}', 0.5],
  ['{"x":"1"}', 1],
  ['{"x":1e-05}', 0.00001],
  ['{"x":0.8444218515250481}', 0.8444218515250481],
  ['{"x":9007199254740991}', 9007199254740991],
  ['{"x":"said \\"yes\\""}', null],
] as const) {
  test(`a column preserves ${scores}`, () => {
    assert.deepEqual(shapeOf(scores)?.numbers, [number])
  })
}

for (const scores of [
  '{"x":9007199254740993}',
  '{"x":-0}',
  '{"x":1e0}',
  '{"x":1e400}',
  '{"x":1e-20}',
  '{"x":1e22}',
  '{"x":"1.0"}',
  '{"x":"true"}',
  '{"a\\u0000b":1}',
  '{"a\\"b":1}',
  JSON.stringify({ ['x'.repeat(1000)]: 1 }),
  JSON.stringify(Object.fromEntries(Array.from({ length: slotCount + 1 }, (_, n) => [`n${n}`, n]))),
]) {
  test(`a column cannot preserve ${scores.slice(0, 60)}`, () => {
    assert.equal(shapeOf(scores), undefined)
  })
}

test('a brief has a short row whole, and the short members of a long row', () => {
  assert.equal(briefOf('{"n":1.50,"q":"é"}'), '1{"n":1.50,"q":"é"}')
  assert.equal(briefOf('[1]'), '1[1]')
  const long = JSON.stringify('x'.repeat(500))
  assert.equal(
    briefOf(`{"n":1.50,"long":${long},"part":{"a":[1,{}]},"q":"\\"}"}`),
    '0{"n":1.50,"part":{"a":[1,{}]},"q":"\\"}"}',
  )
  assert.equal(briefOf(`[${long}]`), '0{}')
  const many = `{${Array.from({ length: 100 }, (_, n) => `"key${n}":${n}`).join(',')}}`
  const brief = briefOf(many)
  assert.ok(brief.startsWith('0{"key0":0,') && brief.length <= 203, brief)
  assert.doesNotThrow(() => JSON.parse(brief.slice(1)))
})

test('a value is found after strings with quotes and backslashes', () => {
  const json = String.raw`{"a\\":"\\\"","b\"":"\\\\","c":{"d":"}\"]"},"e":[1,"\\"],"\u0066":2}`
  assert.equal(valueAt(json, ['a\\']), String.raw`"\\\""`)
  assert.equal(valueAt(json, ['b"']), String.raw`"\\\\"`)
  assert.equal(valueAt(json, ['c', 'd']), String.raw`"}\"]"`)
  assert.equal(valueAt(json, ['e', '1']), String.raw`"\\"`)
  assert.equal(valueAt(json, ['f']), '2')
})

test('each number stays with its trial, whatever slots the trials before it used', async () => {
  const slot = fc.option(fc.integer({ min: -9, max: 9 }), { freq: 2 })
  const trials = fc.array(fc.array(slot, { maxLength: 5 }), { minLength: 1, maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(trials, async (given) => {
      const gathering = createGathering()
      for (const [index, numbers] of given.entries()) {
        const row_digest = String(index).padStart(4, '0')
        gathering.add({ row_digest, row_kind: 0, brief: null, failed: 0, shape: 1, numbers })
      }
      const { header, columns } = await gathering.finish(() => undefined)
      for (let at = 0; at < header.slots; at++) {
        const kept = Array.from(unpackNumbers(columns.get(columnNames.slot(at)) as Uint8Array))
        assert.deepEqual(
          kept,
          given.map((numbers) => numbers[at] ?? Number.NaN),
        )
      }
      const most = Math.max(0, ...given.map((numbers) => numbers.findLastIndex((one) => one !== null) + 1))
      assert.equal(header.slots, most)
    }),
  )
})

const numbers = fc.oneof(
  fc.array(fc.constantFrom(0, 1, Number.NaN), { maxLength: 40 }),
  fc.array(fc.constantFrom(0.25, -3, 1e14, 1, Number.NaN), { maxLength: 40 }),
)
const inPiece = (bytes: Uint8Array, from: number) => {
  const all = new Uint8Array(from + bytes.length)
  all.set(bytes, from)
  return all.subarray(from)
}

test('columns are read at any byte offset, and summed', () => {
  fc.assert(
    fc.property(numbers, fc.nat({ max: 9 }), fc.array(fc.boolean()), (given, from, chosen) => {
      const packed = inPiece(packNumbers(given), from)
      assert.deepEqual([...unpackNumbers(packed)], given)
      const places = Int32Array.from(given.keys()).filter((place) => chosen[place] !== false)
      assert.deepEqual([...unpackWhole(inPiece(packWhole([...places]), from))], [...places])
      // These numbers add up exactly, in any order.
      const known = [...places].map((place) => given[place] as number).filter((one) => !Number.isNaN(one))
      assert.equal(
        sumAt(packed, places),
        known.reduce((sum, one) => sum + one, 0),
      )
    }),
  )
  const large = [1e15, 0.25, -1e15, 0.5]
  assert.equal(sumAt(packNumbers([...large, Number.NaN]), Int32Array.of(0, 1, 2, 3, 4)), 0.75)
})
