/** Rows of numbers, stored one after the other; equal rows are stored once. */
interface InternedRows {
  /** Where the row begins. */
  add(row: readonly number[]): number
  /** Changes a number of a row that was added; rows that become equal by it stay separate. */
  change(at: number, value: number): void
  /** The length of all rows together. */
  readonly length: number
  taken(): Int32Array<ArrayBuffer>
}

/** Uses typed arrays: a map would create an object for each key. */
export function createInternedRows(): InternedRows {
  let numbers = new Int32Array(8192)
  let length = 0
  /** Where each row begins, and its length. */
  let rows = new Int32Array(4096)
  let count = 0
  /** An open hash table: the number of a row plus 1, at the slot that its hash gives or the next free one. */
  let slots = new Int32Array(4096)

  const isRow = (begin: number, row: readonly number[]): boolean => {
    for (let i = 0; i < row.length; i++) if (numbers[begin + i] !== row[i]) return false
    return true
  }
  const spread = (): void => {
    slots = new Int32Array(2 * slots.length)
    for (let row = 0; row < count; row++) {
      const begin = rows[2 * row] ?? 0
      const own = numbers.subarray(begin, begin + (rows[2 * row + 1] ?? 0))
      let slot = hashOf(own) & (slots.length - 1)
      while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1)
      slots[slot] = row + 1
    }
  }

  return {
    add(row) {
      let slot = hashOf(row) & (slots.length - 1)
      for (let known = slots[slot] ?? 0; known !== 0; known = slots[slot] ?? 0) {
        const begin = rows[2 * known - 2] ?? 0
        if (rows[2 * known - 1] === row.length && isRow(begin, row)) return begin
        slot = (slot + 1) & (slots.length - 1)
      }
      const begin = length
      if (begin + row.length > numbers.length) numbers = grown(numbers, begin + row.length)
      numbers.set(row, begin)
      length += row.length
      if (2 * count === rows.length) rows = grown(rows, 0)
      rows[2 * count] = begin
      rows[2 * count + 1] = row.length
      slots[slot] = ++count
      if (2 * count > slots.length) spread()
      return begin
    },
    change(at, value) {
      numbers[at] = value
    },
    get length() {
      return length
    },
    taken: () => numbers.slice(0, length),
  }
}

function hashOf(row: ArrayLike<number>): number {
  let hash = row.length
  for (let i = 0; i < row.length; i++) {
    hash = Math.imul(hash ^ (row[i] ?? 0), 0x9e3779b1)
    hash ^= hash >>> 15
  }
  return hash
}

function grown(numbers: Int32Array<ArrayBuffer>, least: number): Int32Array<ArrayBuffer> {
  const more = new Int32Array(Math.max(2 * numbers.length, least))
  more.set(numbers)
  return more
}
