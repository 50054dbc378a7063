import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clockNow, compareClocks } from '../../src/domain/clock.ts'

const hour = 3_600_000

/** Both clocks stand still unless the test moves them. */
function stopped(t: { mock: import('node:test').MockTracker }) {
  let steady = 1_000
  t.mock.timers.enable({ apis: ['Date'], now: 50 * hour })
  t.mock.method(performance, 'now', () => steady)
  return {
    pass(ms: number) {
      steady += ms
      t.mock.timers.tick(ms)
    },
    set: (time: number) => t.mock.timers.setTime(time),
    /** An answer of the database that took `tookMs`, half of it each way. */
    hear(at: number, tookMs = 0) {
      compareClocks(at, steady - tookMs, steady)
    },
  }
}

test('a server uses the clock of its database', (t) => {
  const clock = stopped(t)
  assert.equal(clockNow(), 50 * hour, 'its own clock before the first comparison')
  clock.hear(50 * hour + 80)
  assert.equal(clockNow(), 50 * hour, 'ours is as good')
  clock.hear(26 * hour)
  assert.equal(clockNow(), 26 * hour)
  clock.pass(400)
  assert.equal(clockNow(), 26 * hour + 400)

  // A slow answer changes nothing where it leaves the time open; a quick one is more exact.
  clock.hear(26 * hour - 600, 4_000)
  assert.equal(clockNow(), 26 * hour + 400)
  clock.hear(26 * hour + 900)
  assert.equal(clockNow(), 26 * hour + 900)
  clock.hear(50 * hour + 400, 4_000)
  assert.equal(clockNow(), 50 * hour + 400, 'its own clock may be right again')
})

test('setting the system clock between two comparisons does not move the time', (t) => {
  const clock = stopped(t)
  clock.hear(50 * hour + 7_000)
  clock.pass(2_000)
  clock.set(74 * hour)
  assert.equal(clockNow(), 50 * hour + 9_000)
  clock.set(40 * hour)
  assert.equal(clockNow(), 50 * hour + 9_000)
  clock.hear(50 * hour + 9_000)
  clock.pass(1_000)
  assert.equal(clockNow(), 50 * hour + 10_000)
})
