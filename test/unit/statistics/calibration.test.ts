import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createYieldToLoop } from '../../../packages/waiting/index.ts'
import {
  type CalibrationMap,
  calibrated,
  fitted,
  identity,
  type Labelled,
  mostTelling,
  sharesOf,
  shiftedOptions,
} from '../../../src/domain/statistics/calibration.ts'
import { meanOf, seededNumbers } from '../../../src/domain/statistics/intervals.ts'
import {
  binOf,
  binsOf,
  brierOf,
  claimOf,
  crossValidated,
  errorOf,
  foldsOf,
  gainOf,
  logLossOf,
  qualityOf,
} from '../../../src/domain/statistics/reliability.ts'
import { sized } from '../../support/campaign-share.ts'

const pause = createYieldToLoop()
const predicate = (z: number): number[] => sharesOf([z, 0])
const near = (actual: number, expected: number, within = 1e-5) =>
  assert.ok(Math.abs(actual - expected) <= within, `${actual} is not ${expected}`)

const z = [
  4.0, 3.2, 2.9, 2.5, 2.1, 1.8, 1.2, 0.9, 0.4, 0.1, -0.3, -0.8, -1.1, -1.6, -2.0, -2.4, -2.9, -3.3, -3.8,
  -4.5,
]
const yes = [1, 1, 1, 0, 1, 1, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]
const worked: Labelled[] = z.map((logit, index) => ({
  probabilities: predicate(logit),
  truth: yes[index] === 1 ? 0 : 1,
}))
const logLoss = (items: readonly Labelled[], map: CalibrationMap = identity) =>
  meanOf(
    items.map(({ probabilities, truth }) =>
      logLossOf({ probabilities: calibrated(map, probabilities), truth }),
    ),
  )
const brier = (items: readonly Labelled[], map: CalibrationMap = identity) =>
  meanOf(
    items.map(({ probabilities, truth }) =>
      brierOf({ probabilities: calibrated(map, probabilities), truth }),
    ),
  )

/** In five bins of equal width, as the worked figures have it. */
function errorInFive(items: readonly Labelled[], map: CalibrationMap): number {
  const claims = items.map(({ probabilities, truth }) =>
    claimOf({ probabilities: calibrated(map, probabilities), truth }, true),
  )
  const inBin = (bin: number) =>
    claims.filter(({ probability }) => Math.min(4, Math.floor(probability * 5)) === bin)
  return errorOf([0, 1, 2, 3, 4].flatMap((bin) => binOf(inBin(bin))))
}

test('the worked fits of a predicate: slope, shift, log loss, Brier and calibration error', async () => {
  const none = { a: 1e-12, b: 1e-12 }
  const rows: [CalibrationMap, number, number, number, number, number][] = [
    [identity, 1, 0, 0.602716, 0.196931, 0.127094],
    [await fitted(worked, { shifted: [], penalty: none }, pause), 0.534373, 0, 0.54079, 0.182565, 0.12529],
    [await fitted(worked, { shifted: [] }, pause), 0.638477, 0, 0.544689, 0.184323, 0.089937],
    [
      await fitted(worked, { shifted: [0], penalty: none }, pause),
      0.535564,
      -0.188456,
      0.537596,
      0.18053,
      0.07173,
    ],
    [await fitted(worked, { shifted: [0] }, pause), 0.639532, -0.154935, 0.541608, 0.182331, 0.077972],
  ]
  for (const [map, a, b, loss, square, error] of rows) {
    near(map.a, a)
    near(map.b, b)
    near(logLoss(worked, map), loss, 2e-6)
    near(brier(worked, map), square, 2e-6)
    near(errorInFive(worked, map), error, 2e-6)
  }
})

test('the worked fit of three options may also sharpen', async () => {
  const logits = [
    ...[
      [2, 0, -1],
      [1.5, 1, 0],
      [0, 2.5, 0.5],
      [-0.5, 1.2, 1],
      [0.3, 0, 2.2],
    ],
    ...[
      [2.8, 1.9, 0],
      [0.2, 0.1, 0],
      [-1, 0.4, 1.7],
      [1.1, -0.2, 0.9],
      [0, 3, 1],
    ],
  ]
  const truths = [0, 1, 1, 2, 2, 0, 2, 2, 0, 1]
  const items = logits.map((row, index) => ({ probabilities: sharesOf(row), truth: truths[index] as number }))
  near(logLoss(items), 0.538148)
  const free = await fitted(items, { shifted: [], penalty: { a: 1e-12, b: 1 } }, pause)
  near(free.a, 2.06322)
  near(logLoss(items, free), 0.448045)
  const drawn = await fitted(items, { shifted: [] }, pause)
  near(drawn.a, 1.30605)
  near(logLoss(items, drawn), 0.485334)
})

test('labels that are told apart without a fault, or all wrong, give finite maps that reverse nothing', async () => {
  const items = (sign: number): Labelled[] =>
    Array.from({ length: 60 }, (_, index) => ({
      probabilities: predicate(sign * (index - 29.5)),
      truth: index > 29 ? 0 : 1,
    }))
  const apart = await fitted(items(1), { shifted: [0] }, pause)
  assert.ok(apart.a > 1 && apart.a < 20, String(apart.a))
  const wrong = await fitted(items(-1), { shifted: [0] }, pause)
  assert.ok(wrong.a > 0 && wrong.a < 0.1, String(wrong.a))
  const extreme = await fitted([{ probabilities: [1, 0], truth: 1 }], { shifted: [0] }, pause)
  assert.ok(Number.isFinite(extreme.a) && Number.isFinite(extreme.b))
})

/** Labels whose truth follows σ(a·z + b) of the reported logit z. */
function simulated(count: number, seed: number, { a, b }: CalibrationMap): Labelled[] {
  const next = seededNumbers(seed)
  const normal = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next())
  return Array.from({ length: count }, () => {
    const logit = 1.5 * normal()
    const [p = 0] = predicate(a * logit + b)
    return { probabilities: predicate(logit), truth: next() < p ? 0 : 1 }
  })
}

test('a known miscalibration is found again', async () => {
  const truth = { a: 0.5, b: 0.7 }
  const map = await fitted(simulated(3_000, 7, truth), { shifted: [0] }, pause)
  near(map.a, truth.a, 0.06)
  near(map.b, truth.b, 0.12)
  const fresh = simulated(3_000, 8, truth)
  near(logLoss(fresh, map), logLoss(fresh, truth), 0.003)
  assert.ok(logLoss(fresh) - logLoss(fresh, map) > 0.05)
})

test('of a model that is calibrated, few labels worsen little: at most 0.02 of log loss in the mean', async () => {
  const fresh = simulated(4_000, 1, identity)
  for (const [count, shifted] of [
    [20, []],
    [50, [0]],
  ] as const) {
    const losses: number[] = []
    for (let draw = 0; draw < sized(20, 1_000); draw++) {
      const map = await fitted(simulated(count, 100 + draw, identity), { shifted }, pause)
      losses.push(logLoss(fresh, map) - logLoss(fresh))
    }
    assert.ok(meanOf(losses) < 0.02, `${count}: ${meanOf(losses)}`)
  }
})

test('a gain across folds is rarely claimed where there is none, and found where there is one', async () => {
  let claimed = 0
  const draws = sized(20, 300)
  for (let draw = 0; draw < draws; draw++) {
    const items = simulated(60, 500 + draw, identity)
    const gain = await gainOf(items, await crossValidated(items, [0], pause), pause)
    if ((gain?.low ?? -1) > 0) claimed++
  }
  assert.ok(claimed <= draws / 15, `${claimed} of ${draws}`)
  const bad = simulated(300, 3, { a: 0.4, b: 1 })
  const gain = await gainOf(bad, await crossValidated(bad, [0], pause), pause)
  assert.ok((gain?.low ?? -1) > 0)
})

test('a shift is fitted with 50 labels: of a predicate with ten of the rarer answer, else of options with ten', () => {
  const of = (...counts: number[]) =>
    counts.flatMap((count, truth) =>
      Array.from({ length: count }, () => ({ probabilities: [0.5, 0.5], truth })),
    )
  assert.deepEqual(shiftedOptions(of(20, 29), true), [])
  assert.deepEqual(shiftedOptions(of(9, 41), true), [])
  assert.deepEqual(shiftedOptions(of(10, 40), true), [0])
  assert.deepEqual(shiftedOptions(of(41, 9), true), [])
  assert.deepEqual(shiftedOptions(of(20, 20, 9), false), [])
  assert.deepEqual(shiftedOptions(of(20, 21, 9), false), [1, 0])
  assert.deepEqual(shiftedOptions(of(10, 9, 0, 31), false), [3, 0])
  assert.equal(shiftedOptions(of(...Array.from({ length: 100 }, () => 10)), false).length, 32)
})

/** Labels of four options whose truth follows softmax(a · logits + shifts). */
function chosen(count: number, seed: number, map: CalibrationMap): Labelled[] {
  const next = seededNumbers(seed)
  const normal = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next())
  return Array.from({ length: count }, () => {
    const probabilities = sharesOf([normal(), normal(), normal(), normal()].map((logit) => 1.5 * logit))
    const shares = calibrated(map, probabilities)
    const drawn = next()
    const upTo = (option: number) => shares.slice(0, option + 1).reduce((sum, share) => sum + share, 0)
    return { probabilities, truth: [0, 1, 2].find((option) => drawn < upTo(option)) ?? 3 }
  })
}

test('shifts of the options of a choice are found again, and help where the slope alone does not', async () => {
  const truth = { a: 0.6, b: 1, shifts: [1, 0, -1, 0.5] }
  const items = chosen(1_000, 21, truth)
  const shifted = shiftedOptions(items, false)
  assert.equal(shifted.length, 4)
  const map = await fitted(items, { shifted }, pause)
  near(map.a, truth.a, 0.1)
  const { shifts = [] } = map
  // A constant that all have changes nothing.
  for (const [option, shift] of truth.shifts.entries())
    near((shifts[option] ?? 0) - meanOf(shifts), shift - meanOf(truth.shifts), 0.25)
  const fresh = chosen(4_000, 22, truth)
  const slope = await fitted(items, { shifted: [] }, pause)
  assert.ok(logLoss(fresh, slope) - logLoss(fresh, map) > 0.1)
  near(logLoss(fresh, map), logLoss(fresh, truth), 0.005)
  const gain = await gainOf(
    await crossValidated(items, [], pause),
    await crossValidated(items, shifted, pause),
    pause,
  )
  assert.ok((gain?.low ?? -1) > 0.05)
})

test('of a choice that needs no shift, labels of any number make the map hardly worse than the slope alone', async () => {
  const fresh = chosen(4_000, 23, identity)
  for (const [count, most] of [
    [49, 0],
    [60, 0.01],
    [150, 0.01],
  ] as const) {
    const losses: number[] = []
    for (let draw = 0; draw < sized(20, 300); draw++) {
      const items = chosen(count, 700 + draw, identity)
      const map = await fitted(items, { shifted: shiftedOptions(items, false) }, pause)
      losses.push(logLoss(fresh, map) - logLoss(fresh, await fitted(items, { shifted: [] }, pause)))
    }
    assert.ok(meanOf(losses) <= most, `${count}: ${meanOf(losses)}`)
  }
})

test('of the most options, a fit lets others run between its steps and ends after few of them', async () => {
  const next = seededNumbers(31)
  const shareOf = () => sharesOf(Array.from({ length: 255 }, () => 3 * next()))
  const items = Array.from({ length: 640 }, (_, n) => ({ probabilities: shareOf(), truth: n % 64 }))
  const shifted = shiftedOptions(items, false)
  assert.equal(shifted.length, 32)
  let steps = 0
  const counted = () => {
    steps++
    return undefined
  }
  const { shifts = [] } = await fitted(items, { shifted }, counted)
  assert.ok(shifts.every(Number.isFinite))
  // One for each label and each time that all are read.
  assert.ok(steps >= 3 * items.length && steps <= 12 * items.length, String(steps / items.length))
})

test('intervals of log loss and Brier hold the true mean in about 95 of 100 samples', async () => {
  const truth = { a: 0.6, b: 0.5 }
  const all = simulated(40_000, 11, truth)
  const means = { log_loss: logLoss(all), brier: brier(all) }
  const held = { log_loss: 0, brier: 0 }
  const samples = sized(40, 1_000)
  for (let draw = 0; draw < samples; draw++) {
    const quality = await qualityOf(simulated(80, 1_000 + draw, truth), true, pause)
    for (const name of ['log_loss', 'brier'] as const) {
      const { low, high } = quality[name] ?? assert.fail()
      if (low <= means[name] && means[name] <= high) held[name]++
    }
    assert.equal(quality.ece, null)
  }
  for (const count of Object.values(held))
    assert.ok(count / samples > 0.9 && count / samples < 0.99, `${count}`)
})

test('the calibration error and its interval hold the true one, also where that is none', async () => {
  const samples = sized(20, 300)
  for (const truth of [identity, { a: 0.85, b: 0.1 }, { a: 0.6, b: 0.5 }]) {
    const all = simulated(40_000, 11, truth).map((labelled) => claimOf(labelled, true))
    const error = errorOf(binsOf(all))
    const values: number[] = []
    let held = 0
    for (let draw = 0; draw < samples; draw++) {
      const { ece } = await qualityOf(simulated(200, 2_000 + draw, truth), true, pause)
      const { value, low, high } = ece ?? assert.fail()
      assert.ok(low <= value && value <= high, `${value} is not in ${low} to ${high}`)
      if (low <= error && error <= high) held++
      values.push(value)
    }
    assert.ok(held / samples >= 0.9, `${held} of ${samples}`)
    near(meanOf(values), error, 0.04)
  }
})

test('the maps that are tried on other calls have a shift where the one of all labels has it', async () => {
  const items = simulated(50, 3, { a: 1, b: 2 }).map((item) => ({ ...item, probabilities: [0.5, 0.5] }))
  const shifted = shiftedOptions(items, true)
  assert.deepEqual(shifted, [0])
  for (const { probabilities } of await crossValidated(items, shifted, pause)) {
    assert.ok((probabilities[0] ?? 0) > 0.55, `${probabilities}`)
  }
})

test('calls that are alike are in one fold; others spread each answer over the folds', () => {
  const items = simulated(100, 9, identity).map((item, n) => ({ ...item, kin: `text ${n % 50}` }))
  const fold = foldsOf(items, seededNumbers(1))
  for (const [index, own] of fold.entries()) assert.equal(own, fold[index % 50])
  assert.equal(new Set(fold).size, 5)
  const alone = simulated(100, 9, identity)
  const foldOf = foldsOf(alone, seededNumbers(1))
  const yesIn = [0, 1, 2, 3, 4].map(
    (at) => alone.filter(({ truth }, n) => truth === 0 && foldOf[n] === at).length,
  )
  assert.ok(Math.max(...yesIn) - Math.min(...yesIn) <= 1, `${yesIn}`)
})

test('bins have equally many claims, ten at least, and the share that was right with its interval', async () => {
  const bins = binsOf(Array.from({ length: 35 }, (_, n) => ({ probability: n / 35, isRight: n % 2 === 0 })))
  assert.deepEqual(
    bins.map(({ count }) => count),
    [12, 11, 12],
  )
  for (const { share, low, high } of bins) assert.ok(low < share && share < high)
  assert.equal(binsOf([{ probability: 0.4, isRight: true }]).length, 1)
  const quality = await qualityOf(simulated(200, 5, { a: 0.3, b: 0 }), true, pause)
  const { value, low, high } = quality.ece ?? assert.fail()
  assert.ok(low < high && value > 0.05)
})

test('the calls that would teach most are where the map is least known, and not all alike', async () => {
  const calls = [0, 0.1, -0.1, 2, -2, 9].map((logit) => ({ logit, probabilities: predicate(logit) }))
  const chosen = await mostTelling(calls, [], identity, { shifted: [0], count: 3 }, pause)
  const logits = chosen.map(({ logit }) => logit)
  assert.ok(
    logits.some((logit) => Math.abs(logit) === 2) && logits.some((logit) => Math.abs(logit) < 1),
    `${logits}`,
  )
  assert.ok(!logits.includes(9))
  const all = await mostTelling(calls, [], identity, { shifted: [0], count: 10 }, pause)
  assert.equal(all.length, calls.length)
})
