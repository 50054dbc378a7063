import assert from 'node:assert/strict'
import { test } from 'node:test'
import { piecesOf } from '../../../ui/value/text-pieces.ts'

test('a long text is split between lines, and nothing is lost', () => {
  const text = Array.from({ length: 3_000 }, (_, index) => `line ${index}\n`).join('')
  const pieces = piecesOf(text)
  assert.equal(pieces.join(''), text)
  assert.ok(pieces.length > 1)
  assert.ok(pieces.every((piece) => piece.endsWith('\n') && piece.length <= 4_000))
})

test('a line that is too long is split, but no character is', () => {
  const text = `x${'🪡'.repeat(10_000)}`
  const pieces = piecesOf(text)
  assert.equal(pieces.join(''), text)
  assert.ok(pieces.length > 1)
  assert.ok(pieces.every((piece) => piece.isWellFormed() && piece.length <= 4_001))
})

test('an empty text has no pieces', () => {
  assert.deepEqual(piecesOf(''), [])
})
