import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readSearch } from '../../src/domain/search/search-text.ts'
import { snippetsOf } from '../../src/domain/search/snippets.ts'
import { maxTextsLength, textsIn } from '../../src/domain/search/texts.ts'
import { wordsOf } from '../../src/domain/search/words.ts'

test('words are in lower case, without accents and punctuation, and separated by spaces', () => {
  for (const [text, words] of [
    ['', ''],
    ['  Refund, my ORDER-number 17! ', 'refund my order number 17'],
    ['naïve Café — “quoted” … 🐟', 'naive cafe quoted'],
    ['get_weather(x)', 'get weather x'],
    ['退款 please', '退 款 please'],
    ['Straße ＡＢ １', 'straße ab 1'],
    ['step ❷ of 🯳', 'step ❷ of 3'],
    [`a ${'x'.repeat(65)} b ${'y'.repeat(64)}`, `a  b ${'y'.repeat(64)}`],
  ] as const) {
    assert.equal(wordsOf(text).replace(/ +/g, ' '), words.replace(/ +/g, ' '), text)
  }
})

test('any text can be split into words, and splitting words again changes nothing', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const words = wordsOf(text)
      assert.ok(!/["'\\:*()&|!]/.test(words), words)
      assert.equal(wordsOf(words).replace(/ +/g, ' '), words.replace(/ +/g, ' '))
    }),
  )
})

test('the texts of a document are its string values, also when it is cut off', () => {
  const json = '{"model":"small","messages":[{"content":"a \\"b\\" \\n c"},null,1.5,true],"k":{"":""}}'
  assert.deepEqual(textsIn(json), ['small', 'a "b" \n c'])
  for (let end = 0; end <= json.length; end++) textsIn(json.slice(0, end))
  assert.deepEqual(textsIn(json.slice(0, json.indexOf(' c'))), ['small', 'a "b" \n'])
  assert.deepEqual(textsIn('"only"'), ['only'])
})

test('images, log-probabilities and embeddings are not searched, and long texts are cut', () => {
  const logprobs = { content: [{ token: 'hidden', top_logprobs: [{ token: ', ]}' }] }] }
  const given = {
    logprobs,
    b64_json: 'hidden',
    weave_type: { type: 'hidden' },
    url: `data:${'A'.repeat(600)}`,
    said: 'shown',
    embedding: ['hidden'],
  }
  assert.deepEqual(textsIn(JSON.stringify(given)), ['shown'])
  const long = textsIn(JSON.stringify(['word '.repeat(10_000), 'never']))
  assert.equal(long.join('').length, maxTextsLength)
})

test('a search consists of words, phrases and excluded words', () => {
  assert.deepEqual(readSearch('refund "my order" -test of get_weather'), [
    { words: ['refund'], isOpen: true, isExcluded: false },
    { words: ['my', 'order'], isOpen: false, isExcluded: false },
    { words: ['test'], isOpen: true, isExcluded: true },
    { words: ['of'], isOpen: false, isExcluded: false },
    { words: ['get', 'weather'], isOpen: true, isExcluded: false },
  ])
  assert.deepEqual(readSearch(' "" - "?!" '), [])
})

test('a snippet shows the matches, and its marks are in range', () => {
  const [one, other, ...more] = snippetsOf(
    [`${'before '.repeat(50)}the Café is here${' after'.repeat(50)}`, 'and an Order of fish'],
    readSearch('cafe "order of" -none'),
    3,
  )
  assert.deepEqual(more, [])
  const marked = ({ text, marks }: { text: string; marks: [number, number][] }) =>
    marks.map(([from, to]) => text.slice(from, to))
  assert.deepEqual(one && marked(one), ['Café'])
  assert.ok(one?.text.startsWith('…') && one.text.endsWith('…'))
  assert.deepEqual(other && marked(other), ['Order of'])
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' })), fc.string({ unit: 'binary' }), (texts, text) => {
      for (const { text: shown, marks } of snippetsOf([...texts, text], readSearch(text), 3)) {
        let at = 0
        for (const [from, to] of marks) {
          assert.ok(from >= at && to > from && to <= shown.length)
          at = to
        }
      }
    }),
  )
})
