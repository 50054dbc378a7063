import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isSampled } from '../../src/domain/sampling.ts'

const id = fc.uuid()
const rate = fc.double({ min: 0, max: 1, noNaN: true })

test('a higher rate includes the calls of a lower one; 0 samples none and 1 all', () => {
  fc.assert(
    fc.property(id, id, rate, rate, (monitor, call, one, other) => {
      const [low, high] = [Math.min(one, other), Math.max(one, other)]
      assert.ok(!isSampled(monitor, call, low) || isSampled(monitor, call, high))
      assert.ok(!isSampled(monitor, call, 0))
      assert.ok(isSampled(monitor, call, 1))
    }),
  )
})

test('the share of sampled calls is the rate, and two monitors sample different calls', () => {
  const calls = Array.from({ length: 10_000 }, (_, index) => `call ${index}`)
  const taken = (monitor: string) => calls.filter((call) => isSampled(monitor, call, 0.25))
  const [a, b] = [taken('a'), taken('b')]
  // The ids are fixed, so these counts are always the same.
  for (const { length } of [a, b]) assert.ok(length > 2_300 && length < 2_700, String(length))
  assert.notDeepEqual(a, b)
})
