import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeGuesses } from '../../src/http/guesses.ts'

test('the first third is answered at once, then later and later, then not at all', () => {
  const judge = judgeGuesses(30)
  const verdicts = Array.from({ length: 32 }, () => judge('192.0.2.1', 1000))
  assert.deepEqual(
    verdicts.slice(0, 16).map((verdict) => 'delayMs' in verdict && verdict.delayMs),
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100, 200, 400, 800, 1600, 2000],
  )
  for (const verdict of verdicts.slice(16, 30)) assert.deepEqual(verdict, { delayMs: 2000 })
  for (const verdict of verdicts.slice(30)) assert.deepEqual(verdict, { retryAfterMs: 2000 })
})

test('one address does not count for another', () => {
  const judge = judgeGuesses(3)
  for (let i = 0; i < 10; i++) judge('192.0.2.1', 0)
  assert.deepEqual(judge('192.0.2.2', 0), { delayMs: 0 })
})

test('who was refused may try again after the time that it was told, and is new after a minute', () => {
  const judge = judgeGuesses(6)
  for (let i = 0; i < 6; i++) judge('192.0.2.1', 0)
  assert.deepEqual(judge('192.0.2.1', 0), { retryAfterMs: 10_000 })
  const soon = judge('192.0.2.1', 9_000)
  assert.equal('retryAfterMs' in soon && Math.round(soon.retryAfterMs), 1_000, 'a refused try does not count')
  assert.ok('delayMs' in judge('192.0.2.1', 10_000))
  assert.deepEqual(judge('192.0.2.1', 80_000), { delayMs: 0 })
})

test('addresses without end take no memory without end, and the latest stay known', () => {
  const judge = judgeGuesses(3)
  for (let i = 0; i < 3; i++) judge('first', 0)
  assert.ok('retryAfterMs' in judge('first', 0))
  for (let i = 0; i < 20_000; i++) judge(`192.0.${i}`, 0)
  assert.deepEqual(judge('first', 0), { delayMs: 0 }, 'the oldest is forgotten')
})
