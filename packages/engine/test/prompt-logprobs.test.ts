import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listedVocabulary } from '../../../test/support/listed-vocabulary.ts'
import { promptLogprob } from '../sampling/logprobs.ts'

const size = 2000
const vocabulary = listedVocabulary({ tokens: Array.from({ length: size }, (_, token) => `t${token}`) })

/** Token 0 is the likeliest, and each token is half as likely as the one before. */
const halving = Float32Array.from({ length: size }, (_, token) => -token * Math.LN2)

/** The token, its rank and the logarithm of its probability to the base of one half. */
function entriesOf(token: number, count: number): number[][] {
  const entries = promptLogprob(halving, token, count, vocabulary)
  return entries.map((entry) => [entry.token, entry.rank, Math.round(-entry.logprob / Math.LN2)])
}

test('only the token itself is given when no likeliest ones are requested', () => {
  assert.deepEqual(entriesOf(0, 0), [[0, 1, 1]])
  assert.deepEqual(entriesOf(9, 0), [[9, 10, 10]])
})

test('the likeliest tokens are given with the token itself, which is listed once', () => {
  assert.deepEqual(entriesOf(5, 2), [
    [5, 6, 6],
    [0, 1, 1],
    [1, 2, 2],
  ])
  assert.deepEqual(entriesOf(1, 3), [
    [0, 1, 1],
    [1, 2, 2],
    [2, 3, 3],
  ])
})

test('the rank of a token is exact however unlikely it is', () => {
  for (const token of [127, 128, 129, 1023, 1024, 1500, 1999]) {
    assert.deepEqual(entriesOf(token, 0), [[token, token + 1, token + 1]])
  }
})

test('equally likely tokens share a rank', () => {
  const steps = Float32Array.from({ length: size }, (_, token) => -Math.floor(token / 500))
  const [entry] = promptLogprob(steps, 1234, 0, vocabulary)
  assert.equal(entry?.rank, 1001)
})

test('an impossible token has -9999', () => {
  const most = Float32Array.from({ length: size }, (_, token) => (token < 3 ? 0 : -Infinity))
  const [entry] = promptLogprob(most, 7, 0, vocabulary)
  assert.deepEqual(
    [entry?.rank, entry?.logprob, entry && Buffer.from(entry.bytes).toString()],
    [4, -9999, 't7'],
  )
})
