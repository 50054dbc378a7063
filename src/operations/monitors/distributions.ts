import { leavesOf } from '../../domain/evaluations/leaves.ts'

/** Statistics of the numbers that one scorer gave at one path. */
interface Distribution {
  scorer: string
  /** Null if the score itself is the number. */
  path: string | null
  count: number
  mean: number
  min: number
  max: number
  /** Ten bars of equal width between min and max, or one bar if they are the same. */
  histogram: { from: number; to: number; count: number }[]
}

const bars = 10
/** Bounded, because a scorer may name its members as it likes. */
const maxPaths = 100

/** Gathers the outputs of scorers. A boolean counts as 1 or 0; texts are ignored. */
export function createDistributions() {
  const numbers = new Map<string, { scorer: string; path: string | null; values: number[] }>()
  return {
    /** `output` is JSON. */
    add(scorer: string, output: string): void {
      for (const { path, number } of leavesOf(`{"score":${output}}`)) {
        if (number === null) continue
        const key = JSON.stringify([scorer, path])
        const known = numbers.get(key)
        if (known !== undefined) known.values.push(number)
        else if (numbers.size < maxPaths) numbers.set(key, { scorer, path, values: [number] })
      }
    },
    all: (): Distribution[] =>
      [...numbers.values()].map(({ values, ...name }) => ({ ...name, ...summed(values) })),
  }
}

function summed(values: readonly number[]): Omit<Distribution, 'scorer' | 'path'> {
  let min = Number.POSITIVE_INFINITY
  let max = Number.NEGATIVE_INFINITY
  let mean = 0
  for (const [index, value] of values.entries()) {
    min = Math.min(min, value)
    max = Math.max(max, value)
    // A running mean: the sum of all may be beyond the range of a double.
    mean += value / (index + 1) - mean / (index + 1)
  }
  return { count: values.length, mean, min, max, histogram: histogramOf(values, min, max) }
}

function histogramOf(values: readonly number[], min: number, max: number): Distribution['histogram'] {
  const width = (max - min) / bars
  if (!(width > 0 && Number.isFinite(width))) return [{ from: min, to: max, count: values.length }]
  const histogram = Array.from({ length: bars }, (_, index) => ({
    from: min + index * width,
    to: index === bars - 1 ? max : min + (index + 1) * width,
    count: 0,
  }))
  for (const value of values) {
    const bar = histogram[Math.min(bars - 1, Math.floor((value - min) / width))]
    if (bar) bar.count++
  }
  return histogram
}
