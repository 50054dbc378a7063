import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { additionOrder, planBatch } from '../../../src/inference/embedded/batch-plan.ts'
import { createPace } from '../../../src/inference/embedded/pace.ts'
import { tile } from '../../../src/inference/embedded/tiles.ts'

const most = Number.POSITIVE_INFINITY

function plan(tokens: number[], batch: number, prompts: number, oldestFirst = false): number[] {
  return planBatch(
    tokens.map((left, arrival) => ({ tokens: left, most, arrival })),
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
    planBatch([{ tokens, most, arrival: 0 }], { batch: 512, prompts, oldestFirst: false, inTiles: true })
  assert.deepEqual(first(300, 240), [236])
  assert.deepEqual(first(310, 240), [240], 'more than a tile is left')
  assert.deepEqual(first(290, 256), [226])
  assert.deepEqual(first(127, 80), [80], 'the prompt is shorter than two tiles')
})

test('a prompt with a bound of its own leaves room for others', () => {
  const left = [
    { tokens: 1000, most: 4, arrival: 0 },
    { tokens: 1000, most, arrival: 1 },
  ]
  assert.deepEqual(planBatch(left, { batch: 512, prompts: 68, oldestFirst: false }), [4, 64])
})

test('no batch is too large or empty, and no sequence gets more than it has left', () => {
  const left = fc.array(
    fc.record({
      tokens: fc.integer({ min: 0, max: 600 }),
      most: fc.integer({ min: 3, max: 600 }),
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
      (all, batch, prompts, oldestFirst, inTiles) => {
        const counts = planBatch(all, { batch, prompts, oldestFirst, inTiles })
        const sum = counts.reduce((total, count) => total + count, 0)
        assert.ok(sum <= batch)
        for (const [i, count] of counts.entries()) {
          const { tokens = 0, most: bound = 0 } = all[i] ?? {}
          assert.ok(count >= 0 && count <= Math.min(tokens, bound))
          if (tokens > 1) assert.ok(count !== 1 && tokens - count !== 1, 'no row of a prompt is read alone')
          if (tokens === 1) assert.equal(count, 1)
          const isCut = inTiles && tokens >= 2 * tile && count >= tile && count < tokens
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
    additionOrder(lengths.map((length, id) => ({ id, tokens: { length } }))).map(({ id }) => id)
  assert.deepEqual(order(1, 1, 1), [0, 1, 2])
  assert.deepEqual(order(1, 1, 64, 1, 1), [3, 4, 2, 0, 1])
  assert.deepEqual(order(64, 64, 1), [2, 1, 0])
})

test('the end of a prompt is read with the piece before it if that is at most a quarter more', () => {
  assert.deepEqual(plan([250], 512, 200), [250])
  assert.deepEqual(plan([251], 512, 200), [200])
  assert.deepEqual(plan([125, 125], 512, 200), [125, 125])
  assert.deepEqual(plan([125, 1, 114], 240, 200), [125, 1, 114])
  assert.deepEqual(plan([126, 1, 114], 240, 200), [86, 1, 114], 'the batch is bounded')
})

test('pieces of prompts follow the measured speed, and are shorter while others are decoding', () => {
  const pace = createPace()
  const unknown = pace.promptTokens(0, 1, false)
  assert.ok(unknown <= 64, 'small until the speed is known')
  for (let time = 0; time < 20; time++) pace.read(100, 0, 100)
  assert.equal(pace.promptTokens(1, 1, false), 75)
  assert.equal(pace.promptTokens(0, 1, false), 300)
  assert.equal(pace.promptTokens(4, 4, false), 75)
  assert.equal(
    pace.promptTokens(2, 4, false),
    150,
    'more requests wait for their first token than for their next',
  )
  assert.equal(pace.promptTokens(1, 7, false), 225, 'but no request waits very long for its next token')
  for (let time = 0; time < 20; time++) pace.read(0, 1, 50)
  assert.equal(pace.promptTokens(1, 1, false), 75, 'decoding does not change the speed of prompts')
  pace.wrote(1, 10)
  pace.wrote(4, 40)
  for (let time = 0; time < 20; time++) pace.read(64, 4, 64 + 40)
  for (let time = 0; time < 20; time++) pace.read(64, 5, 64 + 40)
  for (let time = 0; time < 20; time++) pace.read(64, 1, 64 + 10)
  assert.equal(
    Math.round(pace.promptTokens(1, 1, false)),
    75,
    'the time of decoding sequences in a batch is not counted for prompts',
  )
  for (let time = 0; time < 200; time++) pace.read(16, 0, 10_000)
  assert.equal(pace.promptTokens(1, 1, false), 16, 'smaller pieces would cost more than they help')
  assert.equal(pace.promptTokens(0, 1, false), 64)
})

test('while others are decoding, prompts are read in tiles if rows are expensive without, unless tiles take long', () => {
  const reading = (readsTiles: boolean, perPiece: number, ms: number) => {
    const pace = createPace({ readsTiles })
    for (let time = 0; time < 20; time++) pace.read(perPiece, 0, ms)
    return pace
  }
  assert.equal(reading(false, 100, 300).promptTokens(8, 1, false), 25)
  assert.equal(reading(true, 100, 300).promptTokens(8, 1, false), 128, 'two tiles of 192 ms')
  assert.equal(reading(true, 100, 480).promptTokens(8, 1, false), 64, 'a tile of 307 ms')
  assert.equal(reading(true, 100, 700).promptTokens(8, 1, false), 16, 'a tile of 448 ms')
  assert.equal(reading(true, 100, 50).promptTokens(8, 1, false), 150, 'more than a tile fits')
  assert.equal(reading(true, 100, 300).promptTokens(0, 1, false), 100, 'no request waits')
  const rowByRow = reading(true, 64, 350)
  for (let time = 0; time < 50; time++) rowByRow.read(32, 0, 400)
  assert.equal(rowByRow.promptTokens(8, 1, false), 64, 'shorter pieces say nothing about tiles')
  const slow = reading(true, 64, 700)
  assert.equal(slow.promptTokens(8, 1, false), 16)
  for (let time = 0; time < 50; time++) slow.read(32, 0, 100)
  assert.equal(slow.promptTokens(8, 1, false), 128, 'a tile is no slower than its rows')
  assert.equal(
    reading(true, 32, 500).promptTokens(8, 1, false),
    64,
    'no tile has been read yet, so one is tried',
  )
  assert.equal(reading(true, 32, 3000).promptTokens(8, 1, false), 16, 'a tile would take long in any case')
})

test('while tenants share the model, a piece takes no longer than a few tokens of an answer', () => {
  const pace = createPace()
  for (let time = 0; time < 20; time++) pace.read(100, 0, 10)
  assert.equal(pace.promptTokens(0, 1, true), 3000, 'the time of one writer is not known yet')
  pace.wrote(1, 2)
  assert.equal(pace.promptTokens(0, 1, true), 100)
  assert.equal(pace.promptTokens(1, 1, true), 100)
  assert.equal(pace.promptTokens(1, 4, true), 100)
  assert.equal(pace.promptTokens(1, 1, false), 750)
  for (let time = 0; time < 200; time++) pace.wrote(1, 1_000)
  assert.equal(pace.promptTokens(1, 1, true), 750, 'a slow one is not made slower')
})

test('the writers of several tenants take turns if they are slower together than one tenant after the other', () => {
  const pace = createPace()
  pace.wrote(1, 10)
  assert.equal(pace.isWorthSharing(4, 1, 2), false, 'the time of four is not known yet')
  pace.wrote(4, 20)
  assert.equal(pace.isWorthSharing(4, 1, 2), false, 'all together are as fast as one tenant after the other')
  assert.equal(pace.isWorthSharing(4, 4, 1), false)
  for (let time = 0; time < 50; time++) pace.wrote(4, 30)
  assert.equal(pace.isWorthSharing(4, 1, 2), true)
  assert.equal(pace.isWorthSharing(4, 1, 4), false)
})
