import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listedVocabulary } from '../../../test/support/listed-vocabulary.ts'
import { scriptedLogits } from '../../../test/support/scripted-logits.ts'
import { onlyAllowed } from '../sampling/allowed.ts'
import { cachedLogits } from '../sampling/logits.ts'
import { namedLogprob, tokenLogprob } from '../sampling/logprobs.ts'

const vocabulary = listedVocabulary({ tokens: ['a', 'b', [0xc3], 'd', 'e'] })
/** Logits with the probabilities 1/4, 1/8, 1/2, 1/8 and 0. */
const logits = [Math.log(2), 0, Math.log(4), 0, -Infinity]

function near(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) < 1e-6, `${actual} is not ${expected}`)
}

test('the drawn token and the likeliest ones are given with their exact bytes', async () => {
  const { top, ...drawn } = await tokenLogprob(scriptedLogits(logits), 3, 2, vocabulary)
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

test('no likeliest tokens are given when none are requested', async () => {
  const drawn = await tokenLogprob(scriptedLogits(logits), 2, 0, vocabulary)
  near(drawn.logprob, Math.log(1 / 2))
  assert.deepEqual(drawn.top, [])
})

test('named tokens are given with the drawn one, each once and the likeliest first', async () => {
  const ids = async (token: number, named: number[]) => {
    const { top, ...drawn } = await namedLogprob(scriptedLogits(logits), token, named, vocabulary)
    assert.deepEqual(
      top.find((one) => one.token === token),
      drawn,
    )
    return top.map((one) => one.token)
  }
  assert.deepEqual(await ids(3, [4, 0]), [0, 3, 4])
  assert.deepEqual(await ids(0, [4, 0]), [0, 4])
  const { logprob, top } = await namedLogprob(scriptedLogits(logits), 2, [4, 0], vocabulary)
  near(logprob, Math.log(1 / 2))
  near(top[1]?.logprob ?? 0, Math.log(1 / 4))
  assert.equal(top[2]?.logprob, -9999)
})

test('log-probabilities are never below -9999', async () => {
  assert.equal((await tokenLogprob(scriptedLogits(logits), 4, 0, vocabulary)).logprob, -9999)
  const far = scriptedLogits([20_000, 0, 0, 0, 0])
  assert.equal((await tokenLogprob(far, 1, 0, vocabulary)).logprob, -9999)
})

test('logits that were read are not read again', async () => {
  const position = scriptedLogits(logits)
  const memory = cachedLogits(position)
  const four = await memory.top(4)
  const two = await memory.top(2)
  assert.deepEqual([...two.tokens], [...four.tokens.subarray(0, 2)])
  assert.deepEqual([...two.logits], [...four.logits.subarray(0, 2)])
  await memory.top(5)
  await memory.logTotal(1)
  await memory.logTotal(1)
  await memory.logTotal(0.5)
  assert.deepEqual(position.asked, ['top 4', 'top 5', 'total 1', 'total 0.5'])
})

test('the allowed tokens form a vocabulary of their own', async () => {
  const position = scriptedLogits(logits)
  const some = onlyAllowed(position, [3, 0, 1])
  assert.equal(some.vocabulary, 3)
  assert.equal(await some.best(), 0)
  assert.deepEqual([...(await some.top(2)).tokens], [0, 1])
  assert.deepEqual([...(await some.top(9)).tokens], [0, 1, 3])
  near(await some.logTotal(1), Math.log(2 + 1 + 1))
  near(await some.logTotal(0.5), Math.log(4 + 1 + 1))
  assert.deepEqual(position.asked, ['of 3'])
})
