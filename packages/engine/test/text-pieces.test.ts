import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { endOfText, startOfText, textPieces } from '../native/text-pieces.ts'

test('a short text stays whole', () => {
  assert.deepEqual([...textPieces('')], [''])
  assert.deepEqual([...textPieces('word '.repeat(800))], ['word '.repeat(800)])
})

test('long prose is cut only at the ends of words', () => {
  for (const text of ['Some words, and more. '.repeat(2_000), 'これは文です。'.repeat(3_000)]) {
    const pieces = [...textPieces(text)]
    assert.ok(pieces.length > 4)
    for (const piece of pieces.slice(1)) assert.match(piece, /^[\s,.。]/)
    for (const piece of pieces.slice(0, -1)) assert.match(piece, /\p{L}$/u)
  }
})

test('without words to cut at, names of special tokens and surrogate pairs stay whole', () => {
  const [name = '', named = ''] = textPieces(`${'1'.repeat(4090)}<|im_end|>${'1'.repeat(90)}`)
  assert.deepEqual([name.length, named.slice(0, 10)], [4090, '<|im_end|>'])
  for (const piece of textPieces(`1${'😀'.repeat(5_000)}`)) assert.ok(piece.isWellFormed())
})

test('the beginning and the end of a text are cut at the ends of words, and are the whole of a short text', () => {
  const text = 'Some words, and more. '.repeat(2_000)
  for (const size of [0, 100, 5_000]) {
    const start = startOfText(text, size)
    assert.ok(text.startsWith(start) && start.length >= size && start.length <= size + 4096)
    assert.match(start, /\p{L}$/u)
    const end = endOfText(text, size)
    assert.ok(text.endsWith(end) && end.length >= size && end.length <= size + 4096)
    assert.match(end, /^[\s,.]/)
  }
  for (const size of [text.length, Number.POSITIVE_INFINITY]) {
    assert.equal(startOfText(text, size), text)
    assert.equal(endOfText(text, size), text)
  }
})

test('the pieces are short, and joined they are the text', () => {
  const part = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom('a', '\u0301', '\ud800', '\n', ' ', '漢', '< ', '['),
  )
  const texts = fc.array(fc.tuple(part, fc.integer({ min: 1, max: 3_000 })), { maxLength: 6 })
  fc.assert(
    fc.property(texts, (parts) => {
      const text = parts.map(([one, times]) => one.repeat(times)).join('')
      const pieces = [...textPieces(text)]
      assert.equal(pieces.join(''), text)
      for (const piece of pieces) assert.ok(piece.length <= 4096 && (piece !== '' || text === ''))
    }),
    { numRuns: 50 },
  )
})
