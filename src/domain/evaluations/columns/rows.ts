import { compareText } from '../../text.ts'
import type { YieldToLoop } from '../../yielding.ts'
import { openTexts, type PackedTexts, unpackTexts } from './packing.ts'

/** The rows of one evaluation, in order of their digests. */
interface OwnRows {
  /** Evaluations of the same rows have the same sum. */
  sum: string
  digests: Uint8Array
  count: number
}

interface JoinedRows {
  digests: PackedTexts
  /** By evaluation: the index of each of its rows among the joined rows. */
  places: Int32Array[]
}

/** Merging checks the clock only every so many steps. */
const stepsAtOnce = 2048

/** The rows that at least one of these has, each once and in order. */
export async function joinRows(own: readonly OwnRows[], yieldToLoop: YieldToLoop): Promise<JoinedRows> {
  const distinct = [...new Map(own.map((one) => [one.sum, one])).values()]
  const [first] = distinct
  if (first === undefined || distinct.length === 1) {
    const digests = openTexts(first?.digests ?? new Uint8Array(), first?.count ?? 0)
    const places = new Int32Array(digests.length)
    for (let row = 0; row < places.length; row++) places[row] = row
    return { digests, places: own.map(() => places) }
  }
  const bySum = new Map(distinct.map(({ sum, digests }) => [sum, unpackTexts(digests)]))
  // Merged as a balanced tree, so that no list is read more often than necessary.
  let lists = [...bySum.values()]
  while (lists.length > 1) {
    const merged: string[][] = []
    for (let i = 0; i < lists.length; i += 2) {
      const [one, other] = [lists[i] as string[], lists[i + 1]]
      merged.push(other === undefined ? one : await merge(one, other, yieldToLoop))
    }
    lists = merged
  }
  const all = lists[0] ?? []
  const places = new Map<string, Int32Array>()
  for (const [sum, some] of bySum) places.set(sum, await placesOf(some, all, yieldToLoop))
  return {
    digests: { length: all.length, at: (row) => all[row] as string },
    places: own.map(({ sum }) => places.get(sum) as Int32Array),
  }
}

async function merge(
  one: readonly string[],
  other: readonly string[],
  yieldToLoop: YieldToLoop,
): Promise<string[]> {
  const merged: string[] = []
  for (let i = 0, j = 0; i < one.length || j < other.length; ) {
    const [left, right] = [one[i], other[j]]
    const order =
      left === undefined ? 1 : right === undefined ? -1 : left === right ? 0 : compareText(left, right)
    merged.push((order <= 0 ? left : right) as string)
    if (order <= 0) i++
    if (order >= 0) j++
    if (merged.length % stepsAtOnce === 0) {
      const pause = yieldToLoop()
      if (pause) await pause
    }
  }
  return merged
}

async function placesOf(
  some: readonly string[],
  all: readonly string[],
  yieldToLoop: YieldToLoop,
): Promise<Int32Array> {
  const places = new Int32Array(some.length)
  for (let i = 0, at = 0; i < some.length; i++, at++) {
    while (all[at] !== some[i]) at++
    places[i] = at
    if (i % stepsAtOnce === 0) {
      const pause = yieldToLoop()
      if (pause) await pause
    }
  }
  return places
}
