import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { createRandom, randomOf } from '../sampling/random.ts'

function take(count: number, random: () => number): number[] {
  return Array.from({ length: count }, random)
}

/** Computed by another implementation of the two generators, so that a seed means the same in every version. */
for (const [seed, numbers] of [
  [0n, [0.870254774404272, 0.6697971505310978, 0.3616586206733957]],
  [42n, [0.4137016681565887, 0.003983993377814743, 0.6500837027638867]],
  [2n ** 63n - 1n, [0.1266629790925342, 0.6688966289757386, 0.6056661951040103]],
  [-5n, [0.626561908310481, 0.580115150770993, 0.3930119704362832]],
] as const) {
  test(`seed ${seed} gives the expected numbers`, () => {
    assert.deepEqual(take(3, createRandom(seed)), numbers)
  })
}

test('choice i draws with seed + i', () => {
  assert.deepEqual(take(5, randomOf(10n, 3)), take(5, randomOf(13n, 0)))
  assert.notDeepEqual(take(5, randomOf(10n, 0)), take(5, randomOf(10n, 1)))
})

test('seeds wrap around after the last one', () => {
  assert.deepEqual(take(5, randomOf(2n ** 64n - 1n, 2)), take(5, randomOf(1n, 0)))
  assert.deepEqual(take(5, createRandom(-1n)), take(5, createRandom(2n ** 64n - 1n)))
})

test('a seed gives the same numbers whatever else is drawn meanwhile', () => {
  const alone = take(6, createRandom(7n))
  const [one, other] = [createRandom(7n), createRandom(8n)]
  const mixed = Array.from({ length: 6 }, () => {
    other()
    return one()
  })
  assert.deepEqual(mixed, alone)
})

test('without a seed, two choices draw different numbers', () => {
  assert.notDeepEqual(take(4, randomOf(undefined, 0)), take(4, randomOf(undefined, 0)))
})

test('numbers are at least 0, below 1 and evenly distributed', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }), (seed) => {
      const numbers = take(4000, createRandom(seed))
      assert.ok(numbers.every((number) => number >= 0 && number < 1))
      const tenths = Array.from(
        { length: 10 },
        (_, i) => numbers.filter((n) => Math.floor(10 * n) === i).length,
      )
      // Chi-square with 9 degrees of freedom exceeds 60 once in 10^9 times.
      const chiSquare = tenths.reduce((sum, count) => sum + (count - 400) ** 2 / 400, 0)
      assert.ok(chiSquare < 60, `${chiSquare}`)
    }),
    { numRuns: 50 },
  )
})
