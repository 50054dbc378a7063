import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { whenAborted } from '../index.ts'

const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

test('whenAborted: runs once when the signal aborts, and leaves no listener', () => {
  const controller = new AbortController()
  const reasons: unknown[] = []
  whenAborted(controller.signal, () => reasons.push(controller.signal.reason))
  assert.equal(listeners(controller.signal), 1)
  assert.deepEqual(reasons, [])
  controller.abort('left')
  controller.abort('again')
  assert.deepEqual(reasons, ['left'])
  assert.equal(listeners(controller.signal), 0)
})

test('whenAborted: after its end nothing runs, and no listener is left', () => {
  const controller = new AbortController()
  const end = whenAborted(controller.signal, () => assert.fail('it had ended'))
  end()
  assert.equal(listeners(controller.signal), 0)
  controller.abort()
  end()
})

test('whenAborted: a signal that has aborted already counts, but not before the function returns', async () => {
  let runs = 0
  const end = whenAborted(AbortSignal.abort(), () => {
    runs++
    end()
  })
  assert.equal(runs, 0)
  await Promise.resolve()
  assert.equal(runs, 1)
})

test('whenAborted: a wait that ends at once does not run, even if the signal has aborted', async () => {
  whenAborted(AbortSignal.abort(), () => assert.fail('it had ended'))()
  await Promise.resolve()
})
