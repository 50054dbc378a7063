import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bannedSequences, createBadWords } from '../../../src/inference/sampling/bad-words.ts'
import { listedVocabulary } from '../../support/listed-vocabulary.ts'

const letters = [...'abcdefghijklmnopqrstuvwxyz ']
const { tokenize } = listedVocabulary({ tokens: [...letters, 'cat', ' cat', 'dog', 'in', ' hot', 'hot'] })
const id = (token: string) => tokenize(token)[0] as number

for (const [word, sequences] of [
  ['cat', [[id('cat')], [id(' cat')]]],
  [' cat', [[id('cat')], [id(' cat')]]],
  // With a space it is two tokens, without it one.
  ['dog', [[id('dog')]]],
  [
    'hotdog',
    [
      [id('hot'), id('dog')],
      [id(' hot'), id('dog')],
    ],
  ],
  [' ', [[id(' ')]]],
] as const) {
  test(`${JSON.stringify(word)} is spelled by ${sequences.length} sequences`, () => {
    assert.deepEqual(bannedSequences([word], tokenize), sequences)
  })
}

function bannedAfter(sequences: number[][], answer: number[]): number[] {
  const found: number[] = []
  createBadWords(sequences)(answer, (token) => found.push(token))
  return found
}

for (const { sequences, answer, banned } of [
  { sequences: [[5]], answer: [], banned: [5] },
  { sequences: [[5]], answer: [1, 2], banned: [5] },
  { sequences: [[1, 2, 3]], answer: [], banned: [] },
  { sequences: [[1, 2, 3]], answer: [2], banned: [] },
  { sequences: [[1, 2, 3]], answer: [1, 2], banned: [3] },
  { sequences: [[1, 2, 3]], answer: [9, 1, 2], banned: [3] },
  { sequences: [[1, 2, 3]], answer: [1, 2, 9], banned: [] },
  { sequences: [[1, 2, 3], [2, 7], [4]], answer: [1, 2], banned: [4, 3, 7] },
  { sequences: [[2, 2, 2]], answer: [2, 2, 2], banned: [2] },
]) {
  test(`after ${JSON.stringify(answer)} ${JSON.stringify(sequences)} bans ${JSON.stringify(banned)}`, () => {
    assert.deepEqual(bannedAfter(sequences, answer), banned)
  })
}
