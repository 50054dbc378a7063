import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { folded, longestEdited, wholeOf } from '../../../ui/screens/play/long-text.ts'

const filler = 'word '.repeat(longestEdited / 5)

test('a text that is short enough is not folded', () => {
  assert.equal(folded(filler), undefined)
  assert.notEqual(folded(`${filler}!`), undefined)
})

test('the parts of a folded text make up the text, most of it is in the middle, and no character is split', () => {
  const anyText = fc.string({ unit: 'binary', maxLength: 3_000 })
  fc.assert(
    fc.property(anyText, anyText, anyText, (before, pasted, behind) => {
      const text = `${before}${pasted}${filler}${filler}${pasted}${behind}`
      const parts = folded(text, before.length, text.length - behind.length)
      assert.ok(parts)
      assert.equal(wholeOf(parts), text)
      assert.ok(parts.beginning.startsWith(before) && parts.end.endsWith(behind))
      for (const { length } of [parts.beginning, parts.end]) assert.ok(length <= longestEdited / 2 + 1)
      for (const part of Object.values(parts)) assert.ok(part.isWellFormed())
    }),
    { numRuns: 20 },
  )
})

test('long text on both sides of an insertion is folded, too', () => {
  for (const [from, to] of [
    [0, 10],
    [filler.length, filler.length + 10],
    [2 * filler.length - 10, 2 * filler.length],
  ]) {
    const parts = folded(filler + filler, from, to)
    assert.ok(parts && parts.beginning.length + parts.end.length <= longestEdited)
    assert.equal(wholeOf(parts), filler + filler)
  }
})
