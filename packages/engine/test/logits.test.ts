import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { best, likeliest, logitsOf, onlyAllowed } from '../sampling/logits.ts'

const logit = fc.oneof(
  fc.float({ min: -50, max: 50, noNaN: true }),
  fc.constantFrom(0, 1, -1, -Infinity, 3.4e38, -3.4e38),
)
const rows = fc.array(logit, { minLength: 1, maxLength: 400 })

/** The largest first; of equal ones the lower token. */
function sorted(logits: Float32Array): number[] {
  const at = (token: number) => logits[token] as number
  return Array.from(logits.keys()).sort((a, b) => (at(a) === at(b) ? a - b : at(b) - at(a)))
}

test('the likeliest tokens are those of the sorted vocabulary, the lower one first among equals', () => {
  fc.assert(
    fc.property(rows, fc.integer({ min: 1, max: 450 }), (row, count) => {
      const logits = Float32Array.from(row, (value) => value + 0)
      const expected = sorted(logits).slice(0, count)
      const top = likeliest(logits, count)
      assert.deepEqual([...top.tokens], expected)
      assert.deepEqual(
        [...top.logits],
        expected.map((token) => logits[token]),
      )
      assert.equal(best(logits), logits.every((value) => value === -Infinity) ? undefined : expected[0])
    }),
  )
})

test('logits can be read of some tokens, and the others made impossible', () => {
  const logits = Float32Array.of(5, 6, 7, 8)
  const some = Uint32Array.of(1, 3)
  assert.deepEqual([...logitsOf(some, logits)], [6, 8])
  assert.deepEqual([...onlyAllowed(logits, some)], [-Infinity, 6, -Infinity, 8])
})
