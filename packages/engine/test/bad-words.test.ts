import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { listedVocabulary } from '../../../test/support/listed-vocabulary.ts'
import { isInMask } from '../../constraints/index.ts'
import { createAnswerText } from '../answer/answer-text.ts'
import { createStopStrings } from '../answer/stop-strings.ts'
import { createBadWords } from '../sampling/bad-words.ts'

const letters = [...'abcdefghijklmnopqrstuvwxyz ']
const pieces = ['sm', 'all', 'small', ' small', 'ller', 'smal', 'allow', '<end>', '<sm>', [0xc3], [0xa9], 'é']
const tokens = [...letters, ...pieces]
const vocabulary = listedVocabulary({ tokens, ends: [tokens.indexOf('<end>')] })
const ids = (...texts: (string | number)[]) =>
  texts.map((text) =>
    tokens.findIndex((token) => (Array.isArray(token) ? token[0] === text : token === text)),
  )

interface Shown {
  skipSpecial?: boolean
  spaceSpecial?: boolean
  silent?: string
}

function banning(words: string[], { skipSpecial = true, spaceSpecial = true, silent = '<end>' }: Shown = {}) {
  const badWords = createBadWords(words, vocabulary, {
    skipSpecial,
    spaceSpecial,
    isSilent: (token) => tokens[token] === silent,
  })
  return badWords ?? assert.fail()
}

/** The state after these tokens, none of which completes a banned text. */
function stateAfter(badWords: ReturnType<typeof banning>, answer: number[]): number {
  return answer.reduce((state, token) => badWords.after(state, token) ?? assert.fail(), 0)
}

test('an empty list bans nothing', () => {
  const shown = { skipSpecial: true, spaceSpecial: true, isSilent: () => false }
  assert.equal(createBadWords([], vocabulary, shown), undefined)
})

for (const { words = ['small'], answer = [], banned, free = [], shown } of [
  { banned: ids('small', ' small'), free: ids('s', 'sm', 'all', 'smal', ' ') },
  { words: [' small'], banned: ids('small', ' small') },
  { answer: ids('sm'), banned: ids('all', 'allow'), free: ids('ller', 'a', 's', 'sm') },
  { answer: ids('s', 'm', 'a', 'l'), banned: ids('l', 'ller'), free: ids('a', 'all') },
  { answer: ids('a', ' ', 'smal'), banned: ids('l', 'ller') },
  { answer: ids('sm', ' '), banned: ids('small'), free: ids('all') },
  { words: ['Small'], banned: [], free: ids('small') },
  { words: ['maller', 'smart', 'lls'], answer: ids('sm', 'a'), banned: ids('ller'), free: ids('l', 'all') },
  { words: ['maller', 'smart', 'lls'], answer: ids('sm', 'all'), banned: ids('s', 'sm', 'small') },
  { words: ['é'], banned: ids('é'), free: ids(0xc3, 0xa9) },
  { words: ['é'], answer: ids(0xc3), banned: ids(0xa9, 'é'), free: ids('a') },
  { words: [' '], banned: ids(' ', ' small'), free: ids('small') },
  { answer: ids('sm', '<sm>'), banned: ids('all'), free: ids('<sm>', '<end>') },
  { answer: ids('sm', '<sm>'), shown: { skipSpecial: false }, banned: [], free: ids('all', '<sm>') },
  { words: ['<sm> <'], answer: ids('<sm>'), shown: { skipSpecial: false }, banned: ids('<sm>') },
  {
    words: ['<sm> <'],
    answer: ids('<sm>'),
    shown: { skipSpecial: false, spaceSpecial: false },
    banned: [],
    free: ids('<sm>'),
  },
  { words: ['end', 'all'], shown: { skipSpecial: false }, banned: ids('all'), free: ids('<end>') },
  {
    words: ['end', 'all'],
    shown: { skipSpecial: false, silent: 'all' },
    banned: ids('<end>'),
    free: ids('all'),
  },
]) {
  const said = answer.map((token) => String(tokens[token])).join('')
  test(`${JSON.stringify({ words, ...shown })} bans the tokens that would complete a word after ${JSON.stringify(said)}`, () => {
    const badWords = banning(words, shown)
    const state = stateAfter(badWords, answer)
    const rule = badWords.rule(() => state, undefined)
    for (const token of banned) assert.equal(rule.allows(token), false, String(tokens[token]))
    for (const token of free) assert.equal(rule.allows(token), true, String(tokens[token]))
  })
}

test('a banned text never appears, whatever tokens are drawn, and the mask agrees', () => {
  const word = fc.string({
    unit: fc.constantFrom('a', 'l', 's', 'm', ' ', 'é', '<'),
    minLength: 1,
    maxLength: 4,
  })
  fc.assert(
    fc.property(
      fc.array(word, { minLength: 1, maxLength: 4 }),
      fc.array(fc.nat(tokens.length - 1), { maxLength: 60 }),
      fc.boolean(),
      fc.boolean(),
      (words, drawn, skipSpecial, spaceSpecial) => {
        const badWords = banning(words, { skipSpecial, spaceSpecial, silent: 'none' })
        const text = (answer: number[]) => {
          const stops = createStopStrings([])
          const written = createAnswerText(vocabulary, {
            skipSpecial,
            spaceSpecial,
            includeStop: true,
            stops,
          })
          return answer.map((token) => written.push(token, false).text).join('')
        }
        const isBad = (shown: string) => words.some((banned) => shown.includes(banned.trimStart() || banned))
        const answer: number[] = []
        let state = 0
        for (const token of drawn) {
          const next = badWords.after(state, token)
          assert.equal(next === undefined, isBad(text([...answer, token])))
          if (next === undefined) continue
          answer.push(token)
          state = next
        }
        const rule = badWords.rule(() => state, undefined)
        const mask = rule.mask()
        for (const token of tokens.keys()) assert.equal(isInMask(mask, token), rule.allows(token))
        assert.equal(mask.count, [...tokens.keys()].filter(rule.allows).length)
      },
    ),
    { numRuns: 300 },
  )
})

test('together with another rule, only tokens that both allow may follow', () => {
  const badWords = banning(['small'])
  const maskOf = banning(['s'])
    .rule(() => 0, undefined)
    .mask()
  const few = ids('all', 'a', '<end>')
  const other = { allows: (token: number) => isInMask(maskOf, token), few: () => few, mask: () => maskOf }
  const state = stateAfter(badWords, ids('sm'))
  const rule = badWords.rule(() => state, other)
  assert.deepEqual(rule.few(), ids('a', '<end>'))
  assert.deepEqual(ids('all', 's', 'a').map(rule.allows), [false, false, true])
  for (const token of tokens.keys()) assert.equal(isInMask(rule.mask(), token), rule.allows(token))
  assert.equal(badWords.rule(() => 0, other).few(), few, 'a list without banned tokens stays the same')
})
