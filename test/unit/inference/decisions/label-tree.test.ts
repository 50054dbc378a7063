import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type LabelPath,
  labelTreeOf,
  scoreLabels,
  sharesOf,
} from '../../../../src/inference/decisions/label-tree.ts'
import { labelsOf, maxOptions, ordersOf } from '../../../../src/inference/decisions/wording.ts'
import { choiceConfidence, scoreConfidence, scoreOf } from '../../../../src/operations/decisions/shares.ts'

/** A model by the probabilities of the next token after each path. */
const modelOf = (after: Record<string, Record<number, number>>) => {
  const asked: string[] = []
  return {
    asked,
    async read(path: readonly number[], tokens: readonly number[]) {
      asked.push(path.join())
      const next = after[path.join()] ?? {}
      const entries = Object.entries(next).sort(([, a], [, b]) => b - a)
      return {
        likeliest: Number(entries[0]?.[0] ?? -1),
        logprobs: new Map(tokens.map((token) => [token, Math.log(next[token] ?? 0)])),
      }
    },
  }
}

const close = (actual: readonly number[], expected: readonly number[], within = 1e-6) => {
  assert.equal(actual.length, expected.length)
  for (const [index, value] of expected.entries()) {
    assert.ok(Math.abs((actual[index] as number) - value) < within, `${actual} is not ${expected}`)
  }
}

async function scored(paths: LabelPath[], count: number, after: Record<string, Record<number, number>>) {
  const model = modelOf(after)
  const { logprobs, isLikeliest } = await scoreLabels(labelTreeOf(paths), count, model.read)
  return { ...sharesOf(logprobs), isLikeliest, asked: model.asked }
}

test('the spellings of a label add up', async () => {
  const paths = [
    { label: 0, tokens: [1] },
    { label: 0, tokens: [2] },
    { label: 1, tokens: [3] },
    { label: 1, tokens: [4] },
  ]
  const { probabilities, mass, isLikeliest } = await scored(paths, 2, {
    '': { 1: 0.4, 2: 0.3, 3: 0.2, 4: 0.04 },
  })
  close(probabilities, [0.744681, 0.255319])
  close([mass], [0.94])
  assert.ok(isLikeliest)
})

test('labels that begin alike share the beginning, and length costs nothing', async () => {
  const paths = [
    { label: 0, tokens: [10, 11] },
    { label: 1, tokens: [10, 12] },
    { label: 2, tokens: [20] },
  ]
  const after = { '': { 10: 0.5, 20: 0.1, 7: 0.4 }, '10': { 11: 0.2, 12: 0.6 } }
  const { probabilities, mass, asked } = await scored(paths, 3, after)
  close(probabilities, [0.2, 0.6, 0.2])
  close([mass], [0.5])
  assert.deepEqual(asked, ['', '10'])
})

test('a label may begin with another, which ends there too', async () => {
  const paths = [
    { label: 0, tokens: [1] },
    { label: 1, tokens: [1, 2] },
  ]
  close((await scored(paths, 2, { '': { 1: 0.5 }, '1': { 2: 0.5 } })).probabilities, [2 / 3, 1 / 3])
})

test('a beginning that cannot matter is not read', async () => {
  const paths = [
    { label: 0, tokens: [1] },
    { label: 1, tokens: [2, 3] },
    { label: 2, tokens: [4, 5] },
  ]
  const { asked } = await scored(paths, 3, { '': { 1: 0.9, 2: 1e-9, 4: 0.01 }, '4': { 5: 1 } })
  assert.deepEqual(asked, ['', '4'])
})

test('labels without any probability are equal, and have no mass', () => {
  assert.deepEqual(sharesOf([-Infinity, -Infinity]), { probabilities: [0.5, 0.5], mass: 0 })
})

test('no label begins with another one, however many there are', () => {
  for (const count of [2, 10, 26, 27, maxOptions]) {
    const options = Array.from({ length: count }, (_, index) => ({ name: `n${index}` }))
    const labels = labelsOf({ kind: 'choice', options }).map(([label]) => label as string)
    assert.equal(new Set(labels).size, count)
    for (const label of labels) {
      assert.deepEqual(
        labels.filter((other) => other.startsWith(label)),
        [label],
      )
    }
  }
})

test('options of a choice are turned and reversed; levels are not', () => {
  const options = Array.from({ length: 4 }, (_, index) => ({ name: `n${index}` }))
  const question = { kind: 'choice' as const, field: 'q', text: 'x', options }
  assert.deepEqual(ordersOf(question, 4), [
    [0, 1, 2, 3],
    [3, 2, 1, 0],
    [2, 3, 0, 1],
    [1, 0, 3, 2],
  ])
  assert.deepEqual(ordersOf({ ...question, options: options.slice(2) }, 8), [
    [0, 1],
    [1, 0],
  ])
  assert.deepEqual(ordersOf({ ...question, kind: 'score' }, 4), [[0, 1, 2, 3]])
  for (let count = 2; count <= 10; count++) {
    const many = Array.from({ length: count }, (_, index) => ({ name: `n${index}` }))
    for (let orders = 1; orders <= 8; orders++) {
      const different = new Set(ordersOf({ ...question, options: many }, orders).map(String))
      assert.equal(different.size, Math.min(orders, count), `${orders} orders of ${count}`)
    }
  }
})

test('confidence is the sharpness of the whole distribution', () => {
  close([choiceConfidence([0.7, 0.2, 0.1]), choiceConfidence([1 / 3, 1 / 3, 1 / 3])], [0.55, 0])
  assert.equal(choiceConfidence([1]), 1)
  const levels = [0.0023, 0.116, 0.6753, 0.2064]
  close([scoreConfidence(levels), scoreOf(levels)], [0.673, 2.0858], 1e-3)
  close([scoreConfidence([0.7, 0.2, 0.1])], [0.4])
})
