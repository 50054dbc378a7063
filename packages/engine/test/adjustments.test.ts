import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainSampling, type Sampling } from '../backend.ts'
import { createAdjustments, planAdjustments } from '../sampling/adjustments.ts'

function plan(sampling: Partial<Sampling>, parts: Partial<Parameters<typeof planAdjustments>[0]> = {}) {
  return planAdjustments({
    sampling: { ...plainSampling, ...sampling },
    vocabulary: 10,
    minTokens: 0,
    bannedEnds: [9],
    prompt: [],
    isPossible: () => true,
    ...parts,
  })
}

test('settings that are off change nothing', () => {
  assert.equal(plan({}), undefined)
  assert.equal(plan({ bias: [[3, 0]] }), undefined)
})

/** Token 1 is in the prompt, token 2 twice in the answer, token 3 once in each of them. */
for (const [title, sampling, [ofOne, ofTwo, ofThree, ofNegativeTwo]] of [
  ['a frequency penalty counts the tokens of the answer', { frequencyPenalty: 0.5 }, [4, 3, 3.5, -5]],
  ['a negative frequency penalty lifts', { frequencyPenalty: -0.5 }, [4, 5, 4.5, -3]],
  [
    'a presence penalty applies once to each token of the answer',
    { presencePenalty: 1.5 },
    [4, 2.5, 2.5, -5.5],
  ],
  [
    'a repetition penalty divides or multiplies, for prompt and answer',
    { repetitionPenalty: 2 },
    [2, 2, 2, -8],
  ],
  ['a repetition penalty below 1 lifts', { repetitionPenalty: 0.5 }, [8, 8, 8, -2]],
  ['bias is added', { bias: [[2, -3]] }, [4, 1, 4, -7]],
  [
    'bias given twice is added twice',
    {
      bias: [
        [2, -3],
        [2, 1],
      ],
    },
    [4, 2, 4, -6],
  ],
  ['bias is added before the repetition penalty', { repetitionPenalty: 2, bias: [[2, -6]] }, [2, -4, 2, -20]],
  [
    'the repetition penalty comes before frequency and presence penalties',
    { repetitionPenalty: 2, frequencyPenalty: 0.5, presencePenalty: 1 },
    [2, 0, 0.5, -10],
  ],
] as const) {
  test(title, () => {
    const planned = plan(sampling as Partial<Sampling>, { prompt: [1, 3, 1] })
    assert.ok(planned)
    const adjustments = createAdjustments(planned)
    const answer = [2, 3, 2]
    for (const token of answer) adjustments.accept(token)
    adjustments.prepare(answer.length)
    assert.deepEqual(
      [
        adjustments.of(1, 4),
        adjustments.of(2, 4),
        adjustments.of(3, 4),
        adjustments.of(2, -4),
        adjustments.of(5, 4),
      ],
      [ofOne, ofTwo, ofThree, ofNegativeTwo, 4],
    )
  })
}

test('all ends are banned before the minimum length, whatever their bias', () => {
  const planned = plan({ bias: [[9, 50]] }, { minTokens: 2, bannedEnds: [8, 9] })
  assert.ok(planned)
  const adjustments = createAdjustments(planned)
  const endsAfter = (answer: number[]) => {
    adjustments.prepare(answer.length)
    return [adjustments.of(8, 1), adjustments.of(9, 1)]
  }
  assert.deepEqual(endsAfter([]), [-Infinity, -Infinity])
  assert.deepEqual(endsAfter([1]), [-Infinity, -Infinity])
  assert.deepEqual(endsAfter([1, 1]), [1, 51])
})

test('tokens with a positive bias are lifted, and other changed tokens are counted', () => {
  const planned = plan({
    bias: [
      [1, 5],
      [2, -5],
    ],
    frequencyPenalty: 1,
  })
  assert.ok(planned)
  const adjustments = createAdjustments(planned)
  assert.deepEqual([adjustments.lifted, adjustments.touched], [[1], 1])
  for (const token of [2, 6, 6, 1]) adjustments.accept(token)
  assert.deepEqual([adjustments.lifted, adjustments.touched], [[1], 2])
  assert.deepEqual([0, 1, 2, 6].map(adjustments.isTouched), [false, true, true, true])
  assert.deepEqual([0, 1, 2, 6].map(adjustments.isLifted), [false, true, false, false])
})

for (const [title, sampling, ofThree, ofNegativeThree] of [
  ['penalties do not raise it', { frequencyPenalty: 1, presencePenalty: 1, repetitionPenalty: 2 }, 3, -3],
  ['a repetition penalty below 1 raises it', { repetitionPenalty: 0.5 }, 6, -1.5],
  ['a negative frequency penalty raises it each time', { frequencyPenalty: -1 }, 5, -1],
  ['a negative presence penalty raises it once', { presencePenalty: -1 }, 4, -2],
  ['penalties of both signs are added', { frequencyPenalty: 0.25, presencePenalty: -1 }, 3.75, -2.25],
] as const) {
  test(`the greatest logit that is possible: ${title}`, () => {
    const planned = plan(sampling, { prompt: [1] })
    assert.ok(planned)
    const adjustments = createAdjustments(planned)
    for (const token of [4, 4, 5]) adjustments.accept(token)
    assert.deepEqual([adjustments.ceiling(3), adjustments.ceiling(-3)], [ofThree, ofNegativeThree])
  })
}

test('tokens that are not allowed count neither as lifted nor as changed', () => {
  const planned = plan(
    {
      bias: [
        [1, 5],
        [2, 5],
      ],
      repetitionPenalty: 2,
      presencePenalty: 1,
    },
    { prompt: [1, 2, 3], minTokens: 1, isPossible: (token) => token === 1 || token === 4 },
  )
  assert.ok(planned)
  const adjustments = createAdjustments(planned)
  adjustments.accept(5)
  adjustments.accept(4)
  adjustments.prepare(0)
  assert.deepEqual([adjustments.lifted, adjustments.touched], [[1], 1])
})
