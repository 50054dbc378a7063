import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createIdleSaves } from '../../../src/inference/embedded/prompt-cache/idle-saves.ts'
import { createSequences } from '../../../src/inference/embedded/sequences.ts'

/** Three sequences of these lengths, used one after the other. */
function threeOf(...lengths: [number, number, number]) {
  const sequences = createSequences(3, 4)
  for (const [id, length] of lengths.entries()) {
    const taken = sequences.take([id, ...Array.from({ length }, () => 9)], '', true)
    assert.ok(taken)
    taken.sequence.tokens = Array.from({ length }, () => id)
    sequences.give(taken.sequence)
  }
  return sequences
}

test('each sequence is kept once after each use, the least recently used first', () => {
  const sequences = threeOf(5, 6, 7)
  const next = createIdleSaves(sequences.all, () => true)
  const used = sequences.all.toSorted((one, other) => one.used - other.used)
  assert.deepEqual([next(), next(), next(), next()], [...used, undefined])
  const taken = sequences.takeAny()
  assert.ok(taken)
  assert.equal(next(), undefined, 'a sequence in use is not kept')
  sequences.give(taken)
  assert.equal(next(), taken)
  assert.equal(next(), undefined)
})

test('nothing is kept while a sequence is empty, because the next request uses that one', () => {
  const sequences = threeOf(5, 0, 7)
  const next = createIdleSaves(sequences.all, () => true)
  assert.equal(next(), undefined)
})

test('each sequence is checked with the number of those that are lost before it', () => {
  const sequences = threeOf(5, 6, 7)
  const inOrder = sequences.all.toSorted((one, other) => one.used - other.used)
  const next = createIdleSaves(sequences.all, (one, before) => {
    assert.equal(before, inOrder.indexOf(one))
    return before < 2
  })
  assert.deepEqual([next(), next(), next()], [...inOrder.slice(0, 2), undefined])
})

test('a sequence that takes long to copy is left until its cells are needed', () => {
  const sequences = threeOf(5, 600, 7)
  const next = createIdleSaves(sequences.all, ({ tokens }) => tokens.length < 100)
  assert.deepEqual(
    [next(), next(), next()].map((one) => one?.tokens.length),
    [5, 7, undefined],
  )
})
