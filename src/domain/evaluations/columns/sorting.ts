import type { YieldToLoop } from '../../yielding.ts'
import { compareTexts, firstRows, type SortKey } from './first-rows.ts'

/** Up to this many are sorted in one go, which takes a few milliseconds. */
const sortedAtOnce = 32_768
const stepsAtOnce = 2048

/** If more than one in this many rows is needed, sorting all rows costs less than selecting the first ones. */
const oneOf = 16

/** The first rows by these keys, as many as are needed. Rows that are equal in all keys stay in the given order. */
export async function sortRows(
  rows: Int32Array,
  keys: readonly SortKey[],
  yieldToLoop: YieldToLoop,
  needed = rows.length,
): Promise<Int32Array> {
  if (keys.length > 0 && needed <= rows.length / oneOf) return firstRows(rows, keys, needed, yieldToLoop)
  return (await sortAll(rows, keys, yieldToLoop)).subarray(0, needed)
}

async function sortAll(
  rows: Int32Array,
  keys: readonly SortKey[],
  yieldToLoop: YieldToLoop,
): Promise<Int32Array> {
  const [key, ...others] = keys
  if (key === undefined || rows.length < 2) return rows
  const { numbers, texts, direction } = key
  const way = direction === 'asc' ? 1 : -1
  const values = new Float64Array(rows.length)
  let known = 0
  for (const row of rows) {
    const value = (numbers[row] as number) * way
    if (!Number.isNaN(value)) values[known++] = value
  }
  const sorted = await sortNumbers(values.subarray(0, known), yieldToLoop)
  const ordered = new Int32Array(rows.length)
  /** For the first index of each number: how many rows with that number have been placed. */
  const placed = new Int32Array(known)
  let missing = known
  for (const [i, row] of rows.entries()) {
    const value = (numbers[row] as number) * way
    if (Number.isNaN(value)) ordered[missing++] = row
    else {
      const first = firstAt(sorted, value)
      ordered[first + (placed[first] as number)] = row
      placed[first] = (placed[first] as number) + 1
    }
    const pause = i % stepsAtOnce === 0 ? yieldToLoop() : undefined
    if (pause) await pause
  }
  if (texts !== undefined) {
    const byText = (a: number, b: number) => compareTexts(texts[a] as string, texts[b] as string, way)
    ordered.set(await merged(ordered.slice(known), byText, yieldToLoop), known)
  }
  if (others.length === 0) return ordered
  // Equal numbers may be spelled in several ways.
  const isSame = (a: number, b: number) =>
    numbers[a] === numbers[b] ||
    (Number.isNaN(numbers[a]) && Number.isNaN(numbers[b]) && (texts === undefined || texts[a] === texts[b]))
  for (let from = 0; from < ordered.length; ) {
    let to = from + 1
    while (to < ordered.length && isSame(ordered[from] as number, ordered[to] as number)) to++
    if (to - from > 1) ordered.set(await sortAll(ordered.slice(from, to), others, yieldToLoop), from)
    from = to
    const pause = yieldToLoop()
    if (pause) await pause
  }
  return ordered
}

/** Overwrites its argument. */
async function sortNumbers(numbers: Float64Array, yieldToLoop: YieldToLoop): Promise<Float64Array> {
  for (let from = 0; from < numbers.length; from += sortedAtOnce) {
    numbers.subarray(from, from + sortedAtOnce).sort()
    const pause = yieldToLoop()
    if (pause) await pause
  }
  return merged(numbers, (a, b) => a - b, yieldToLoop, sortedAtOnce)
}

/** The first index of a number that is present. */
function firstAt(sorted: Float64Array, value: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] as number) < value) low = middle + 1
    else high = middle
  }
  return low
}

/** A bottom-up merge sort that lets other work run in between. Runs of `width` are already sorted. */
async function merged<Values extends Int32Array | Float64Array>(
  values: Values,
  compare: (a: number, b: number) => number,
  yieldToLoop: YieldToLoop,
  width = 1,
): Promise<Values> {
  let from: Values = values
  let to = values.slice() as Values
  for (let size = width; size < values.length; size *= 2) {
    for (let start = 0; start < values.length; start += 2 * size) {
      const middle = Math.min(start + size, values.length)
      const end = Math.min(start + 2 * size, values.length)
      let [left, right] = [start, middle]
      for (let at = start; at < end; at++) {
        const takesLeft =
          left < middle && (right >= end || compare(from[left] as number, from[right] as number) <= 0)
        to[at] = (takesLeft ? from[left++] : from[right++]) as number
        const pause = at % stepsAtOnce === 0 ? yieldToLoop() : undefined
        if (pause) await pause
      }
    }
    const next = from
    from = to
    to = next
  }
  return from
}
