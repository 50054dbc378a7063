import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clockNow, compareClocks } from '../../src/domain/clock.ts'

const hour = 3_600_000

/** Both clocks stand still but for what the test says. */
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
    /** An answer that took so long, half of it on either way. */
    hear(at: number, tookMs = 0) {
      compareClocks(at, steady - tookMs, steady)
    },
  }
}

test('a server goes by the clock of its record', (t) => {
  const clock = stopped(t)
  assert.equal(clockNow(), 50 * hour, 'before it has looked, by its own')
  clock.hear(50 * hour + 80)
  assert.equal(clockNow(), 50 * hour, 'ours is as good')
  clock.hear(26 * hour)
  assert.equal(clockNow(), 26 * hour)
  clock.pass(400)
  assert.equal(clockNow(), 26 * hour + 400)

  // What a slow answer leaves open changes nothing, and a quick one says more.
  clock.hear(26 * hour - 600, 4_000)
  assert.equal(clockNow(), 26 * hour + 400)
  clock.hear(26 * hour + 900)
  assert.equal(clockNow(), 26 * hour + 900)
  clock.hear(50 * hour + 400, 4_000)
  assert.equal(clockNow(), 50 * hour + 400, 'ours may be right again')
})

test('a clock that is set between two looks moves nothing', (t) => {
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
