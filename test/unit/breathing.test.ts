import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBreathing } from '../../src/domain/breathing.ts'
import { breatheAtEachStep } from '../support/stepping.ts'

test('work goes on while its slice lasts, and lets others go first then', async (t) => {
  let time = 0
  t.mock.method(performance, 'now', () => time)
  const breathe = createBreathing()
  assert.equal(breathe(), undefined)
  time = 3
  let first = false
  setImmediate(() => {
    first = true
  })
  await breathe()
  assert.ok(first)
  assert.equal(breathe(), undefined, 'a slice of its own begins')
})

test('work that nobody waits for ends at its next breath, with the reason', async (t) => {
  breatheAtEachStep(t)
  const leaving = new AbortController()
  const breathe = createBreathing(leaving.signal)
  await breathe()
  leaving.abort(new Error('gone'))
  await assert.rejects(breathe() as Promise<void>, /gone/)
})
