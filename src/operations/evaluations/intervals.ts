import { normal } from '../../domain/statistics/intervals.ts'

export interface Interval {
  low: number
  high: number
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
