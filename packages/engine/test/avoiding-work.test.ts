import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import { smallVocabulary } from '../../../test/support/small-vocabulary.ts'
import type { ConstraintSource as Given } from '../../constraints/index.ts'
import {
  compile,
  createAvoidingTokens,
  createMasks,
  createMatcher,
  type GrammarMatcher,
  sliceVocabulary,
  type TokenTrie,
} from '../../constraints/index.ts'
import { createBadWords } from '../sampling/bad-words.ts'

/** Masks are computed between two tokens of all answers, so what a list of words costs there has a bound. */

const letters = [...'abcdefghijklmnopqrstuvwxyz']
const vocabulary = smallVocabulary({
  words: letters.flatMap((one) =>
    letters.flatMap((two) => ['', ...letters.slice(0, 8)].map((rest) => one + two + rest)),
  ),
})
const shown = { skipSpecial: true, spaceSpecial: true, isSilent: (token: number) => token === vocabulary.eos }

/** Follows a text while banned words are avoided, and counts what is looked at: nodes of tries, steps of the grammar. */
function workOf(given: Given, words: readonly string[], answer: string) {
  const work = { nodes: 0, steps: 0, narrowed: 0 }
  const { grammar } = compile(given, { whitespace: 'none' })
  const plain = createMatcher(grammar, { withoutMarks: true })
  const matcher: GrammarMatcher = {
    ...plain,
    after(position, point) {
      work.steps++
      return plain.after(position, point)
    },
  }
  const counted = (trie: TokenTrie): TokenTrie => ({
    ...trie,
    bytes: new Proxy(trie.bytes, {
      get(bytes, name) {
        if (name !== 'length') work.nodes++
        return Reflect.get(bytes, name, bytes)
      },
    }),
  })
  const all = sliceVocabulary(vocabulary)
  const masks = createMasks(vocabulary.size)
  const avoiding = createAvoidingTokens({
    matcher,
    texts: createBadWords(words, vocabulary, shown) ?? assert.fail(),
    vocabulary,
    slices: {
      ...all,
      slices: all.slices.map((slice) => ({ ...slice, trie: counted(slice.trie) })),
      broken: all.broken.map((tokens) => ({ ...tokens, trie: counted(tokens.trie) })),
      rest: counted(all.rest),
    },
    masks,
    symbolOfToken: () => undefined,
    ends: new Set(vocabulary.ends),
    controls: [],
  }).from(plain.start)
  const mask = masks.of((put) => {
    for (let token = 0; token < vocabulary.size; token++) put(token)
  })
  for (const token of vocabulary.tokenize(answer, { special: false })) {
    if (avoiding.narrowed(mask) !== mask) work.narrowed++
    avoiding.accept(token)
  }
  return work
}

const anyText: Given = { kind: 'regex', regex: '[^"]*' }
const random = seededRandom(4)
const randomText = (length: number) =>
  Array.from({ length }, () => letters[Math.floor(random() * letters.length)]).join('')

test('words with many scattered characters: no token is looked at where the rest cannot be searched', () => {
  for (const first of [0x3400, 0x4e00]) {
    const word = Array.from({ length: 10_000 }, (_, at) => String.fromCodePoint(first + 2 * at)).join('')
    const work = workOf(anyText, [word], randomText(2_000))
    assert.deepEqual({ ...work, steps: 0 }, { nodes: 0, steps: 0, narrowed: 0 })
    assert.ok(work.steps < 100_000, `${work.steps} steps`)
  }
})

test('a list of a hundred words: texts that can always be completed are not looked at token by token', () => {
  const words = Array.from({ length: 120 }, () => randomText(6))
  const work = workOf(anyText, words, words.map((word) => word.slice(0, 5)).join(' '))
  assert.ok(work.nodes < 10_000, `${work.nodes} nodes`)
  assert.ok(work.steps < 1_000_000, `${work.steps} steps`)
})

test('counted characters, of which every position is another: the search of a request ends', () => {
  const words = Array.from({ length: 120 }, () => randomText(6))
  const counted: Given = { kind: 'regex', regex: '[a-z ]{0,3000}' }
  const work = workOf(counted, words, randomText(2_900))
  assert.ok(work.steps < 2_000_000, `${work.steps} steps`)
  assert.ok(work.nodes < 5_000_000, `${work.nodes} nodes`)
})
