import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tried } from '../../../test/support/campaign-share.ts'
import fc from '../../../test/support/fast-check.ts'
import { naiveDraw } from '../../../test/support/naive-sampling.ts'
import { plainSampling, type Sampling } from '../backend.ts'
import { createAdjustments, planAdjustments } from '../sampling/adjustments.ts'
import { draw } from '../sampling/draw.ts'
import { createRandom } from '../sampling/random.ts'
import { createSampler } from '../sampling/sampler.ts'
import { logSum } from '../sampling/weights.ts'

/** Shapes of logits: sharp, flat, all equal, in steps with many equal ones, with impossible tokens. */
const shapes: ((random: () => number, token: number) => number)[] = [
  (random) => 20 * random(),
  (random) => -8 * Math.log(1 - random()),
  (random) => 0.01 * random(),
  () => 1,
  (random) => Math.floor(6 * random()),
  (random) => Math.floor(200 * random()) / 10 - 10,
  (random) => (random() < 0.5 ? -Infinity : 10 * random()),
  (random, token) => (token === 7 ? 60 : 3 * random()),
]

function oneOf(...values: number[]): fc.Arbitrary<number> {
  return fc.constantFrom(...values)
}

const settings = {
  size: fc.oneof(fc.integer({ min: 8, max: 40 }), fc.integer({ min: 900, max: 4000 })),
  shape: fc.nat({ max: shapes.length - 1 }),
  seed: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  temperature: oneOf(0, 1e-6, 0.001, 0.3, 0.7, 1, 1.6, 5, 1e6),
  topP: oneOf(1, 1, 0.9999, 0.95, 0.5, 0.01),
  topK: oneOf(0, 0, 0, 0, 0, 0, 1, 5, 40, 1500),
  minP: oneOf(0, 0, 0, 0, 0, 0, 1e-9, 0.02, 0.5, 1),
  repetitionPenalty: oneOf(1, 1, 1.3, 5, 0.8),
  frequencyPenalty: oneOf(0, 0, 0.7, -0.7),
  presencePenalty: oneOf(0, 0, 1.5, -1.5),
  bias: fc.array(fc.tuple(fc.nat({ max: 899 }), oneOf(-100, -2, 0, 3, 100)), { maxLength: 5 }),
  allowed: fc.option(fc.uniqueArray(fc.nat({ max: 899 }), { minLength: 1, maxLength: 60 }), {
    freq: 4,
    nil: undefined,
  }),
  banned: fc.array(fc.nat({ max: 899 }), { maxLength: 4 }),
  banBest: fc.boolean(),
  prompt: fc.array(fc.nat({ max: 899 }), { maxLength: 40 }),
  /** How many of the likeliest tokens are in the prompt, too. */
  likelyPrompt: oneOf(0, 0, 400),
  answer: fc.array(fc.nat({ max: 899 }), { maxLength: 40 }),
  /** How many random tokens are in the answer, too. */
  scatteredAnswer: oneOf(0, 0, 300),
}

const everything = fc.record(settings)
type Settings = typeof everything extends fc.Arbitrary<infer Given> ? Given : never

function drawsAsDefined(given: Settings): void {
  const { size } = given
  const random = createRandom(given.seed)
  const shape = shapes[given.shape] as (typeof shapes)[number]
  const logits = Float32Array.from({ length: size }, (_, token) => shape(random, token))
  const within = (token: number) => token % size
  const sampling: Sampling = {
    ...plainSampling,
    temperature: given.temperature,
    topP: given.topP,
    topK: given.topK,
    minP: given.minP,
    repetitionPenalty: given.repetitionPenalty,
    frequencyPenalty: given.frequencyPenalty,
    presencePenalty: given.presencePenalty,
    bias: given.bias.map(([token, bias]) => [within(token), bias]),
    ...(given.allowed && { allowed: [...new Set(given.allowed.map(within))] }),
  }
  const likely = [...logits.keys()].sort((a, b) => (logits[b] as number) - (logits[a] as number))
  const prompt = [...given.prompt.map(within), ...likely.slice(0, given.likelyPrompt)]
  const scattered = Array.from({ length: given.scatteredAnswer }, () => Math.floor(size * random()))
  const answer = [...given.answer.map(within), ...scattered]
  const best = logits.indexOf(Math.max(...logits))
  const banned = [...given.banned.map(within), ...(given.banBest ? [best] : [])]
  const { allowed } = sampling
  const plan = planAdjustments({
    sampling,
    minTokens: banned.length > 0 ? answer.length + 1 : 0,
    bannedEnds: banned,
    prompt,
  })
  const adjustments = plan && createAdjustments(plan)
  for (const token of answer) adjustments?.accept(token)
  const number = random()
  const sample = createSampler(sampling, adjustments, () => number)
  const expected = naiveDraw({ logits, sampling, prompt, answer, banned, random: number })
  assert.equal(sample(logits, answer, allowed && Uint32Array.from(allowed).sort()), expected)
}

test('a draw equals its definition', () => {
  fc.assert(fc.property(everything, drawsAsDefined), tried({ share: 200, whole: 2000 }))
})

test('a draw equals its definition also where most of the probability is far down', () => {
  const flat = fc.record({
    ...settings,
    size: fc.integer({ min: 1100, max: 4000 }),
    shape: oneOf(1, 2, 5),
    topK: oneOf(0, 0, 2000),
    minP: oneOf(0, 0, 1e-9),
    allowed: fc.constant<number[] | undefined>(undefined),
  })
  fc.assert(fc.property(flat, drawsAsDefined), tried({ share: 150, whole: 1500 }))
})

test('the sum over a vocabulary is exact, whatever the logits and the temperature', () => {
  const finite = fc.float({ min: -200, max: 200, noNaN: true })
  const logit = fc.oneof({ weight: 9, arbitrary: finite }, { weight: 1, arbitrary: fc.constant(-Infinity) })
  const temperatures = fc.double({ min: 0.01, max: 5, noNaN: true })
  fc.assert(
    fc.property(fc.array(logit, { minLength: 1 }), temperatures, (values, temperature) => {
      const logits = Float32Array.from(values)
      const largest = Math.max(...logits)
      const sum = logits.reduce((total, value) => total + Math.exp((value - largest) / temperature), 0)
      const expected = largest === -Infinity ? largest : largest / temperature + Math.log(sum)
      const actual = logSum(logits, temperature)
      assert.ok(Object.is(actual, expected) || Math.abs(actual - expected) < 1e-9, `${actual}, ${expected}`)
    }),
  )
})

test('every share of the line has a token that is possible', () => {
  const uncut = { temperature: 1, minP: 0, topK: 0, topP: 1 }
  const logits = Float32Array.of(-Infinity, 1, -Infinity, 1, -30, 1)
  const drawn = [0, 0.34, 0.67, 1 - 2 ** -53].map((share) => draw(logits, uncut, share))
  assert.deepEqual(drawn, [1, 3, 5, 4])
  assert.equal(draw(Float32Array.of(-Infinity, -Infinity), uncut, 0.5), undefined)
})
