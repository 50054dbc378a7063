import type { YieldToLoop } from '../../../packages/waiting/index.ts'

/** All intervals are of 95 %. */
export const normal = 1.959964

export interface Bounds {
  low: number
  high: number
}

/** A share of counted things, with its interval; null if nothing was counted. */
export interface Share extends Bounds {
  count: number
  of: number
  value: number
}

/** Wilson's interval, which also holds for few things and for shares near 0 and 1. */
export function shareOf(count: number, of: number): Share | null {
  return of === 0 ? null : { count, of, value: count / of, ...wilson(count, of) }
}

export function wilson(count: number, of: number, z = normal): Bounds {
  const [share, square] = [count / of, z ** 2]
  const half = z * Math.sqrt((share * (1 - share)) / of + square / (4 * of ** 2))
  const middle = share + square / (2 * of)
  const scale = 1 + square / of
  return { low: within01((middle - half) / scale), high: within01((middle + half) / scale) }
}

/** Numbers from 0 to 1 that only the seed decides (mulberry32). */
export function seededNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export interface Estimate extends Bounds {
  value: number
}

const maxDraws = 1_000
const minDraws = 200
/** Of all draws together: of many calls fewer samples suffice. */
const maxDrawn = 400_000

/**
 * A statistic of calls and the interval over samples of as many calls, drawn with replacement and always alike. Null if
 * the statistic of the calls is; samples of which it is are left out.
 */
export async function resampled<Item>(
  items: readonly Item[],
  statistic: (sample: readonly Item[]) => number | null,
  pause: YieldToLoop,
): Promise<Estimate | null> {
  const value = statistic(items)
  if (value === null) return null
  const next = seededNumbers(items.length)
  const draws = Math.max(minDraws, Math.min(maxDraws, Math.floor(maxDrawn / items.length)))
  const values: number[] = []
  for (let draw = 0; draw < draws; draw++) {
    const drawn = statistic(items.map(() => items[Math.floor(next() * items.length)] as Item))
    if (drawn !== null) values.push(drawn)
    await pause()
  }
  values.sort((a, b) => a - b)
  const at = (share: number) => values[Math.round(share * (values.length - 1))] ?? value
  return { value, low: at(0.025), high: at(0.975) }
}

export const within01 = (value: number): number => Math.min(1, Math.max(0, value))

export const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0)

export const meanOf = (numbers: readonly number[]): number => sumOf(numbers) / numbers.length

export interface Interval extends Bounds {
  level: number
  method: 'student' | 'agresti_min'
}

const level = 0.95
/** Of Student's distribution with 1 to 10 degrees of freedom. */
const students = [12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.306, 2.26216, 2.22814]

/** Of Student's distribution; beyond the table by the expansion of Cornish and Fisher. */
function studentWidth(freedom: number): number {
  const z = normal
  return (
    students[freedom - 1] ??
    z +
      (z ** 3 + z) / (4 * freedom) +
      (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2) +
      (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * freedom ** 3)
  )
}

interface Differences {
  count: number
  mean: number
  /** The sum of the squares. */
  squares: number
}

/** Interval of the mean of differences of numbers, for at least two rows. */
export function studentInterval({ count, mean, squares }: Differences): Interval {
  const variance = Math.max(0, squares - count * mean * mean) / (count - 1)
  const size = Math.sqrt(squares / count)
  // Rows that all differ by the same have no spread that could be measured: others may differ less, or not at all.
  if (variance <= (size * 1e-6) ** 2) {
    const { low, high, method } = shareInterval(count, mean > 0 ? count : 0, mean < 0 ? count : 0)
    return { low: low * size, high: high * size, level, method }
  }
  const half = studentWidth(count - 1) * Math.sqrt(variance / count)
  return { low: mean - half, high: mean + half, level, method: 'student' }
}

/**
 * Interval of the difference of two shares of the same rows, where `wins` rows pass only in one and `losses` only in the
 * other. Half a row is added to each case (Agresti and Min 2005), so that 3 wins of 3 leave room for a loss.
 */
export function shareInterval(count: number, wins: number, losses: number): Interval {
  const [rows, step] = [count + 2, wins - losses]
  const variance = (wins + losses + 1 - step ** 2 / rows) / rows ** 2
  const half = studentWidth(count - 1) * Math.sqrt(variance)
  const mean = step / rows
  return { low: Math.max(-1, mean - half), high: Math.min(1, mean + half), level, method: 'agresti_min' }
}
