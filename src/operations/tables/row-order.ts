/** From this length on a block becomes two. */
const fullBlock = 2048

/**
 * The digests of a table in their order, while it is changed. They lie in blocks, so that a change in front of a long table
 * moves the rest of one block, and not of the table.
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

  /** Before what stands at the place; behind everything when the place is the length. */
  insert(place: number, digest: string): void {
    if (place === this.#length) {
      this.push(digest)
      return
    }
    const { block, at, within } = this.#find(place)
    within.splice(at, 0, digest)
    if (within.length >= fullBlock) this.#blocks.splice(block + 1, 0, within.splice(fullBlock / 2))
    this.#length++
  }

  remove(place: number): string {
    const { block, at, within } = this.#find(place)
    const [digest] = within.splice(at, 1)
    if (within.length === 0) this.#blocks.splice(block, 1)
    this.#length--
    return digest as string
  }

  *[Symbol.iterator](): Generator<string> {
    for (const block of this.#blocks) yield* block
  }

  #find(place: number): { block: number; at: number; within: string[] } {
    let at = place
    for (const [block, within] of this.#blocks.entries()) {
      if (at < within.length) return { block, at, within }
      at -= within.length
    }
    throw new RangeError(`there is no row ${place} among ${this.#length}`)
  }
}
