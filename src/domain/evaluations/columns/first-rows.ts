import { compareText } from '../../text.ts'
import type { YieldToLoop } from '../../yielding.ts'

/** What rows are sorted by: numbers before texts, and missing values last, in both directions. */
export interface SortKey {
  /** One per row; NaN if it has none. */
  numbers: Float64Array
  /** For rows without a number; the empty text if there is none. Absent if no row has one. */
  texts?: readonly string[]
  direction: 'asc' | 'desc'
}

const stepsAtOnce = 2048

/**
 * The first `count` rows by some keys, in order: the same as sorting all rows, but each of the other rows is examined
 * only once. Rows that are equal in all keys stay in the given order.
 */
export async function firstRows(
  rows: Int32Array,
  keys: readonly SortKey[],
  count: number,
  yieldToLoop: YieldToLoop,
): Promise<Int32Array> {
  const compare = (a: number, b: number) => compareByKeys(rows[a] as number, rows[b] as number, keys) || a - b
  // A heap of indexes into the list, with the last of them in sort order at its root.
  const heap = new Int32Array(Math.min(count, rows.length))
  for (let place = 0; place < rows.length; place++) {
    if (place < heap.length) siftUp(heap, place, place, compare)
    else if (heap.length > 0 && compare(place, heap[0] as number) < 0)
      siftDown(heap, place, heap.length, compare)
    const pause = place % stepsAtOnce === 0 ? yieldToLoop() : undefined
    if (pause) await pause
  }
  for (let size = heap.length - 1; size > 0; size--) {
    const last = heap[0] as number
    siftDown(heap, heap[size] as number, size, compare)
    heap[size] = last
  }
  return heap.map((place) => rows[place] as number)
}

type Compare = (a: number, b: number) => number

/** Moves a new entry up from the end of the heap. */
function siftUp(heap: Int32Array, coming: number, end: number, compare: Compare): void {
  let at = end
  while (at > 0) {
    const above = (at - 1) >>> 1
    if (compare(heap[above] as number, coming) >= 0) break
    heap[at] = heap[above] as number
    at = above
  }
  heap[at] = coming
}

/** Moves a new entry down from the root of the heap. */
function siftDown(heap: Int32Array, coming: number, size: number, compare: Compare): void {
  let at = 0
  for (let below = 1; below < size; below = 2 * at + 1) {
    if (below + 1 < size && compare(heap[below + 1] as number, heap[below] as number) > 0) below++
    if (compare(heap[below] as number, coming) <= 0) break
    heap[at] = heap[below] as number
    at = below
  }
  heap[at] = coming
}

function compareByKeys(one: number, other: number, keys: readonly SortKey[]): number {
  for (const { numbers, texts, direction } of keys) {
    const way = direction === 'asc' ? 1 : -1
    const [left, right] = [numbers[one] as number, numbers[other] as number]
    if (left < right) return -way
    if (left > right) return way
    if (left === right) continue
    // One of them is not a number.
    if (!Number.isNaN(left)) return -1
    if (!Number.isNaN(right)) return 1
    const order = texts === undefined ? 0 : compareTexts(texts[one] as string, texts[other] as string, way)
    if (order !== 0) return order
  }
  return 0
}

export function compareTexts(left: string, right: string, way: number): number {
  if (left === right) return 0
  if (left === '' || right === '') return left === '' ? 1 : -1
  return compareText(left, right) * way
}
