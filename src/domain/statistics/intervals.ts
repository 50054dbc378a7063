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
  return { low: Math.max(0, (middle - half) / scale), high: Math.min(1, (middle + half) / scale) }
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
 * the statistic of the calls is not a number; samples of which it is not are left out.
 */
export async function resampled<Item>(
  items: readonly Item[],
  statistic: (sample: readonly Item[]) => number,
  pause: YieldToLoop,
): Promise<Estimate | null> {
  const value = statistic(items)
  if (!Number.isFinite(value)) return null
  const next = seededNumbers(items.length)
  const draws = Math.max(minDraws, Math.min(maxDraws, Math.floor(maxDrawn / items.length)))
  const values: number[] = []
  for (let draw = 0; draw < draws; draw++) {
    const drawn = statistic(items.map(() => items[Math.floor(next() * items.length)] as Item))
    if (Number.isFinite(drawn)) values.push(drawn)
    await pause()
  }
  values.sort((a, b) => a - b)
  const at = (share: number) => values[Math.round(share * (values.length - 1))] ?? value
  return { value, low: at(0.025), high: at(0.975) }
}

export const meanOf = (numbers: readonly number[]): number =>
  numbers.reduce((sum, number) => sum + number, 0) / numbers.length
