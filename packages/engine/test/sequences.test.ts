import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSequences, type Sequences } from '../loop/sequences.ts'

const copyFrom = 4

function take(sequences: Sequences, prompt: string, key = '', remember = true) {
  const place = sequences.take(Array.from(prompt, Number), key, remember)
  if (place === undefined) return undefined
  const { sequence, shared, from } = place
  sequence.tokens = Array.from(prompt, Number)
  sequence.key = key
  const lender = typeof from === 'object' ? from.id : from
  return { id: sequence.id, shared, from: lender, give: () => sequences.give(sequence) }
}

function remembering(...texts: string[]): Sequences {
  const sequences = createSequences(texts.length, copyFrom)
  const taken = texts.filter((text) => text !== '').map((text) => take(sequences, text))
  for (const place of taken) place?.give()
  return sequences
}

function choose(sequences: Sequences, prompt: string, key?: string) {
  const place = take(sequences, prompt, key)
  return place && { id: place.id, shared: place.shared, from: place.from }
}

test('the sequence with the longest common beginning is taken, and at least two tokens are left to read', () => {
  assert.deepEqual(choose(remembering('111', '123', '124'), '12345'), { id: 1, shared: 3, from: undefined })
  assert.deepEqual(choose(remembering('123', ''), '123'), { id: 0, shared: 1, from: undefined })
  assert.deepEqual(choose(remembering('1'), '1'), { id: 0, shared: 0, from: undefined })
})

test('nothing is shared with another key, or when prefix reuse is off', () => {
  assert.deepEqual(choose(remembering('12345'), '12345', 'red'), { id: 0, shared: 0, from: undefined })
  const place = remembering('12345').take([1, 2, 3], '', false)
  assert.equal(place?.shared, 0)
})

test('an empty sequence is overwritten first, then the least recently used one', () => {
  const sequences = createSequences(2, copyFrom)
  const first = take(sequences, '111')
  assert.equal(first?.id, 0)
  const second = take(sequences, '222')
  assert.equal(second?.id, 1)
  assert.equal(take(sequences, '333'), undefined, 'all are busy')
  second?.give()
  first?.give()
  assert.equal(take(sequences, '444')?.id, 1)
})

test('a neighbour of busy sequences is preferred to the least recently used, if its prompt is kept', () => {
  const chosen = (isLostKept: boolean, busy: readonly string[]) => {
    const sequences = createSequences(5, copyFrom, { isLostKept })
    const places = ['1111', '2222', '3333', '4444', '5555'].map((text) => take(sequences, text))
    for (const place of places) place?.give()
    for (const text of busy) take(sequences, text)
    return take(sequences, '999')?.id
  }
  assert.equal(chosen(true, ['3333', '4444']), 1)
  assert.equal(chosen(true, ['3333', '5555']), 3, 'between two')
  assert.equal(chosen(true, ['3333']), 1)
  assert.equal(chosen(false, ['3333', '4444']), 0)
})

test('tokens of a busy sequence are copied when that saves more than the copy costs', () => {
  const sequences = createSequences(3, copyFrom)
  take(sequences, '12345678')
  assert.deepEqual(choose(sequences, '1234999'), { id: 1, shared: 4, from: 0 })
  assert.deepEqual(choose(sequences, '1230999'), { id: 2, shared: 0, from: undefined })
})

test('a long sequence is not cut off for a prompt that only begins like it', () => {
  const sequences = remembering('1234567890', '777')
  assert.deepEqual(
    choose(sequences, '123459999'),
    { id: 0, shared: 5, from: undefined },
    'it is the least recently used',
  )
  const other = remembering('777', '1234567890')
  assert.deepEqual(choose(other, '123459999'), { id: 0, shared: 5, from: 1 })
  const near = remembering('777', '1234567')
  assert.deepEqual(choose(near, '12345999'), { id: 1, shared: 5, from: undefined }, 'little would be lost')
})

test('a kept prompt is restored where that saves more than it costs, into the least recently used sequence', () => {
  const sequences = () => remembering('1234567890', '777')
  const take = (shared: number, costs: number) =>
    sequences().take(Array.from('12345999', Number), '', true, { elsewhere: { shared, costs } })
  const elsewhere = take(9, 3)
  assert.deepEqual([elsewhere?.from, elsewhere?.shared], ['elsewhere', 9])
  assert.equal(elsewhere?.sequence.id, 0, 'the least recently used')
  assert.notEqual(take(8, 3)?.from, 'elsewhere', 'five tokens are already in a sequence')
})
