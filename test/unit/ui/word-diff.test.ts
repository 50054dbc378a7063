import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { wordDiff } from '../../../ui/value/word-diff.ts'

const text = fc
  .array(fc.constantFrom('a', 'b', 'über', ' ', '\n', '.', '漢字', '👍'), { maxLength: 60 })
  .map((words) => words.join(''))
const said = (before: string, after: string, without: 'gone' | 'new') =>
  wordDiff(before, after)
    .filter(({ kind }) => kind !== without)
    .map((part) => part.text)
    .join('')

test('a diff contains both texts in full', () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      assert.equal(said(before, after, 'new'), before)
      assert.equal(said(before, after, 'gone'), after)
    }),
    { numRuns: 500 },
  )
})

test('only changed words are marked as changed', () => {
  assert.deepEqual(wordDiff('the capital is Lima now', 'the capital is Quito now'), [
    { kind: 'same', text: 'the capital is ' },
    { kind: 'gone', text: 'Lima' },
    { kind: 'new', text: 'Quito' },
    { kind: 'same', text: ' now' },
  ])
  assert.deepEqual(wordDiff('same', 'same'), [{ kind: 'same', text: 'same' }])
  assert.deepEqual(wordDiff('', 'new'), [{ kind: 'new', text: 'new' }])
})

test('words are found in scripts that have no spaces between them', () => {
  const changed = (before: string, after: string) =>
    wordDiff(before, after).flatMap(({ kind, text }) => (kind === 'same' ? [] : `${kind} ${text}`))
  assert.deepEqual(changed('我今天去东京', '我明天去东京'), ['gone 今天', 'new 明天'])
  assert.deepEqual(changed('私は東京に住んでいます', '私は大阪に住んでいます'), ['gone 東京', 'new 大阪'])
})

test('texts that have nothing in common are compared quickly', () => {
  const [before, after] = ['x ', 'y '].map((word) => word.repeat(20_000))
  assert.equal(said(before as string, after as string, 'new'), before)
  assert.equal(said(before as string, after as string, 'gone'), after)
})
