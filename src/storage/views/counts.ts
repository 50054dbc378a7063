import { type CallsView, statsOfCalls } from '../calls/queries.ts'
import { readSums } from '../sums/reading.ts'
import type { LongReader } from '../transaction.ts'

/** The number of calls in the view, which sums know of most views. */
export async function countOfCalls(
  db: LongReader,
  view: CallsView,
  now: number,
  signal: AbortSignal,
): Promise<number> {
  const isWhole = view.limit === null && view.offset === 0
  const units = isWhole ? await readSums(db, view, { field: undefined }, now, signal) : undefined
  if (units !== undefined) return units.reduce((sum, { figures }) => sum + figures.calls, 0)
  return Number((await statsOfCalls(db, view, now, signal)).count)
}
