import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listedVocabulary } from '../../../test/support/listed-vocabulary.ts'
import { drawnLogprobs } from '../sampling/logprobs.ts'

const vocabulary = listedVocabulary({ tokens: ['a', 'b', [0xc3], 'd', 'e'] })
/** Logits with the probabilities 1/4, 1/8, 1/2, 1/8 and 0. */
const logits = Float32Array.of(Math.log(2), 0, Math.log(4), 0, -Infinity)
const beside = (count: number) => drawnLogprobs(logits, { count, named: undefined }, vocabulary)
const besideNamed = (named: number[]) => drawnLogprobs(logits, { count: 0, named }, vocabulary)

function near(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) < 1e-6, `${actual} is not ${expected}`)
}

test('the drawn token and the likeliest ones are given with their exact bytes', () => {
  const { top, ...drawn } = beside(2)(3)
  assert.equal(drawn.token, 3)
  assert.deepEqual([...drawn.bytes], [0x64])
  near(drawn.logprob, Math.log(1 / 8))
  assert.deepEqual(
    top.map(({ token, bytes }) => [token, ...bytes]),
    [
      [2, 0xc3],
      [0, 0x61],
    ],
  )
  near(top[0]?.logprob ?? 0, Math.log(1 / 2))
  near(top[1]?.logprob ?? 0, Math.log(1 / 4))
})

test('no likeliest tokens are given when none are requested', () => {
  const drawn = beside(0)(2)
  near(drawn.logprob, Math.log(1 / 2))
  assert.deepEqual(drawn.top, [])
})

test('named tokens are given with the drawn one, each once and the likeliest first', () => {
  const ids = (token: number, named: number[]) => {
    const { top, ...drawn } = besideNamed(named)(token)
    assert.deepEqual(
      top.find((one) => one.token === token),
      drawn,
    )
    return top.map((one) => one.token)
  }
  assert.deepEqual(ids(3, [4, 0]), [0, 3, 4])
  assert.deepEqual(ids(0, [4, 0]), [0, 4])
  const { logprob, top } = besideNamed([4, 0])(2)
  near(logprob, Math.log(1 / 2))
  near(top[1]?.logprob ?? 0, Math.log(1 / 4))
  assert.equal(top[2]?.logprob, -9999)
})

test('log-probabilities are never below -9999', () => {
  assert.equal(beside(0)(4).logprob, -9999)
  const far = Float32Array.of(20_000, 0, 0, 0, 0)
  assert.equal(drawnLogprobs(far, { count: 0, named: undefined }, vocabulary)(1).logprob, -9999)
})
