import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareInterval, studentInterval } from '../../src/domain/statistics/intervals.ts'
import { seededRandom } from '../support/seeded-random.ts'

const samples = 4_000
const sizes = [2, 5, 10, 20, 200]
/** The share of intervals that contain the true mean; 95 % are claimed, and the sample itself varies by 1 %. */
const minShare = 0.92

const random = seededRandom(35)
const gaussian = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())

function coverage(
  rows: number,
  draw: () => number,
  mean: number,
  of: (values: number[]) => { low: number; high: number },
) {
  let held = 0
  for (let sample = 0; sample < samples; sample++) {
    const { low, high } = of(Array.from({ length: rows }, draw))
    if (low <= mean && mean <= high) held++
  }
  return held / samples
}

const ofNumbers = (values: readonly number[]) => {
  const sum = values.reduce((total, value) => total + value, 0)
  const squares = values.reduce((total, value) => total + value ** 2, 0)
  return studentInterval({ count: values.length, mean: sum / values.length, squares })
}

const ofShares = (values: readonly number[]) =>
  shareInterval(values.length, values.filter((one) => one > 0).length, values.filter((one) => one < 0).length)

for (const [name, draw, mean] of [
  ['normal', () => gaussian() + 0.3, 0.3],
  ['uniform', () => random(), 0.5],
  ['with long tails', () => (random() < 0.5 ? 1 : -1) * Math.log(1 - random()), 0],
] as const) {
  test(`differences that are ${name}: 95 % of the intervals hold the mean, for 2 to 200 rows`, () => {
    for (const rows of sizes) {
      const share = coverage(rows, draw, mean, ofNumbers)
      assert.ok(share >= minShare, `${rows} rows: ${share}`)
    }
  })
}

for (const [wins, losses] of [
  [0.5, 0.5],
  [0.3, 0.1],
  [0.1, 0.05],
  [0.9, 0.02],
  [0.7, 0],
  [0.5, 0],
] as const) {
  test(`yes and no, ${wins} only here and ${losses} only there: 95 % of the intervals hold`, () => {
    const draw = () => {
      const at = random()
      return at < wins ? 1 : at < wins + losses ? -1 : 0
    }
    for (const rows of sizes) {
      const share = coverage(rows, draw, wins - losses, ofShares)
      assert.ok(share >= minShare, `${rows} rows: ${share}`)
    }
  })
}

test('rows that all agree leave room: 3 of 3 is no point, nor are three equal differences', () => {
  const all = shareInterval(3, 3, 0)
  assert.ok(all.low < 0 && all.high === 1, JSON.stringify(all))
  const equal = ofNumbers([0.5, 0.5, 0.5])
  assert.ok(equal.low < 0.2 && equal.high === 0.5, JSON.stringify(equal))
  assert.deepEqual([ofNumbers([0, 0]).low, ofNumbers([0, 0]).high].map(Math.abs), [0, 0])
})
