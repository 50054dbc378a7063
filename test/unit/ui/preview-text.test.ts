import assert from 'node:assert/strict'
import { test } from 'node:test'
import { previewText } from '../../../ui/value/preview-text.ts'

test('a line of a list has the words of Markdown without its marks', () => {
  for (const [markdown, words] of [
    ['# How do I do **this**? - with `code`', 'How do I do this? - with code'],
    ['Read [the page](https://a.test/b) and ![a map](https://a.test/c', 'Read the page and a map'],
    ['- [x] first - [ ] second', '- first - second'],
    ['| a | b | |---|--:| | 1 | 2 |', '| a | b |  | 1 | 2 |'],
    ['So: ```ts const x = 1 ``` ## Next', 'So:  const x = 1  Next'],
  ] as const)
    assert.equal(previewText(markdown), words)
})

test('what only looks like Markdown stays on a line', () => {
  for (const text of [
    'f(**names)',
    '2 ** 3 ** 4',
    'issue #5 and # 6',
    'a[0](x)',
    '|| or |',
    '__init__ of *args',
  ])
    assert.equal(previewText(text), text)
})
