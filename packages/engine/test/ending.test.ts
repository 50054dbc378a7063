import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listedVocabulary } from '../../../test/support/listed-vocabulary.ts'
import { bannedEnds, createEndCheck, type End, endTokens } from '../answer/ending.ts'
import type { Ending } from '../backend.ts'

/** Token 7 ends the text, token 8 a turn. */
const vocabulary = listedVocabulary({ tokens: [...'abcdefg', '</s>', '<end>', 'h'], eos: 7, ends: [8] })
const plain: Ending = { minTokens: 0, stop: [], stopTokens: [], ignoreEos: false, includeStop: false }
const thrice = { minPattern: 1, maxPattern: 1, count: 3 }

/** The number of tokens up to the one that ends the answer, and how it ends. */
function endsAt(ending: Partial<Ending>, maxTokens: number, tokens: number[]): [number, End] | undefined {
  const whole = { ...plain, ...ending }
  const check = createEndCheck(whole, endTokens(whole, vocabulary), maxTokens)
  for (let length = 1; length <= tokens.length; length++) {
    const end = check(tokens.slice(0, length))
    if (end) return [length, end]
  }
  return undefined
}

const eos = { reason: 'stop', stop: null } as const
const length = { reason: 'length', stop: null } as const
const repetition = { reason: 'repetition', stop: 'repetition_detected' } as const
const stopped = (stop: number) => ({ reason: 'stop', stop }) as const

for (const [title, ending, maxTokens, tokens, expected] of [
  ['the end of text names no token', {}, 9, [1, 7], [2, eos]],
  ['the end of a turn names its token', {}, 9, [1, 8], [2, stopped(8)]],
  ['a stop token is named', { stopTokens: [3] }, 9, [1, 3, 7], [2, stopped(3)]],
  ['the end of text as a stop token is the end of text', { stopTokens: [7] }, 9, [7], [1, eos]],
  ['ends can be ignored', { ignoreEos: true }, 4, [7, 8, 1, 2], [4, length]],
  ['stop tokens cannot be ignored', { ignoreEos: true, stopTokens: [7] }, 9, [1, 7], [2, stopped(7)]],
  ['the maximum length ends the answer', {}, 2, [1, 2, 3], [2, length]],
  ['the end of text takes precedence over the length', {}, 2, [1, 7], [2, eos]],
  ['the length takes precedence over a repetition', { repetition: thrice }, 3, [1, 1, 1], [3, length]],
  ['a repetition ends the answer', { repetition: thrice }, 9, [2, 1, 1, 1], [4, repetition]],
  [
    'a stop token takes precedence over a repetition',
    { repetition: thrice, stopTokens: [1], minTokens: 3 },
    9,
    [1, 1, 1],
    [3, stopped(1)],
  ],
  [
    'nothing ends the answer before the minimum length',
    { minTokens: 4, repetition: thrice },
    9,
    [7, 1, 1, 1],
    [4, repetition],
  ],
  [
    'repetitions before the minimum length count afterwards',
    { minTokens: 5, repetition: thrice },
    9,
    [2, 1, 1, 1, 1, 1],
    [5, repetition],
  ],
  ['the length is never exceeded', { minTokens: 5 }, 2, [1, 2, 3], [2, length]],
  ['otherwise an answer continues', { repetition: thrice }, 9, [1, 2, 3], undefined],
] as [string, Partial<Ending>, number, number[], [number, End] | undefined][]) {
  test(title, () => {
    assert.deepEqual(endsAt(ending, maxTokens, tokens), expected)
  })
}

test('all end tokens are banned before the minimum length, ignored or not', () => {
  assert.deepEqual(bannedEnds({ ...plain, stopTokens: [3, 7] }, vocabulary).sort(), [3, 7, 8])
  assert.deepEqual(bannedEnds({ ...plain, ignoreEos: true }, vocabulary).sort(), [7, 8])
})
