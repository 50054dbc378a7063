import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { differencesOf, meansOf } from '../../src/domain/evaluations/columns/means.ts'
import { openTexts, packTexts } from '../../src/domain/evaluations/columns/packing.ts'
import { type SortKey, sortRows } from '../../src/domain/evaluations/columns/sorting.ts'

const atOnce = () => undefined
const rowCount = 60

/** Few values, so that many are equal; a number may be written in several ways. */
const value = fc.constantFrom(
  { number: 1, text: '1' },
  { number: 1, text: '1.0' },
  { number: -2.5, text: '-2.5' },
  { number: 0, text: '0' },
  { number: Number.NaN, text: 'so' },
  { number: Number.NaN, text: 'Äh' },
  { number: Number.NaN, text: '' },
)
const key = fc
  .tuple(
    fc.array(value, { minLength: rowCount, maxLength: rowCount }),
    fc.boolean(),
    fc.constantFrom('asc' as const, 'desc' as const),
  )
  .map(
    ([values, withTexts, direction]): SortKey => ({
      numbers: Float64Array.from(values, ({ number }) => number),
      ...(withTexts && { texts: values.map(({ text }) => text) }),
      direction,
    }),
  )

/** The order, defined as simply as possible. */
function inOrder(rows: readonly number[], keys: readonly SortKey[]): number[] {
  const rank = ({ numbers, texts }: SortKey, row: number) =>
    !Number.isNaN(numbers[row]) ? 0 : texts !== undefined && texts[row] !== '' ? 1 : 2
  return rows.toSorted((a, b) => {
    for (const key of keys) {
      if (rank(key, a) !== rank(key, b)) return rank(key, a) - rank(key, b)
      const [one, other] = [a, b].map((row) =>
        rank(key, row) === 0 ? Number(key.numbers[row]) : (key.texts?.[row] ?? ''),
      ) as [number | string, number | string]
      if (one === other || rank(key, a) === 2) continue
      return one < other === (key.direction === 'asc') ? -1 : 1
    }
    return 0
  })
}

test('the first rows are the same as when all rows are sorted, however many are needed', async () => {
  const chosen = fc.subarray(Array.from({ length: rowCount }, (_, row) => row))
  await fc.assert(
    fc.asyncProperty(
      chosen,
      fc.array(key, { minLength: 1, maxLength: 3 }),
      fc.nat({ max: rowCount }),
      async (rows, keys, needed) => {
        const expected = inOrder(rows, keys)
        const given = Int32Array.from(rows)
        assert.deepEqual([...(await sortRows(given, keys, atOnce))], expected)
        // Few rows are selected while sorting; many are cut off afterwards.
        for (const count of [0, 1, 3, needed]) {
          assert.deepEqual([...(await sortRows(given, keys, atOnce, count))], expected.slice(0, count))
        }
      },
    ),
  )
})

test('the first few of many rows are in order', async () => {
  const numbers = Float64Array.from({ length: 40_000 }, (_, row) => (row * 7919) % 1009)
  const rows = Int32Array.from(numbers.keys())
  const all = await sortRows(rows, [{ numbers, direction: 'desc' }], atOnce)
  for (const needed of [1, 50, 2500]) {
    const first = await sortRows(rows, [{ numbers, direction: 'desc' }], atOnce, needed)
    assert.deepEqual(first, all.slice(0, needed))
  }
})

test('packed texts are read back, of one width or of several', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'é'), maxLength: 4 })
  const ofOneWidth = fc.array(fc.constantFrom('aa', 'bb', 'ab'), { minLength: 1 })
  fc.assert(
    fc.property(fc.oneof(ofOneWidth, fc.array(text, { minLength: 1 })), (texts) => {
      const opened = openTexts(packTexts(texts), texts.length)
      assert.deepEqual(
        Array.from({ length: opened.length }, (_, index) => opened.at(index)),
        texts,
      )
    }),
  )
})

test('means and differences are computed from all trials of a row', () => {
  const trials = fc.array(
    fc.record({ row: fc.nat({ max: 5 }), number: fc.constantFrom(0, 1, 2, 4, -8, Number.NaN) }),
    { maxLength: 12 },
  )
  const evaluation = trials.map((list) => list.toSorted((a, b) => a.row - b.row))
  const mean = (numbers: readonly number[]) =>
    numbers.length === 0 ? Number.NaN : numbers.reduce((sum, one) => sum + one, 0) / numbers.length
  fc.assert(
    fc.property(fc.array(evaluation, { minLength: 1, maxLength: 3 }), (given) => {
      const of = given.map((list) => ({
        numbers: Float64Array.from(list, ({ number }) => number),
        rows: Int32Array.from(list, ({ row }) => row),
      }))
      const known = (list: readonly { row: number; number: number }[], at: number) =>
        list.filter(({ row, number }) => row === at && !Number.isNaN(number)).map(({ number }) => number)
      const rows = [0, 1, 2, 3, 4, 5]
      assert.deepEqual(
        [...meansOf(6, of)],
        rows.map((at) => mean(known(given.flat(), at))),
      )
      assert.deepEqual(
        [...differencesOf(6, of)],
        rows.map((at) => {
          const means = given.map((list) => mean(known(list, at)))
          return Math.max(...means) - Math.min(...means)
        }),
      )
    }),
  )
})
