import { inSteps, type YieldToLoop } from '../../../packages/waiting/index.ts'
import { wrong } from '../../domain/refusals.ts'

/** A block of this length is split in two. */
const fullBlock = 2048

/**
 * The digests of a table in their order, while it is changed. They are stored in blocks, so that a change at the front
 * of a long table moves only the rest of one block.
 */
export class RowOrder {
  readonly #blocks: string[][] = []
  #length = 0

  constructor(digests: Iterable<string> = []) {
    for (const digest of digests) this.push(digest)
  }

  get length(): number {
    return this.#length
  }

  push(digest: string): void {
    const last = this.#blocks.at(-1)
    if (last === undefined || last.length >= fullBlock / 2) this.#blocks.push([digest])
    else last.push(digest)
    this.#length++
  }

  /** Before the digest at this index; at the end if the index is the length. */
  insert(index: number, digest: string): void {
    if (index === this.#length) {
      this.push(digest)
      return
    }
    const { block, at, within } = this.#find(index)
    within.splice(at, 0, digest)
    if (within.length >= fullBlock) this.#blocks.splice(block + 1, 0, within.splice(fullBlock / 2))
    this.#length++
  }

  remove(index: number): string {
    const { block, at, within } = this.#find(index)
    const [digest] = within.splice(at, 1)
    if (within.length === 0) this.#blocks.splice(block, 1)
    this.#length--
    return digest as string
  }

  *[Symbol.iterator](): Generator<string> {
    for (const block of this.#blocks) yield* block
  }

  #find(index: number): { block: number; at: number; within: string[] } {
    let at = index
    for (const [block, within] of this.#blocks.entries()) {
      if (at < within.length) return { block, at, within }
      at -= within.length
    }
    throw new RangeError(`there is no row ${index} among ${this.#length}`)
  }
}

/** A change of the order, by the digests of rows. */
export type Change = { append: string } | { pop: number } | { insert: { index: number; digest: string } }

/** Changes the order in place and returns the digest that each change added or removed. */
export async function applyChanges(
  order: RowOrder,
  changes: Iterable<Change>,
  yieldToLoop: YieldToLoop,
): Promise<string[]> {
  const touched: string[] = []
  const apply = (change: Change, index: number) =>
    void touched.push(applyChange(order, change, `updates.${index}`))
  await inSteps(changes, apply, yieldToLoop)
  return touched
}

function applyChange(order: RowOrder, change: Change, field: string): string {
  if ('append' in change) {
    order.push(change.append)
    return change.append
  }
  if ('pop' in change) {
    checkIndex(change.pop, order.length - 1, `${field}.pop.index`)
    return order.remove(change.pop)
  }
  const { index, digest } = change.insert
  checkIndex(index, order.length, `${field}.insert.index`)
  order.insert(index, digest)
  return digest
}

function checkIndex(index: number, last: number, field: string): void {
  if (index >= 0 && index <= last) return
  const accepted = last < 0 ? 'none, because the table is then empty' : `0 to ${last}`
  throw wrong(field, index, accepted)
}
