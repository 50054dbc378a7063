import { compareText } from '../../../../packages/json/index.ts'
import type { YieldToLoop } from '../../../../packages/waiting/index.ts'
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
  indexes: Int32Array[]
}

/** Merging checks the clock only every so many steps. */
const stepsAtOnce = 2048

/** The rows that at least one of these has, each once and in order. */
export async function joinRows(own: readonly OwnRows[], yieldToLoop: YieldToLoop): Promise<JoinedRows> {
  const distinct = [...new Map(own.map((rows) => [rows.sum, rows])).values()]
  const [first] = distinct
  if (first === undefined || distinct.length === 1) {
    const digests = openTexts(first?.digests ?? new Uint8Array(), first?.count ?? 0)
    const indexes = new Int32Array(digests.length)
    for (let row = 0; row < indexes.length; row++) indexes[row] = row
    return { digests, indexes: own.map(() => indexes) }
  }
  const bySum = new Map(distinct.map(({ sum, digests }) => [sum, unpackTexts(digests)]))
  // Merged as a balanced tree, so that no list is read more often than necessary.
  let lists = [...bySum.values()]
  while (lists.length > 1) {
    const merged: string[][] = []
    for (let i = 0; i < lists.length; i += 2) {
      const [left, right] = [lists[i] as string[], lists[i + 1]]
      merged.push(right === undefined ? left : await merge(left, right, yieldToLoop))
    }
    lists = merged
  }
  const all = lists[0] ?? []
  const indexesBySum = new Map<string, Int32Array>()
  for (const [sum, some] of bySum) indexesBySum.set(sum, await placesOf(some, all, yieldToLoop))
  return {
    digests: { length: all.length, at: (row) => all[row] as string },
    indexes: own.map(({ sum }) => indexesBySum.get(sum) as Int32Array),
  }
}

async function merge(
  a: readonly string[],
  b: readonly string[],
  yieldToLoop: YieldToLoop,
): Promise<string[]> {
  const merged: string[] = []
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    const [left, right] = [a[i], b[j]]
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
  const indexes = new Int32Array(some.length)
  for (let i = 0, at = 0; i < some.length; i++, at++) {
    while (all[at] !== some[i]) at++
    indexes[i] = at
    if (i % stepsAtOnce === 0) {
      const pause = yieldToLoop()
      if (pause) await pause
    }
  }
  return indexes
}
