import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseMarkdown } from '../../../ui/value/parse-markdown.ts'

test('Markdown is formatted', () => {
  const text = `# Title\n\n${'A paragraph with *some* words. '.repeat(100)}\n\n- one\n- two\n\n\`\`\`js\nlet a = 1\n\`\`\`\n`
  const kinds = parseMarkdown(text)?.flatMap(({ type }) => (type === 'space' ? [] : [type]))
  assert.deepEqual(kinds, ['heading', 'paragraph', 'list', 'code'])
  assert.equal(parseMarkdown('')?.length, 0)
})

test('text that would freeze a browser is shown unformatted', () => {
  for (const text of ['_a', '**a', '> ', '>', '1. ', '[', '`a'].map((one) =>
    one.repeat(60_000 / one.length),
  )) {
    assert.equal(parseMarkdown(text), undefined, text.slice(0, 10))
  }
  assert.equal(parseMarkdown('A short paragraph.\n\n'.repeat(5_000)), undefined)
})

test('formatting ends for any text, with tokens or without', () => {
  const pieces = fc.constantFrom(
    '> ',
    '- ',
    '1. ',
    '_',
    '**',
    '`',
    '[',
    '](',
    '|',
    '\n',
    '\n\n',
    '  ',
    '<a',
    '&amp;',
    'word ',
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 400 }), fc.integer({ min: 1, max: 20 }), (some, times) => {
      const tokens = parseMarkdown(some.join('').repeat(times))
      assert.ok(tokens === undefined || Array.isArray(tokens))
    }),
    { numRuns: 200 },
  )
})
