import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRunningAnswers } from '../../../src/operations/generation/running.ts'

test('the pace of a model is measured over the last ten whole seconds', () => {
  let now = 1_000_000
  const running = createRunningAnswers(() => now)
  const answer = running.begin({ model: 'one', user: 'alice', isBackground: false })
  running.wrote(answer, 50)
  assert.equal(running.of('one').tokensPerSecond, 0, 'the current second does not count')
  now += 1_000
  assert.equal(running.of('one').tokensPerSecond, 5)
  running.wrote(answer, 30)
  now += 9_000
  assert.equal(running.of('one').tokensPerSecond, 8)
  now += 1_000
  assert.equal(running.of('one').tokensPerSecond, 3)
  now += 60_000
  assert.equal(running.of('one').tokensPerSecond, 0)
  assert.equal(running.of('one').completionTokens, 80)
  assert.equal(running.of('two').completionTokens, 0)
})

test('a running answer is listed from its beginning to its end', () => {
  const running = createRunningAnswers()
  const [one, two] = ['alice', 'bob'].map((user) =>
    running.begin({ model: 'one', user, isBackground: false }),
  )
  assert.ok(one && two)
  running.read(one, { prompt: 7, cached: 3 })
  running.wrote(one, 2)
  assert.deepEqual(
    running.all().map(({ user, state, tokens }) => [user, state, tokens]),
    [
      ['alice', 'writing', 2],
      ['bob', 'waiting', 0],
    ],
  )
  running.end(one)
  assert.deepEqual(running.all(), [two])
  assert.equal(running.of('one').cachedTokens, 3)
})
