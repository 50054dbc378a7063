import { refuse } from '../../domain/refusals.ts'
import type { YieldToLoop } from '../../domain/yielding.ts'
import type { RowOrder } from './row-order.ts'

/** A change of an order of rows, by their digests. */
export type Change = { append: string } | { pop: number } | { insert: { index: number; digest: string } }

/** Changes the order where it stands, and answers the digest that each change added or took. */
export async function applyChanges(
  order: RowOrder,
  changes: readonly Change[],
  yieldToLoop: YieldToLoop,
): Promise<string[]> {
  const touched: string[] = []
  for (const [at, change] of changes.entries()) {
    touched.push(applied(order, change, at))
    const pause = yieldToLoop()
    if (pause) await pause
  }
  return touched
}

function applied(order: RowOrder, change: Change, at: number): string {
  if ('append' in change) {
    order.push(change.append)
    return change.append
  }
  if ('pop' in change) {
    if (isWithin(change.pop, order.length - 1)) return order.remove(change.pop)
    throw outOfRange(`updates.${at}.pop.index`, change.pop, order.length - 1)
  }
  const { index, digest } = change.insert
  if (!isWithin(index, order.length)) throw outOfRange(`updates.${at}.insert.index`, index, order.length)
  order.insert(index, digest)
  return digest
}

function isWithin(index: number, last: number): boolean {
  return index >= 0 && index <= last
}

function outOfRange(field: string, given: number, last: number) {
  return refuse('invalid_value', {
    field,
    given,
    accepted: last < 0 ? 'none, because the table is empty then' : `0 to ${last}`,
  })
}
