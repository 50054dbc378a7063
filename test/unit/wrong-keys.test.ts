import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWrongKeyThrottle } from '../../src/http/wrong-keys.ts'

test('the first third of the guesses is answered at once, the next ones ever later, and then they are refused', () => {
  const judge = createWrongKeyThrottle(30)
  const verdicts = Array.from({ length: 32 }, () => judge('192.0.2.1', 1000))
  assert.deepEqual(
    verdicts.slice(0, 16).map((verdict) => 'delayMs' in verdict && verdict.delayMs),
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100, 200, 400, 800, 1600, 2000],
  )
  for (const verdict of verdicts.slice(16, 30)) assert.deepEqual(verdict, { delayMs: 2000 })
  for (const verdict of verdicts.slice(30)) assert.deepEqual(verdict, { retryAfterMs: 2000 })
})

test('the guesses of one address do not count for another', () => {
  const judge = createWrongKeyThrottle(3)
  for (let i = 0; i < 10; i++) judge('192.0.2.1', 0)
  assert.deepEqual(judge('192.0.2.2', 0), { delayMs: 0 })
})

test('a refused address may try again after the given time, and is like a new one after a minute', () => {
  const judge = createWrongKeyThrottle(6)
  for (let i = 0; i < 6; i++) judge('192.0.2.1', 0)
  assert.deepEqual(judge('192.0.2.1', 0), { retryAfterMs: 10_000 })
  const soon = judge('192.0.2.1', 9_000)
  assert.equal(
    'retryAfterMs' in soon && Math.round(soon.retryAfterMs),
    1_000,
    'a refused guess does not count',
  )
  assert.ok('delayMs' in judge('192.0.2.1', 10_000))
  assert.deepEqual(judge('192.0.2.1', 80_000), { delayMs: 0 })
})

test('the number of remembered addresses is bounded, and the oldest are evicted', () => {
  const judge = createWrongKeyThrottle(3)
  for (let i = 0; i < 3; i++) judge('first', 0)
  assert.ok('retryAfterMs' in judge('first', 0))
  for (let i = 0; i < 20_000; i++) judge(`192.0.${i}`, 0)
  assert.deepEqual(judge('first', 0), { delayMs: 0 }, 'the oldest is evicted')
})
