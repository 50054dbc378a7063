import assert from 'node:assert/strict'
import { test } from 'node:test'
import { monotonicNow } from '../../src/domain/time.ts'

test('successive times always increase, and a clock that is set far back is followed', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 5_000_000 })
  assert.equal(monotonicNow(), 5_000_000_000)
  assert.equal(monotonicNow(), 5_000_000_001)
  t.mock.timers.tick(1)
  assert.equal(monotonicNow(), 5_000_001_000)
  t.mock.timers.setTime(4_999_999)
  assert.equal(monotonicNow(), 5_000_001_001)
  t.mock.timers.setTime(4_000_000)
  assert.equal(monotonicNow(), 4_000_000_000)
})
