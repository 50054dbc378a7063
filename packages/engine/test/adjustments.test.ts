import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainSampling, type Sampling } from '../backend.ts'
import { createAdjustments, planAdjustments } from '../sampling/adjustments.ts'

function plan(sampling: Partial<Sampling>, parts: Partial<Parameters<typeof planAdjustments>[0]> = {}) {
  return planAdjustments({
    sampling: { ...plainSampling, ...sampling },
    minTokens: 0,
    bannedEnds: [9],
    prompt: [],
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
    const adjusted = (logit: number) => [
      ...adjustments.applied(new Float32Array(10).fill(logit), answer.length),
    ]
    const [, one, two, three, , other] = adjusted(4)
    assert.deepEqual([one, two, three, adjusted(-4)[2], other], [ofOne, ofTwo, ofThree, ofNegativeTwo, 4])
  })
}

test('all ends are banned before the minimum length, whatever their bias', () => {
  const planned = plan({ bias: [[9, 50]] }, { minTokens: 2, bannedEnds: [8, 9] })
  assert.ok(planned)
  const adjustments = createAdjustments(planned)
  const endsAfter = (answer: number[]) => {
    return [...adjustments.applied(new Float32Array(10).fill(1), answer.length).subarray(8)]
  }
  assert.deepEqual(endsAfter([]), [-Infinity, -Infinity])
  assert.deepEqual(endsAfter([1]), [-Infinity, -Infinity])
  assert.deepEqual(endsAfter([1, 1]), [1, 51])
})

test('a penalty beyond all bounds leaves a token that can be drawn', () => {
  const planned = plan({ repetitionPenalty: 1e300 }, { prompt: [1] })
  assert.ok(planned)
  const adjustments = createAdjustments(planned)
  assert.ok(Number.isFinite(adjustments.applied(Float32Array.of(0, -1), 0)[1]))
  assert.equal(adjustments.applied(Float32Array.of(0, -Infinity), 0)[1], -Infinity)
})
