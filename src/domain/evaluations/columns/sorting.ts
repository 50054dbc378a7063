import { compareText } from '../../../../packages/json/index.ts'
import type { YieldToLoop } from '../../../../packages/waiting/index.ts'

/** What rows are sorted by: numbers before texts, and missing values last, in both directions. */
export interface SortKey {
  /** One per row; NaN if it has none. */
  numbers: Float64Array
  /** For rows without a number; the empty text if there is none. Absent if no row has one. */
  texts?: readonly string[]
  direction: 'asc' | 'desc'
}

/** Sorted in one go, which takes less than a millisecond or two. */
const sortedAtOnce = 2048

type Compare = (a: number, b: number) => number

/**
 * The first rows by these keys, as many as are needed. Rows that are equal in all keys stay in the given order, in
 * which each row has a higher number than the one before.
 */
export async function sortRows(
  rows: Int32Array,
  keys: readonly SortKey[],
  yieldToLoop: YieldToLoop,
  needed = rows.length,
): Promise<Int32Array> {
  if (keys.length === 0) return rows.subarray(0, needed)
  const compares = keys.map(comparing)
  const compare: Compare = (a, b) => {
    for (const byKey of compares) {
      const order = byKey(a, b)
      if (order !== 0) return order
    }
    return a - b
  }
  const isFew = needed > 0 && needed <= sortedAtOnce
  const sorted = isFew ? new Int32Array(0) : rows.slice()
  let first: Int32Array = sorted
  for (let from = 0, to = 0; from < rows.length && needed > 0; from = to) {
    to = from + (isFew && from === 0 ? needed : sortedAtOnce)
    const some = rows.subarray(from, to)
    if (isFew) {
      // Usually few of them come before what has been found.
      const last = first.length < needed ? undefined : (first[needed - 1] as number)
      const better = last === undefined ? some : some.filter((row) => compare(row, last) < 0)
      if (better.length > 0) first = joined(first, better).sort(compare).subarray(0, needed)
    } else sorted.subarray(from, to).sort(compare)
    const pause = yieldToLoop()
    if (pause) await pause
  }
  return isFew ? first : (await merged(sorted, compare, yieldToLoop)).subarray(0, needed)
}

function joined(left: Int32Array, right: Int32Array): Int32Array {
  const both = new Int32Array(left.length + right.length)
  both.set(left)
  both.set(right, left.length)
  return both
}

/** A bottom-up merge of sorted runs that lets other work run in between. */
async function merged(values: Int32Array, compare: Compare, yieldToLoop: YieldToLoop): Promise<Int32Array> {
  let from: Int32Array = values
  let to: Int32Array = values.slice()
  for (let size = sortedAtOnce; size < values.length; size *= 2) {
    for (let start = 0; start < values.length; start += 2 * size) {
      const middle = Math.min(start + size, values.length)
      const end = Math.min(start + 2 * size, values.length)
      let [left, right] = [start, middle]
      for (let at = start; at < end; at++) {
        const takesLeft =
          left < middle && (right >= end || compare(from[left] as number, from[right] as number) <= 0)
        to[at] = (takesLeft ? from[left++] : from[right++]) as number
        const pause = at % sortedAtOnce === 0 ? yieldToLoop() : undefined
        if (pause) await pause
      }
    }
    const next = from
    from = to
    to = next
  }
  return from
}

function comparing({ numbers, texts, direction }: SortKey): Compare {
  const way = direction === 'asc' ? 1 : -1
  return (a, b) => {
    const [left, right] = [numbers[a] as number, numbers[b] as number]
    if (left < right) return -way
    if (left > right) return way
    if (left === right) return 0
    // One of them is not a number.
    if (!Number.isNaN(left)) return -1
    if (!Number.isNaN(right)) return 1
    return texts === undefined ? 0 : compareTexts(texts[a] as string, texts[b] as string, way)
  }
}

function compareTexts(left: string, right: string, way: number): number {
  if (left === right) return 0
  if (left === '' || right === '') return left === '' ? 1 : -1
  return compareText(left, right) * way
}
