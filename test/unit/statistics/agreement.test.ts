import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  cohenKappa,
  coincidencesOf,
  confusionOf,
  gwetAc1,
  krippendorffAlpha,
} from '../../../src/domain/statistics/agreement.ts'
import { correctedShare, labelsToPromise, thresholdOf } from '../../../src/domain/statistics/flagged.ts'
import { seededNumbers, shareOf } from '../../../src/domain/statistics/intervals.ts'

const near = (actual: number | null | undefined, expected: number, within = 1e-6) =>
  assert.ok(Math.abs((actual ?? Number.NaN) - expected) <= within, `${actual} is not ${expected}`)

/** Rows are what people said: fail, pass. */
const worked = [
  [30, 10],
  [2, 78],
]

test('the worked example of a judge and a person', () => {
  near(cohenKappa(worked), 0.763158)
  near(gwetAc1(worked), 0.827586)
  const shares: [number, number, number, number, number][] = [
    [108, 120, 0.9, 0.833318, 0.941866],
    [30, 40, 0.75, 0.59806, 0.858129],
    [78, 80, 0.975, 0.913356, 0.993117],
    [30, 32, 0.9375, 0.798529, 0.982689],
  ]
  for (const [count, of, value, low, high] of shares) {
    const share = shareOf(count, of)
    near(share?.value, value)
    near(share?.low, low)
    near(share?.high, high)
  }
  assert.equal(shareOf(0, 0), null)
})

test('one frequent answer, levels, and a single answer', () => {
  const paradox = [
    [90, 5],
    [5, 0],
  ]
  near(cohenKappa(paradox), -0.052632)
  near(gwetAc1(paradox), 0.889503)
  const levels = [
    [11, 3, 1, 0],
    [1, 9, 0, 1],
    [0, 1, 10, 0],
    [1, 2, 0, 10],
  ]
  near(cohenKappa(levels), 0.733475)
  near(cohenKappa(levels, true), 0.766355)
  const single = [
    [7, 0],
    [0, 0],
  ]
  assert.equal(cohenKappa(single), null)
  assert.equal(gwetAc1(single), 1)
  assert.deepEqual(
    confusionOf(
      [
        { human: 1, judge: 0 },
        { human: 1, judge: 0 },
      ],
      2,
    ),
    [
      [0, 0],
      [2, 0],
    ],
  )
})

test('three raters of ten calls', () => {
  const first = [3, 3, 3, 2, 3, 1, 3, 0, 3, 2]
  const counts = coincidencesOf(
    first.map((count) => [0, 1, 2].map((rater) => (rater < count ? 0 : 1))),
    2,
  )
  near(cohenKappa(counts), 0.440994)
  near(gwetAc1(counts), 0.688581)
  const single = coincidencesOf([[0, 0, 0], [0]], 2)
  assert.deepEqual(single, [
    [3, 0],
    [0, 0],
  ])
  assert.deepEqual([cohenKappa(single), krippendorffAlpha(single)], [null, null])
})

/** A call in each word, an answer in each digit, from 1. */
const coincidencesIn = (words: string, categories: number) =>
  coincidencesOf(
    words.split(' ').map((word) => Array.from(word, (digit) => Number(digit) - 1)),
    categories,
  )

test('α of answers that are partly missing: of names and of levels, by hand and as published', () => {
  // Two agree about two of three calls. Of six answers a is given 3 times, b 3 times: 1 - 5 · 2 ÷ (2 · 9).
  near(krippendorffAlpha(coincidencesIn('11 22 12', 2)), 4 / 9)
  for (const [words, levels, nominal, ordinal] of [
    ['111 112 222 233 123 333 22 1', 3, 0.496212, 0.604167],
    ['111 2232 3333 3333 2222 1234 4444 1121 2222 555 11 3', 5, 0.743421, 0.815388],
  ] as const) {
    near(krippendorffAlpha(coincidencesIn(words, levels)), nominal)
    near(krippendorffAlpha(coincidencesIn(words, levels), true), ordinal)
  }
  // With as many answers to each call, names are told apart as by Fleiss, but for the size of the sample.
  const counts = coincidencesIn('112 122 111 333 313', 3)
  near(1 - (krippendorffAlpha(counts) ?? 0), (1 - (cohenKappa(counts) ?? 0)) * (14 / 15))
})

test('the share of positive calls is corrected for the errors of the judge, as published', () => {
  const truePositive = { count: 78, of: 80 }
  const trueNegative = { count: 30, of: 40 }
  const share = correctedShare({ flagged: 320, of: 400, truePositive, trueNegative })
  near(share?.value, 0.758621)
  near(share?.low, 0.672878)
  near(share?.high, 0.841369)
  for (const useless of [
    { truePositive: { count: 20, of: 40 }, trueNegative: { count: 21, of: 40 } },
    { truePositive: { count: 2, of: 2 }, trueNegative: { count: 0, of: 3 } },
    { truePositive: { count: 0, of: 0 }, trueNegative: { count: 3, of: 3 } },
  ]) {
    assert.equal(correctedShare({ flagged: 20, of: 40, ...useless }), undefined)
  }
})

function binomial(next: () => number, of: number, share: number): number {
  let count = 0
  for (let n = 0; n < of; n++) if (next() < share) count++
  return count
}

test('the interval of the corrected share holds the truth in about 95 of 100 samples', () => {
  const next = seededNumbers(5)
  const [theta, sensitivity, specificity] = [0.2, 0.85, 0.9]
  let held = 0
  const samples = 1_000
  for (let sample = 0; sample < samples; sample++) {
    const flagged = binomial(next, 500, theta * sensitivity + (1 - theta) * (1 - specificity))
    const share = correctedShare({
      flagged,
      of: 500,
      truePositive: { count: binomial(next, 60, sensitivity), of: 60 },
      trueNegative: { count: binomial(next, 60, specificity), of: 60 },
    })
    if (share && share.low <= theta && theta <= share.high) held++
  }
  assert.ok(held / samples > 0.93 && held / samples < 0.99, `${held} of ${samples}`)
})

test('a promised share of right flags is kept in 95 of 100 samples, and few labels promise nothing', () => {
  const next = seededNumbers(9)
  let found = 0
  let broken = 0
  const samples = 300
  for (let sample = 0; sample < samples; sample++) {
    // Calibrated: of the calls at p, the share p is right; above t it is (1 + t) / 2.
    const claims = Array.from({ length: 400 }, () => {
      const probability = next()
      return { probability, isRight: next() < probability }
    })
    const all = claims.map(({ probability }) => probability)
    const { found: threshold } = thresholdOf(claims, all, 0.8)
    if (threshold === undefined) continue
    found++
    if ((1 + threshold.threshold) / 2 < 0.8) broken++
  }
  assert.ok(found > samples / 2, `${found} found`)
  assert.ok(broken / samples <= 0.05, `${broken} of ${samples}`)

  const few = Array.from({ length: 20 }, (_, n) => ({ probability: 0.5 + n / 50, isRight: true }))
  const outcome = thresholdOf(
    few,
    few.map(({ probability }) => probability),
    0.9,
  )
  assert.equal(outcome.found, undefined)
  assert.equal(outcome.best?.right, 20)
  assert.equal(labelsToPromise(0.9), 60)
  assert.equal(thresholdOf([], [0.5], 0.9).best, undefined)
})
