import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { createRepetition, type RepetitionRule } from '../answer/ending.ts'

/** After how many tokens the repetition is found; undefined if never. */
function foundAfter(rule: RepetitionRule, tokens: number[]): number | undefined {
  const repeats = createRepetition(rule, tokens.length)
  const place = tokens.findIndex((_, i) => repeats(tokens.slice(0, i + 1)))
  return place === -1 ? undefined : place + 1
}

const cycle = [5, 8, 2, 8, 2, 8, 2]
for (const { minPattern, maxPattern, count, tokens, found } of [
  { minPattern: 1, maxPattern: 3, count: 3, tokens: cycle, found: 7 },
  { minPattern: 0, maxPattern: 3, count: 3, tokens: cycle, found: 7 },
  { minPattern: 2, maxPattern: 2, count: 3, tokens: cycle, found: 7 },
  // A cycle of two is found with patterns of two, four or six tokens, not of three.
  { minPattern: 3, maxPattern: 3, count: 2, tokens: [...cycle, 8, 2, 8, 2], found: undefined },
  { minPattern: 4, maxPattern: 4, count: 2, tokens: [...cycle, 8, 2, 8, 2], found: 9 },
  { minPattern: 1, maxPattern: 1, count: 3, tokens: cycle, found: undefined },
  { minPattern: 1, maxPattern: 3, count: 4, tokens: cycle, found: undefined },
  { minPattern: 1, maxPattern: 1, count: 2, tokens: [1, 2, 2], found: 3 },
  { minPattern: 1, maxPattern: 1, count: 5, tokens: [7, 7, 7, 7, 7], found: 5 },
  { minPattern: 1, maxPattern: 0, count: 0, tokens: [7, 7, 7, 7, 7], found: undefined },
  { minPattern: 0, maxPattern: 0, count: 2, tokens: [7, 7, 7, 7, 7], found: undefined },
  { minPattern: 1, maxPattern: 1e9, count: 2, tokens: [1, 2, 3, 1, 2, 3], found: 6 },
]) {
  const rule = { minPattern, maxPattern, count }
  test(`${JSON.stringify(rule)} in ${tokens.join(' ')}: ${found ?? 'never'}`, () => {
    assert.equal(foundAfter(rule, tokens), found)
  })
}

/** By the definition: the last tokens are `count` times the same block. */
function naive({ minPattern, maxPattern, count }: RepetitionRule, tokens: number[]): boolean {
  for (let length = Math.max(1, minPattern); length <= maxPattern; length++) {
    if (length * count > tokens.length) return false
    const end = tokens.slice(-length * count)
    if (end.every((token, i) => token === end[i % length])) return true
  }
  return false
}

test('a repetition is found after the same token as by the definition', () => {
  fc.assert(
    fc.property(
      fc.record({
        minPattern: fc.nat({ max: 4 }),
        maxPattern: fc.nat({ max: 8 }),
        count: fc.integer({ min: 2, max: 4 }),
      }),
      fc.array(fc.nat({ max: 2 }), { maxLength: 40 }),
      (rule, tokens) => {
        const place = tokens.findIndex((_, i) => naive(rule, tokens.slice(0, i + 1)))
        assert.equal(foundAfter(rule, tokens), place === -1 ? undefined : place + 1)
      },
    ),
    { numRuns: 2000 },
  )
})
