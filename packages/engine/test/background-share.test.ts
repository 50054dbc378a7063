import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBackgroundShare } from '../loop/turns/background-share.ts'

/** The time of callers and of background work over so many batches, when background work never runs out. */
function run(batches: number, { callersMs = 6, backgroundMs = 6, gapMs = 0, doCallersRun = true } = {}) {
  let now = 1_000
  const share = createBackgroundShare(() => now)
  let callers = 0
  let background = 0
  for (let batch = 0; batch < batches; batch++) {
    if (share.isTurn(doCallersRun)) {
      now += backgroundMs
      share.backgroundTook(backgroundMs)
      background += backgroundMs
    } else {
      now += callersMs
      share.callersTook(callersMs)
      callers += callersMs
    }
    now += gapMs
  }
  return { callers, background }
}

test('while callers run, background work has less than a twentieth of the time, but never none', () => {
  for (const backgroundMs of [1, 6, 75, 2_000]) {
    const { callers, background } = run(20_000, { backgroundMs })
    const part = background / (callers + background)
    assert.ok(part > 0.02 && part < 0.05, `${part} in batches of ${backgroundMs} ms`)
  }
})

test('without callers, background work has all of the time', () => {
  assert.deepEqual(run(100, { doCallersRun: false }), { callers: 0, background: 600 })
})

test('background work waits a moment for the next caller, and then has all of the time', () => {
  let now = 0
  const share = createBackgroundShare(() => now)
  share.backgroundTook(50)
  assert.equal(share.isTurn(true), false, 'the caller has already waited for a batch')
  share.callersTook(10)
  now += 20
  assert.equal(share.isTurn(false), false)
  assert.equal(share.untilAloneMs(), 180)
  now += 180
  assert.equal(share.isTurn(false), true)
  assert.equal(share.untilAloneMs(), 0)
})
