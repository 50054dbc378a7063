import assert from 'node:assert/strict'
import { test } from 'node:test'
import { currentlySpent, startSpending, timeUntilBelow } from '../../src/domain/rates.ts'
import { durationOf } from '../../src/http/limits.ts'

test('spent requests and tokens are refilled evenly, up to the limit', () => {
  const spending = startSpending(0)
  assert.equal(currentlySpent(spending, 60, 0), 0)
  spending.amount += 30
  assert.equal(currentlySpent(spending, 60, 10_000), 20)
  assert.equal(currentlySpent(spending, 60, 10_000), 20)
  assert.equal(currentlySpent(spending, 60, 600_000), 0)
})

test('the time to retry after is long enough', () => {
  for (const perMinute of [1, 3, 7, 60, 999]) {
    const spending = startSpending(0)
    currentlySpent(spending, perMinute, 0)
    spending.amount = perMinute
    const wait = timeUntilBelow(spending.amount, perMinute - 1, perMinute)
    assert.ok(currentlySpent(spending, perMinute, wait) <= perMinute - 1, String(perMinute))
  }
})

test('spending under an old limit counts for at most a minute under a new one', () => {
  const spending = startSpending(0)
  currentlySpent(spending, 1_000_000, 0)
  spending.amount = 900_000
  assert.equal(currentlySpent(spending, 60, 0), 60)
  assert.equal(currentlySpent(spending, 60, 60_000), 0)
})

test('durations are written as in the OpenAI API', () => {
  for (const [ms, text] of [
    [0, '0ms'],
    [16.2, '17ms'],
    [999.5, '1s'],
    [1_000, '1s'],
    [8_640, '8.64s'],
    [59_999, '1m0s'],
    [60_000, '1m0s'],
    [360_000, '6m0s'],
    [361_500, '6m1s'],
  ] as const) {
    assert.equal(durationOf(ms), text)
  }
})
