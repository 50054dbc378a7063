import { leafKinds, leavesOf } from '../../domain/evaluations/leaves.ts'

/** The numbers that one scorer gave at one path. */
interface Numbers {
  scorer: string
  /** Null if the score itself is the number. */
  path: string | null
  is_boolean: boolean
  values: number[]
}

const bars = 10
/** Bounded, because a scorer may name its members as it likes. */
const maxPaths = 100

/** Gathers the outputs of scorers. A boolean counts as 1 or 0; texts are ignored. */
export function createDistributions() {
  const found = new Map<string, Numbers>()
  return {
    /** `output` is JSON. */
    add(scorer: string, output: string): void {
      for (const { path, kind, number } of leavesOf(`{"score":${output}}`)) {
        const key = JSON.stringify([scorer, path])
        if (number === null || (found.size >= maxPaths && !found.has(key))) continue
        const numbers = found.get(key) ?? { scorer, path, is_boolean: true, values: [] }
        numbers.values.push(number)
        numbers.is_boolean &&= kind === leafKinds.binary
        found.set(key, numbers)
      }
    },
    all: () => [...found.values()].map(({ values, ...name }) => ({ ...name, ...summed(values) })),
  }
}

function summed(values: readonly number[]) {
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

/** Bars of equal width between min and max, or one bar if they are the same. */
function histogramOf(values: readonly number[], min: number, max: number) {
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
