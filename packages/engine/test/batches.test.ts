import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { additionOrder, planBatch, tile } from '../loop/batch-plan.ts'
import { createDecodeTimes } from '../loop/decode-times.ts'
import { createPromptPace } from '../loop/prompt-pace.ts'

const maxTokens = Number.POSITIVE_INFINITY

function plan(tokens: number[], batch: number, prompts: number, oldestFirst = false): number[] {
  return planBatch(
    tokens.map((left, arrival) => ({ tokens: left, maxTokens, arrival })),
    { batch, prompts, oldestFirst },
  )
}

test('decoding sequences go first, and the rest of a batch goes to one prompt after the other, the shortest first', () => {
  assert.deepEqual(plan([1, 1, 1], 512, 64), [1, 1, 1])
  assert.deepEqual(plan([1, 1000, 1], 512, 64), [1, 64, 1])
  assert.deepEqual(plan([1, 1000, 1], 32, 64), [1, 30, 1])
  assert.deepEqual(plan([1000, 10, 1000], 512, 100), [90, 10, 0])
  assert.deepEqual(plan([1000, 300, 20], 512, 400), [124, 256, 20], 'no piece is larger than 256')
  assert.deepEqual(plan([256, 256, 256], 512, 300), [256, 0, 0], 'the second prompt gets no small piece')
  assert.deepEqual(plan([256, 256, 40], 512, 300), [256, 0, 40], 'unless it is the end of the prompt')
  assert.deepEqual(plan([1000, 1000, 1], 3, 64), [2, 0, 1])
  assert.deepEqual(plan([0, 5, 1], 512, 64), [0, 5, 1], 'a waiting sequence gets nothing')
})

test('the prompt that has waited longest gets a turn before shorter ones', () => {
  assert.deepEqual(plan([1000, 300, 20], 512, 64, true), [64, 0, 0])
  assert.deepEqual(plan([1000, 300, 20], 512, 300, true), [256, 0, 20])
  assert.deepEqual(plan([1, 20, 1000], 512, 100, true), [1, 20, 80])
})

test('with tiles, a piece is cut so that at least a tile is left', () => {
  const first = (tokens: number, prompts: number) =>
    planBatch([{ tokens, maxTokens, arrival: 0 }], {
      batch: 512,
      prompts,
      oldestFirst: false,
      readsTiles: true,
    })
  assert.deepEqual(first(300, 240), [236])
  assert.deepEqual(first(310, 240), [240], 'more than a tile is left')
  assert.deepEqual(first(290, 256), [226])
  assert.deepEqual(first(127, 80), [80], 'the prompt is shorter than two tiles')
})

test('a prompt with a bound of its own leaves room for others', () => {
  const left = [
    { tokens: 1000, maxTokens: 4, arrival: 0 },
    { tokens: 1000, maxTokens, arrival: 1 },
  ]
  assert.deepEqual(planBatch(left, { batch: 512, prompts: 68, oldestFirst: false }), [4, 64])
})

test('no batch is too large or empty, and no sequence gets more than it has left', () => {
  const left = fc.array(
    fc.record({
      tokens: fc.integer({ min: 0, max: 600 }),
      maxTokens: fc.integer({ min: 3, max: 600 }),
      arrival: fc.nat(),
    }),
    { minLength: 1, maxLength: 16 },
  )
  fc.assert(
    fc.property(
      left,
      fc.integer({ min: 16, max: 512 }),
      fc.integer({ min: 8, max: 512 }),
      fc.boolean(),
      fc.boolean(),
      (all, batch, prompts, oldestFirst, readsTiles) => {
        const counts = planBatch(all, { batch, prompts, oldestFirst, readsTiles })
        const sum = counts.reduce((total, count) => total + count, 0)
        assert.ok(sum <= batch)
        for (const [i, count] of counts.entries()) {
          const { tokens = 0, maxTokens: bound = 0 } = all[i] ?? {}
          assert.ok(count >= 0 && count <= Math.min(tokens, bound))
          if (tokens > 1) assert.ok(count !== 1 && tokens - count !== 1, 'no row of a prompt is read alone')
          if (tokens === 1) assert.equal(count, 1)
          const isCut = readsTiles && tokens >= 2 * tile && count >= tile && count < tokens
          if (isCut) assert.ok(tokens - count >= tile, 'at least a tile is left after a tile')
        }
        assert.equal(
          sum > 0,
          all.some(({ tokens }) => tokens > 0),
        )
      },
    ),
  )
})

test('single tokens are grouped in ascending order, and each prompt is a group of its own', () => {
  const order = (...lengths: number[]) =>
    additionOrder(
      lengths.map((length, id) => ({ id, tokens: { length } })),
      true,
    ).map(({ id }) => id)
  assert.deepEqual(order(1, 1, 1), [0, 1, 2])
  assert.deepEqual(order(1, 1, 64, 1, 1), [3, 4, 2, 0, 1])
  assert.deepEqual(order(64, 64, 1), [2, 1, 0])
  const prompt = (id: number, length: number, isPrompt = true) => ({ id, tokens: { length }, isPrompt })
  const beside = [
    prompt(0, 64),
    prompt(1, 64),
    prompt(2, 1, false),
    prompt(3, 64),
    prompt(4, 32),
    prompt(5, 32),
  ]
  const flash = additionOrder(beside, false).map(({ id }) => id)
  assert.deepEqual(flash, [4, 5, 3, 2, 0, 1], 'prompts of equally many tokens are read together')
})

test('the end of a prompt is read with the piece before it if that is at most a quarter more', () => {
  assert.deepEqual(plan([250], 512, 200), [250])
  assert.deepEqual(plan([251], 512, 200), [200])
  assert.deepEqual(plan([125, 125], 512, 200), [125, 125])
  assert.deepEqual(plan([125, 1, 114], 240, 200), [125, 1, 114])
  assert.deepEqual(plan([126, 1, 114], 240, 200), [86, 1, 114], 'the batch is bounded')
})

function paceOf(readsTiles = false) {
  const times = createDecodeTimes()
  const pace = createPromptPace(times, { readsTiles })
  return {
    times,
    took(tokens: number, decoding: number, ms: number, batches = 20) {
      for (let batch = 0; batch < batches; batch++) pace.took(tokens, decoding, ms)
    },
    tokens: (decoding: number, prefilling = 1, isShared = false) =>
      pace.maxTokens({ decoding, prefilling, isShared }),
  }
}

test('pieces of prompts follow the measured speed, and are shorter while others are decoding', () => {
  const { times, took, tokens } = paceOf()
  assert.ok(tokens(0) <= 64, 'small until the speed is known')
  took(100, 0, 100)
  assert.equal(tokens(1), 75)
  assert.equal(tokens(0), 300)
  assert.equal(tokens(4, 4), 75)
  assert.equal(tokens(2, 4), 150, 'more requests wait for their first token than for their next')
  assert.equal(tokens(1, 7), 225, 'but no request waits very long for its next token')
  took(0, 1, 50)
  assert.equal(tokens(1), 75, 'decoding does not change the speed of prompts')
  times.took(1, 10)
  times.took(4, 40)
  took(64, 4, 64 + 40)
  took(64, 5, 64 + 40)
  took(64, 1, 64 + 10)
  assert.equal(tokens(1), 75, 'the time of decoding sequences in a batch is not counted for prompts')
  took(16, 0, 10_000, 200)
  assert.equal(tokens(1), 16, 'smaller pieces would cost more than they help')
  assert.equal(tokens(0), 64)
})

test('while others are decoding, prompts are read in tiles if rows are expensive without, unless tiles take long', () => {
  const reading = (readsTiles: boolean, perPiece: number, ms: number) => {
    const pace = paceOf(readsTiles)
    pace.took(perPiece, 0, ms)
    return pace
  }
  assert.equal(reading(false, 100, 300).tokens(8), 25)
  assert.equal(reading(true, 100, 300).tokens(8), 128, 'two tiles of 192 ms')
  assert.equal(reading(true, 100, 480).tokens(8), 64, 'a tile of 307 ms')
  assert.equal(reading(true, 100, 700).tokens(8), 16, 'a tile of 448 ms')
  assert.equal(reading(true, 100, 50).tokens(8), 150, 'more than a tile fits')
  assert.equal(reading(true, 100, 300).tokens(0), 100, 'no request waits')
  const rowByRow = reading(true, 64, 350)
  rowByRow.took(32, 0, 400, 50)
  assert.equal(rowByRow.tokens(8), 64, 'shorter pieces say nothing about tiles')
  const slow = reading(true, 64, 700)
  assert.equal(slow.tokens(8), 16)
  slow.took(32, 0, 100, 50)
  assert.equal(slow.tokens(8), 128, 'a tile is no slower than its rows')
  assert.equal(reading(true, 32, 500).tokens(8), 64, 'no tile has been read yet, so one is tried')
  assert.equal(reading(true, 32, 3000).tokens(8), 16, 'a tile would take long in any case')
})

test('while tenants share the model, a piece takes no longer than a few steps of an answer', () => {
  const { times, took, tokens } = paceOf()
  took(100, 0, 10)
  assert.equal(tokens(0, 1, true), 3000, 'the time of a step is not known yet')
  times.took(1, 2)
  times.took(4, 8)
  assert.equal(tokens(0, 1, true), 100)
  assert.equal(tokens(1, 1, true), 100)
  assert.equal(tokens(1, 4, true), 100)
  assert.equal(tokens(1), 750)
  for (let batch = 0; batch < 4; batch++) for (const count of [1, 4]) times.took(count, 1_000)
  assert.equal(tokens(1, 1, true), 750, 'a slow one is not made slower')
})

test('tenants take turns if their answers are slower together than one tenant after the other', () => {
  const times = createDecodeTimes()
  assert.equal(times.stepMs, undefined)
  times.took(1, 10)
  assert.equal(times.areTurnsFaster(4, 1, 2), false, 'the time of four is not known yet')
  times.took(4, 20)
  assert.equal(times.areTurnsFaster(4, 1, 2), false, 'all together are as fast as one tenant after the other')
  assert.equal(times.areTurnsFaster(4, 4, 1), false)
  for (let batch = 0; batch < 3; batch++) times.took(4, 30)
  assert.equal(times.areTurnsFaster(4, 1, 2), false, 'one delayed batch says nothing')
  times.took(4, 30)
  assert.equal(times.areTurnsFaster(4, 1, 2), true)
  assert.equal(times.areTurnsFaster(4, 1, 4), false)
  assert.deepEqual([times.stepMs, times.msOf(3), times.msOf(5)], [10, 10, 30])
})
