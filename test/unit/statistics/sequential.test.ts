import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { seededNumbers } from '../../../src/domain/statistics/intervals.ts'
import { logWager, winRates } from '../../../src/domain/statistics/sequential.ts'

const mostPairs = 2_000
const isDecided = (wins: number, pairs: number) => logWager(wins, pairs - wins, 0.5) >= Math.log(20)

/** How many wins decide after so many pairs. */
const enough = [Number.POSITIVE_INFINITY]
for (let pairs = 1, wins = 1; pairs <= mostPairs; pairs++) {
  while (wins <= pairs && !(wins > pairs / 2 && isDecided(wins, pairs))) wins++
  enough.push(wins)
  wins = Math.min(wins, pairs + 1)
}

/** After how many pairs it is first decided, looking after each; undefined if never. */
function decidedAfter(next: () => number, rate: number, pairs: number) {
  let wins = 0
  for (let count = 1; count <= pairs; count++) {
    if (next() < rate) wins++
    const most = Math.max(wins, count - wins)
    if (most >= (enough[count] as number)) return { pairs: count, isBetter: wins === most }
  }
  return undefined
}

describe('a test that may be looked at after each pair', () => {
  test('among equals, fewer than one run of twenty ever decide in 2,000 pairs', () => {
    const next = seededNumbers(41)
    const runs = 20_000
    let wrong = 0
    for (let run = 0; run < runs; run++) if (decidedAfter(next, 0.5, mostPairs)) wrong++
    // The chance is 3.70 %, by the recursion below.
    assert.ok(wrong / runs > 0.03 && wrong / runs <= 0.05, `${wrong} of ${runs}`)
  })

  test('the chance of that error, without any chance: from pair to pair', () => {
    // By the number of wins, how likely it is not to have decided yet.
    let open = [1]
    for (let pairs = 1; pairs <= mostPairs; pairs++) {
      const next = Array.from(
        { length: pairs + 1 },
        (_, wins) => ((open[wins] ?? 0) + (open[wins - 1] ?? 0)) / 2,
      )
      open = next.map((chance, wins) =>
        Math.max(wins, pairs - wins) >= (enough[pairs] as number) ? 0 : chance,
      )
    }
    const error = 1 - open.reduce((sum, chance) => sum + chance, 0)
    assert.ok(error > 0.036 && error < 0.038, String(error))
  })

  test('with 65 % of wins it always decides for the winner within 600 pairs, and mostly within 150', () => {
    const next = seededNumbers(42)
    const decided = Array.from({ length: 400 }, () => decidedAfter(next, 0.65, 600))
    assert.ok(decided.every((found) => found?.isBetter))
    const pairs = decided.map((found) => found?.pairs ?? 0).sort((a, b) => a - b)
    assert.ok((pairs[200] as number) <= 150, `median ${pairs[200]}`)
  })

  test('the interval holds the true rate at all times in 95 % of runs', () => {
    const next = seededNumbers(43)
    let missed = 0
    const runs = 200
    for (let run = 0; run < runs; run++) {
      let wins = 0
      for (let pairs = 1; pairs <= 500; pairs++) {
        if (next() < 0.7) wins++
        if (logWager(wins, pairs - wins, 0.7) < Math.log(20)) continue
        const { low, high } = winRates(wins, pairs - wins)
        assert.ok(low > 0.7 || high < 0.7, 'what is refuted is not in the interval')
        missed++
        break
      }
    }
    assert.ok(missed / runs <= 0.05, `${missed} of ${runs}`)
  })

  test('known values, symmetry, and a rate that is refuted exactly when the interval leaves it', () => {
    assert.deepEqual(winRates(0, 0), { low: 0, high: 1 })
    // B(11, 1) · 2^10 = 1024 / 11
    assert.ok(Math.abs(logWager(10, 0, 0.5) - Math.log(1024 / 11)) < 1e-9)
    for (const [wins, losses] of [
      [3, 1],
      [9, 10],
      [60, 30],
      [400, 700],
      [0, 25],
    ] as const) {
      const [ours, theirs] = [winRates(wins, losses), winRates(losses, wins)]
      assert.ok(Math.abs(ours.low - (1 - theirs.high)) < 1e-9)
      assert.ok(ours.low <= wins / (wins + losses) && wins / (wins + losses) <= ours.high)
      const isRefuted = logWager(wins, losses, 0.5) >= Math.log(20)
      assert.equal(ours.low > 0.5 || ours.high < 0.5, isRefuted, `${wins} and ${losses}`)
    }
  })
})
