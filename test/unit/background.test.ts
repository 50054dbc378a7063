import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inBackground } from '../../src/operations/background.ts'

test('steps run one after another, also after a failed one, and none starts after a stop', async () => {
  const failures: unknown[] = []
  let steps = 0
  let isRunning = false
  const done = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const work = inBackground({
    firstMs: 0,
    failedMs: 0,
    failed: (error) => failures.push(error),
    async run(signal) {
      assert.equal(isRunning, false, 'two steps never run at once')
      isRunning = true
      try {
        steps++
        if (steps === 2) throw new Error('the second step fails')
        if (steps < 4) return 0
        done.resolve()
        await held.promise
        assert.equal(signal.aborted, true)
        return 0
      } finally {
        isRunning = false
      }
    },
  })
  // The timer of the background work does not keep the process alive, so this one does.
  const alive = setInterval(() => {}, 1_000)
  await done.promise
  const stopped = work.stop()
  held.resolve()
  await stopped
  clearInterval(alive)
  assert.equal(isRunning, false, 'stopping waits for the running step')
  assert.deepEqual(
    failures.map((error) => (error as Error).message),
    ['the second step fails'],
  )
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(steps, 4)
})
