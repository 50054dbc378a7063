import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { hermesTemplate } from '../../../test/support/simulated-backend.ts'
import { smallVocabulary } from '../../../test/support/small-vocabulary.ts'
import type { Message } from '../../chat-format/index.ts'
import { hiddenText, loadRendering, namesPattern } from '../../chat-format/index.ts'
import { hiddenParts } from '../native/text-pieces.ts'

const mark = '\u{100001}'
const control = [
  '<|a|>',
  '|><b>',
  '<s>',
  '</s>',
  '[INST]',
  '<tool_response>',
  '<｜x｜>',
  '<|im_start|>',
  '<|im_end|>',
]
const hiding = { mark, names: control }
const vocabulary = smallVocabulary({ control })
const special = (text: string, options: { mark?: string } = {}) =>
  vocabulary.tokenize(text, { special: true, ...options }).filter((token) => vocabulary.isSpecial(token))

/** Texts that are likely to have names in them: whole, in parts and nested. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(...control),
      fc.constantFrom(...control).chain((name) => fc.nat(name.length).map((at) => name.slice(at))),
      fc.constantFrom(...control).chain((name) => fc.nat(name.length).map((at) => name.slice(0, at))),
      fc.constantFrom('a', ' ', '\n', '<', '😀', '"', '\\'),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''))

const { createRendering } = await loadRendering()
const hidingRendering = createRendering({ limitMs: 10_000, maxTextLength: 1e6, maxListLength: 1e6 })

test('texts without names are unchanged', () => {
  for (const text of ['', 'hello', 'a < b', '<div>', '[x]', '< s>', 'Grüße 😀']) {
    assert.equal(hiddenText(text, hiding), text)
  }
})

test('no combination of adjacent texts makes a control token', () => {
  fc.assert(
    fc.property(fc.array(hostile, { maxLength: 4 }), (texts) => {
      const text = `<s>${texts.map((one) => hiddenText(one, hiding)).join('')}</s>`
      const tokens = vocabulary.tokenize(text, { special: true, mark })
      assert.equal(tokens.filter((token) => vocabulary.isSpecial(token)).length, 2)
      const bytes = Buffer.concat(tokens.map((token) => vocabulary.bytes(token)))
      assert.equal(bytes.toString(), `<s>${texts.join('')}</s>`)
    }),
    { numRuns: 2000 },
  )
})

test('marked names are read as letters, and everything else as before', () => {
  const names = namesPattern(control)
  assert.deepEqual(Array.from(hiddenParts(`<s>a<s>b<${mark}/s>c</s>d<s>`, mark, names)), [
    { text: '<s>a<s>', special: true },
    { text: 'b</s>c', special: false },
    { text: '</s>d<s>', special: true },
  ])
  assert.deepEqual(Array.from(hiddenParts('a<s>b', mark, names)), [{ text: 'a<s>b', special: true }])
})

/** Renders a conversation of these texts to a prompt with control tokens. */
function promptOf(texts: readonly string[], hide: boolean) {
  const [user = '', tool = '', call = '', description = '', document = ''] = texts
  const messages: Message[] = [
    { role: 'user', content: user, name: user },
    {
      role: 'assistant',
      content: '',
      tool_calls: [{ id: '1', type: 'function', function: { name: 'f', arguments: { [call]: [call] } } }],
    },
    { role: 'tool', content: [tool, tool], tool_call_id: tool },
  ]
  const variables = JSON.stringify({
    tools: [{ type: 'function', function: { name: 'f', description, parameters: { [description]: {} } } }],
    documents: [{ text: document }],
    add_generation_prompt: true,
  })
  const template = `${hermesTemplate}{% for document in documents %}{{ document.text }}{% endfor %}{{ messages | map(attribute='name') | list }}`
  const rendering = hidingRendering.render({
    template,
    messages,
    variables,
    open: false,
    ...(hide && { hiding }),
  })
  if (rendering.kind !== 'rendered') throw new Error(JSON.stringify(rendering))
  return rendering.text
}

test('no text of a conversation adds a control token to its prompt, and none is lost', () => {
  const expected = special(promptOf([], false))
  fc.assert(
    fc.property(fc.array(hostile, { minLength: 5, maxLength: 5 }), (texts) => {
      const text = promptOf(texts, true)
      assert.deepEqual(special(text, { mark }), expected)
      assert.equal(text.replaceAll(mark, ''), promptOf(texts, false))
    }),
    { numRuns: 300 },
  )
})

test('messages of the assistant are unchanged, because templates look for markers in them', () => {
  const rendering = hidingRendering.render({
    template: "{{ messages[0].content.split('</s>')[1] }}",
    messages: [{ role: 'assistant', content: 'a</s>b' }],
    variables: '{}',
    open: false,
    hiding,
  })
  assert.deepEqual(rendering, { kind: 'rendered', text: 'b' })
})

test('a long text with many names is marked quickly', () => {
  const names = Array.from({ length: 1000 }, (_, number) => `<|reserved_special_token_${number}|>`)
  const text = '<|reserved_special_token_1'.repeat(100_000)
  const since = performance.now()
  assert.equal(hiddenText(text, { mark, names }).length, text.length + 2)
  assert.ok(performance.now() - since < 5_000)
})
