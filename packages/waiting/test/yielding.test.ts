import assert from 'node:assert/strict'
import { test } from 'node:test'
import { yieldAtEachStep } from '../../../test/support/event-loop.ts'
import { createYieldToLoop } from '../index.ts'

test('work continues while its time slice lasts, and then lets other work run', async (t) => {
  let time = 0
  t.mock.method(performance, 'now', () => time)
  const yieldToLoop = createYieldToLoop()
  assert.equal(yieldToLoop(), undefined)
  time = 3
  let first = false
  setImmediate(() => {
    first = true
  })
  await yieldToLoop()
  assert.ok(first)
  assert.equal(yieldToLoop(), undefined, 'a new slice begins')
})

test('aborted work ends at its next yield, with the reason', async (t) => {
  yieldAtEachStep(t)
  const leaving = new AbortController()
  const yieldToLoop = createYieldToLoop(leaving.signal)
  await yieldToLoop()
  leaving.abort(new Error('gone'))
  await assert.rejects(yieldToLoop() as Promise<void>, /gone/)
})

test('of several pieces of work, one continues in each turn of the event loop, in order', async (t) => {
  let time = 0
  t.mock.method(performance, 'now', () => time)
  const pieces = Array.from({ length: 5 }, createYieldToLoop.bind(undefined, undefined))
  time = 3
  const went: number[] = []
  const waits = pieces.map((yieldToLoop, n) => yieldToLoop()?.then(() => void went.push(n)))
  for (let turn = 0; turn < 5; turn++) {
    assert.deepEqual(
      went,
      Array.from({ length: turn }, (_, n) => n),
    )
    await new Promise(setImmediate)
  }
  await Promise.all(waits)
  assert.deepEqual(went, [0, 1, 2, 3, 4])
})
