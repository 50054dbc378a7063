import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainSampling, type Sampling } from '../backend.ts'
import { createAdjustments, planAdjustments } from '../sampling/adjustments.ts'
import { createRandom } from '../sampling/random.ts'
import { createSampler } from '../sampling/sampler.ts'

function adjustmentsOf(sampling: Partial<Sampling>, banned: number[] = []) {
  const plan = planAdjustments({
    sampling: { ...plainSampling, ...sampling },
    minTokens: banned.length,
    bannedEnds: banned,
    prompt: [],
  })
  return plan && createAdjustments(plan)
}

function drawn(
  sampling: Partial<Sampling>,
  logits: ArrayLike<number>,
  number: number,
  banned: number[] = [],
): number | undefined {
  const adjustments = adjustmentsOf(sampling, banned)
  const sample = createSampler({ ...plainSampling, ...sampling }, adjustments, () => number)
  return sample(Float32Array.from(logits), [])
}

/** Logits with the probabilities 1/2, 1/4, 1/8 and 1/8 of the tokens 2, 0, 1 and 3. */
const halves = [Math.log(2), 0, Math.log(4), 0]

for (const [title, sampling, expected] of [
  [
    'tokens are ordered by probability, and equal ones by number',
    {},
    [
      [0, 2],
      [0.49, 2],
      [0.51, 0],
      [0.74, 0],
      [0.76, 1],
      [0.87, 1],
      [0.88, 3],
      [0.999999, 3],
    ],
  ],
  // The weights become 16, 4, 1 and 1.
  [
    'temperature sharpens',
    { temperature: 0.5 },
    [
      [0.72, 2],
      [0.73, 0],
      [0.9, 0],
      [0.91, 1],
      [0.95, 1],
      [0.96, 3],
    ],
  ],
  // The weights become 2, √2, 1 and 1.
  [
    'temperature flattens',
    { temperature: 2 },
    [
      [0.36, 2],
      [0.37, 0],
      [0.63, 0],
      [0.64, 1],
      [0.81, 1],
      [0.82, 3],
    ],
  ],
  ['temperature 0 takes the likeliest token', { temperature: 0 }, [[0.999, 2]]],
  ['a temperature that is nearly 0 takes the likeliest token', { temperature: 9e-6 }, [[0.999, 2]]],
  [
    'top_k keeps that many tokens',
    { topK: 2 },
    [
      [0.66, 2],
      [0.67, 0],
      [0.999, 0],
    ],
  ],
  ['top_k cuts between equally likely tokens', { topK: 3 }, [[0.999, 1]]],
  ['top_k 1 leaves no choice', { topK: 1 }, [[0.999, 2]]],
  ['top_k beyond the vocabulary is off', { topK: 99 }, [[0.88, 3]]],
  ['top_p keeps the fewest tokens that reach it', { topP: 0.5 }, [[0.999, 2]]],
  [
    'top_p keeps the token that exceeds it',
    { topP: 0.51 },
    [
      [0.66, 2],
      [0.67, 0],
      [0.999, 0],
    ],
  ],
  ['top_p keeps at least one token', { topP: 1e-9 }, [[0.999, 2]]],
  // Of 4/7, 2/7, 1/7 the first two reach 0.8.
  ['top_p is applied to what top_k has left', { topK: 3, topP: 0.8 }, [[0.999, 0]]],
  [
    'min_p is relative to the likeliest token',
    { minP: 0.4 },
    [
      [0.66, 2],
      [0.67, 0],
      [0.999, 0],
    ],
  ],
  ['min_p 1 keeps only the likeliest token', { minP: 1 }, [[0.999, 2]]],
  // The weights are 16, 4, 1 and 1: a quarter of the greatest is kept, a sixteenth is not.
  [
    'min_p is applied after the temperature',
    { temperature: 0.5, minP: 0.2 },
    [
      [0.79, 2],
      [0.81, 0],
      [0.999, 0],
    ],
  ],
  // 4/6 and 2/6 are left.
  ['top_p is applied to what min_p has left', { minP: 0.4, topP: 0.6 }, [[0.999, 2]]],
  [
    'bias is added before the draw',
    { bias: [[3, Math.log(4)]] },
    [
      [0.36, 2],
      [0.37, 3],
      [0.72, 3],
      [0.73, 0],
    ],
  ],
  ['bias applies at temperature 0', { temperature: 0, bias: [[1, 5]] }, [[0.5, 1]]],
] as [string, Partial<Sampling>, [number, number][]][]) {
  test(title, () => {
    for (const [number, token] of expected) {
      assert.equal(drawn(sampling, halves, number), token, `at ${number}`)
    }
  })
}

test('temperatures below 0.01 count as 0.01', () => {
  const close = [0, -0.005]
  const sharpest = Math.exp(0) / (1 + Math.exp(-0.5))
  for (const temperature of [0.01, 0.001, 1e-5]) {
    assert.equal(drawn({ temperature }, close, sharpest - 0.001), 0)
    assert.equal(drawn({ temperature }, close, sharpest + 0.001), 1)
  }
})

test('no token is drawn when all are banned', () => {
  assert.equal(drawn({}, [1, 2], 0.5, [0, 1]), undefined)
  assert.equal(drawn({ temperature: 0 }, [1, 2], 0.5, [0, 1]), undefined)
  assert.equal(drawn({ topK: 1, topP: 0.5, minP: 0.1 }, [1, 2], 0.5, [0, 1]), undefined)
})

/** Token 0 is the likeliest, and each later token is less likely. */
function descending(count: number, step: number): Float32Array {
  return Float32Array.from({ length: count }, (_, token) => -step * token)
}

test('a draw far down the line is exact', () => {
  assert.equal(drawn({}, new Float32Array(50_000), 0.5), 25_000)
  assert.equal(drawn({}, descending(50_000, 0.001), 1 - Math.exp(-3)), 3000)
})

test('lowered tokens weigh less, however far down they are', () => {
  const position = descending(50_000, 0.001)
  const bias = Array.from({ length: 100 }, (_, i): [number, number] => [2000 + i, -5])
  // The sum of all weights is 1,000, and the lowered tokens weigh 13 less than before.
  assert.equal(drawn({ bias }, position, 0.3), 351)
})

test('banned tokens are excluded, also when a bias lifts others', () => {
  const position = descending(5000, 1e-9)
  const bias = [0, 1, 2].map((token): [number, number] => [token, 1e-9])
  // 4,997 of 5,000 tokens with equal weights remain: the draw falls on the 1,000th, not on the one after it.
  assert.equal(drawn({ bias }, position, 0.2001, [4000, 4001, 4002]), 999)
})

test('tokens that a negative penalty lifts weigh more', () => {
  // Half of the weight is on token 0; 100 of the others are in the answer and weigh e² = 7.4 times as much.
  const values = Float32Array.from({ length: 5000 }, (_, token) =>
    token === 0 ? Math.log(4999) : -1e-9 * token,
  )
  const sampling = { ...plainSampling, presencePenalty: -2 }
  const adjustments = adjustmentsOf(sampling)
  for (let token = 4900; token < 5000; token++) adjustments?.accept(token)
  // 0.485 of 10,637 is 160 after the end of token 0: on the 22nd of the 100.
  const sample = createSampler(sampling, adjustments, () => 0.485)
  assert.equal(sample(values, []), 4921)
})

test('over many draws, tokens occur as often as expected', () => {
  const sample = createSampler(plainSampling, undefined, createRandom(1n))
  const counts = [0, 0, 0, 0]
  for (let i = 0; i < 8000; i++) {
    const token = sample(Float32Array.from(halves), []) as number
    counts[token] = (counts[token] ?? 0) + 1
  }
  const expected = [2000, 1000, 4000, 1000]
  // Chi-square with 3 degrees of freedom exceeds 16 once in a thousand times; the seed is fixed.
  const chiSquare = expected.reduce((sum, count, i) => sum + ((counts[i] ?? 0) - count) ** 2 / count, 0)
  assert.ok(chiSquare < 16, `${counts}`)
})
