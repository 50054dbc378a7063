import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSpecial, tokenBytes } from '../native/token-bytes.ts'

const sentencePiece = 1
const bytePairs = 2
const normal = 4
const control = 8
const userDefined = 16
const byte = 32

test('byte-pair tokens are decoded from the printable names of their bytes', () => {
  assert.deepEqual(tokenBytes('ĠHello', normal, bytePairs), Buffer.from(' Hello'))
  assert.deepEqual(tokenBytes('Ċ', normal, bytePairs), Buffer.from('\n'))
  assert.deepEqual(tokenBytes('ç¹Ķ', normal, bytePairs), Buffer.from('織'))
  assert.deepEqual(tokenBytes('ç¹', normal, bytePairs), Buffer.from([0xe7, 0xb9]))
})

test('SentencePiece tokens have a mark for the space, and bytes by number', () => {
  assert.deepEqual(tokenBytes('▁the▁', normal, sentencePiece), Buffer.from(' the '))
  assert.deepEqual(tokenBytes('<0xE2>', byte, sentencePiece), Uint8Array.of(0xe2))
  assert.deepEqual(tokenBytes('<0xE2>', normal, sentencePiece), Buffer.from('<0xE2>'))
})

test('the bytes of special and user-defined tokens are their names', () => {
  assert.deepEqual(tokenBytes('<|im_end|>', control, bytePairs), Buffer.from('<|im_end|>'))
  assert.deepEqual(tokenBytes('Ġ▁', userDefined, sentencePiece), Buffer.from('Ġ▁'))
  assert.equal(isSpecial(control), true)
  assert.equal(isSpecial(userDefined), false)
  assert.equal(isSpecial(normal), false)
})

test('an unknown kind of vocabulary is left to the library', () => {
  assert.equal(tokenBytes('x', normal, 5), undefined)
})
