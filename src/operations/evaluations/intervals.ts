import { createYieldToLoop } from '../../domain/yielding.ts'

export interface Interval {
  low: number
  high: number
  level: number
  method: 'bootstrap' | 'normal'
}

const level = 0.95
const draws = 1000
/** Of the standard normal distribution, for 95 %. */
const normalWidth = 1.959964

/** Most rows for which the mean is bootstrapped. With more rows its distribution is practically normal. */
export const maxDrawn = 1000

/** Interval of the mean of all rows, from the mean and the sum of squares of the sample. */
export function normalInterval(count: number, mean: number, squares: number): Interval {
  const variance = Math.max(0, squares - count * mean * mean) / (count - 1)
  const half = normalWidth * Math.sqrt(variance / count)
  return { low: mean - half, high: mean + half, level, method: 'normal' }
}

/**
 * The middle 95 % of the means of samples of the same size, drawn with replacement. The same rows always give the same
 * interval.
 */
export async function bootstrapInterval(
  steps: ArrayLike<number>,
  yieldToLoop = createYieldToLoop(),
): Promise<Interval> {
  const random = seededRandom(steps.length)
  const means = new Float64Array(draws)
  for (let draw = 0; draw < draws; draw++) {
    let sum = 0
    for (let i = 0; i < steps.length; i++) sum += steps[Math.floor(random() * steps.length)] as number
    means[draw] = sum / steps.length
    const pause = yieldToLoop()
    if (pause) await pause
  }
  means.sort()
  const at = (share: number) => means[Math.round(share * (draws - 1))] as number
  return { low: at((1 - level) / 2), high: at((1 + level) / 2), level, method: 'bootstrap' }
}

/** Numbers from 0 to below 1 (mulberry32). */
function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
