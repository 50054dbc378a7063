import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBackgroundShare } from '../../../src/inference/embedded/turns/background-share.ts'

/** Batches one after the other: who had how much of the time, when background work always has something to do. */
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

test('beside callers background work has less than a twentieth of the time, and never nothing', () => {
  for (const backgroundMs of [1, 6, 75, 2_000]) {
    const { callers, background } = run(20_000, { backgroundMs })
    const part = background / (callers + background)
    assert.ok(part > 0.02 && part < 0.05, `${part} in batches of ${backgroundMs} ms`)
  }
})

test('alone it has all of the time', () => {
  assert.deepEqual(run(100, { doCallersRun: false }), { callers: 0, background: 600 })
})

test('callers that come again at once find it as small as before, and those that stay away leave it alone', () => {
  let now = 0
  const share = createBackgroundShare(() => now)
  share.backgroundTook(50)
  assert.equal(share.isTurn(true), false, 'who comes has waited for a batch already')
  share.callersTook(10)
  now += 20
  assert.equal(share.isTurn(false), false)
  assert.equal(share.untilAloneMs(), 180)
  now += 180
  assert.equal(share.isTurn(false), true)
  assert.equal(share.untilAloneMs(), 0)
})
